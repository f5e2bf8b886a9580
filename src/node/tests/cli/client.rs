//! The client commands of the real binary, against nodes of the real binary.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::support::message::TOPIC;
use crate::support::node::{Ended, Node, levada, run};
use crate::support::port;

const CONTENT_TOPIC: &str = "/levada/1/client/proto";
const NOBODY: &str = "16Uiu2HAmQ9X2xDfPG3uL77V9piYDhjq14JhKCtcmNYsTMKNqrKCj";

fn levada_in(folder: &Path, arguments: &[&str]) -> Ended {
    run(levada(folder).args(arguments))
}

/// The lines of standard output, which are JSON.
fn lines(ended: &Ended) -> Vec<Value> {
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn to(node: &Node) -> String {
    format!("--to={}", node.after("listening on ")[0])
}

#[test]
fn a_new_key_is_written_once_and_gives_the_node_its_peer_id() {
    let folder = tempfile::tempdir().unwrap();
    let made = lines(&levada_in(folder.path(), &["keys", "--output=node.key", "--format=json"]));
    let file = folder.path().join("node.key");
    let secret = std::fs::read_to_string(&file).unwrap();
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!made[0].to_string().contains(secret.trim()), "what goes to a file is not printed");
    let read = levada_in(folder.path(), &["keys", "--key-file=node.key"]);
    assert!(read.stdout.contains(made[0]["peerId"].as_str().unwrap()), "{}", read.stdout);
    assert!(!read.stdout.contains(secret.trim()) && read.stdout.contains(made[0]["publicKey"].as_str().unwrap()));
    let again = levada_in(folder.path(), &["keys", "--output=node.key"]);
    assert_eq!(again.code, Some(1));
    assert!(again.stderr.contains("node.key cannot be written"), "{}", again.stderr);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), secret, "a key is never written over");
    std::fs::write(folder.path().join("bad.key"), "zz").unwrap();
    let bad = levada_in(folder.path(), &["keys", "--key-file=bad.key"]);
    assert_eq!(bad.code, Some(1));
    assert!(bad.stderr.contains("bad.key holds no key"), "{}", bad.stderr);
    let printed = lines(&levada_in(folder.path(), &["keys", "--format=json"]));
    assert_eq!(printed[0]["nodeKey"].as_str().map(str::len), Some(64));
    let node = Node::start(folder.path(), &[&format!("--nodekey={}", secret.trim())]);
    assert_eq!(node.peer_id(), made[0]["peerId"]);
}

#[test]
fn a_published_message_is_pushed_and_found_in_the_store() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let node = Node::start(folders[0].path(), &[]);
    let dialled = format!("--staticnode={}", node.after("listening on ")[0]);
    let peer = Node::start(folders[1].path(), &[&dialled]);
    let folder = folders[0].path();
    let mut subscriber = Subscriber::start(folder, &peer, &["--format=json", "--count=1"]);
    let topics = [format!("--content-topic={CONTENT_TOPIC}"), format!("--pubsub-topic={TOPIC}")];
    let publish =
        |payload: &str| levada_in(folder, &["publish", &to(&node), &topics[0], &topics[1], "--format=json", payload]);
    // Until the two nodes are in each other's mesh, lightpush has nobody to publish to, and says so.
    let published = loop {
        let ended = publish("hello");
        if ended.code == Some(0) {
            break lines(&ended).remove(0);
        }
        assert!(ended.code == Some(1) && ended.stderr.contains("refuses with status 505"), "{}", ended.stderr);
    };
    assert_eq!(
        (&published["relayPeerCount"], &published["protocol"]),
        (&1.into(), &"/vac/waku/lightpush/3.0.0".into())
    );
    let (pushed, code) = subscriber.end();
    assert_eq!((pushed.len(), code), (1, Some(0)));
    let pushed: Value = serde_json::from_str(&pushed[0]).unwrap();
    assert_eq!((&pushed["messageHash"], &pushed["payload"]), (&published["messageHash"], &"aGVsbG8=".into()));
    for number in 0..4 {
        assert_eq!(publish(&format!("message {number}")).code, Some(0));
    }
    let query = |arguments: &[&str]| levada_in(folder, &[&["query", &to(&node), "--format=json"], arguments].concat());
    let found = lines(&query(&["--page-size=2", &topics[0]]));
    assert_eq!(found.len(), 5, "over three pages: {found:?}");
    assert_eq!(found[0], pushed);
    assert_eq!(lines(&query(&["--limit=3", "--page-size=2"])).len(), 3);
    let hash = published["messageHash"].as_str().unwrap();
    let alone = lines(&query(&[&format!("--hash={hash}"), "--hashes-only"]));
    assert_eq!(alone, [serde_json::json!({ "messageHash": hash })]);
    assert!(lines(&query(&["--content-topic=/another/1/topic/proto"])).is_empty());
    let text = levada_in(folder, &["query", &to(&node), "--limit=1"]).stdout;
    assert!(text.starts_with(hash) && text.trim_end().ends_with("\"hello\""), "{text}");
    let unknown = query(&[&format!("--cursor={}", "11".repeat(32))]);
    assert_eq!(unknown.code, Some(1));
    assert!(unknown.stderr.contains("refuses with status 300"), "{}", unknown.stderr);
}

#[test]
fn an_interrupt_ends_a_subscription_after_its_last_message() {
    for signal in ["INT", "TERM"] {
        let folder = tempfile::tempdir().unwrap();
        let node = Node::start(folder.path(), &[]);
        let mut subscriber = Subscriber::start(folder.path(), &node, &["--format=text"]);
        let mut rest = crate::support::http::Client::new(node.rest());
        for number in 0..20 {
            let mut message = crate::support::message::Message::new(format!("message {number}"));
            CONTENT_TOPIC.clone_into(&mut message.content_topic);
            assert_eq!(rest.post(crate::support::message::MESSAGES, message.json().to_string()).status, 200);
        }
        subscriber.signal(signal);
        let (pushed, code) = subscriber.end();
        assert_eq!(code, Some(0), "SIG{signal}");
        assert_eq!(pushed.len(), 20, "SIG{signal}: {pushed:?}");
        assert!(pushed[19].ends_with("\"message 19\""), "{pushed:?}");
    }
}

#[test]
fn a_node_says_what_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &["--agent-string=a node"]);
    let said = lines(&levada_in(folder.path(), &["peers", &to(&node), "--format=json"])).remove(0);
    assert_eq!((said["peerId"].as_str(), said["agent"].as_str()), (Some(node.peer_id()), Some("a node")));
    assert!(said["protocols"].to_string().contains("/vac/waku/store-query/3.0.0"), "{said}");
    let text = levada_in(folder.path(), &["peers", &to(&node)]).stdout;
    assert!(text.contains("agent     a node\n") && text.contains("protocol  /vac/waku/metadata/1.0.0"), "{text}");
}

#[test]
fn who_is_not_to_be_reached_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let port = port::free();
    let nobody = format!("--to=/ip4/127.0.0.1/tcp/{port}/p2p/{NOBODY}");
    for arguments in [
        &["peers", &nobody][..],
        &["query", &nobody],
        &["publish", &nobody, "--content-topic=/a/1/b/c", "x"],
        &["subscribe", &nobody, "--content-topic=/a/1/b/c", "--pubsub-topic=/waku/2/rs/0/0"],
    ] {
        let ended = levada_in(folder.path(), arguments);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(69), ""), "{arguments:?}");
        assert!(ended.stderr.contains(&format!("/tcp/{port}/p2p/{NOBODY} cannot be reached: ")), "{}", ended.stderr);
        assert_eq!(ended.complaints().len(), 1, "{}", ended.stderr);
    }
    let node = Node::start(folder.path(), &[]);
    let address = node.after("listening on ")[0].replace(node.peer_id(), NOBODY);
    let other = levada_in(folder.path(), &["query", &format!("--to={address}")]);
    assert_eq!(other.code, Some(69), "somebody else answers there: {}", other.stderr);
}

#[test]
fn a_service_that_is_off_and_a_wrong_topic_are_refused_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let node =
        Node::start(folder.path(), &["--store=false", "--lightpush=false", "--filter=false", "--peer-exchange=false"]);
    for (name, arguments, service) in [
        ("query", &[][..], "/vac/waku/store-query/3.0.0"),
        (
            "publish",
            &["--content-topic=/a/1/b/c", "--pubsub-topic=/waku/2/rs/0/0", "x"],
            "/vac/waku/lightpush/2.0.0-beta1",
        ),
        (
            "subscribe",
            &["--content-topic=/a/1/b/c", "--pubsub-topic=/waku/2/rs/0/0"],
            "/vac/waku/filter-subscribe/2.0.0-beta1",
        ),
    ] {
        let ended = levada_in(folder.path(), &[&[name, &to(&node)], arguments].concat());
        assert_eq!(ended.code, Some(1), "{name}: {}", ended.stderr);
        assert!(ended.stderr.contains(&format!("the peer does not serve {service}")), "{name}: {}", ended.stderr);
    }
    let peers = levada_in(folder.path(), &["peers", &to(&node)]);
    assert_eq!(peers.code, Some(0));
    assert!(peers.stderr.contains("it has no peer exchange"), "{}", peers.stderr);
}

/// `levada subscribe`, from when it is subscribed.
struct Subscriber {
    child: Child,
}

impl Subscriber {
    fn start(folder: &Path, node: &Node, arguments: &[&str]) -> Self {
        let mut command: Command = levada(folder);
        command.args(["subscribe", &to(node)]).args(arguments);
        command.args([format!("--content-topic={CONTENT_TOPIC}"), format!("--pubsub-topic={TOPIC}")]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.contains("subscribed at "), "{line}");
        Self { child }
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("sh").args(["-c", &format!("kill -s {name} {}", self.child.id())]).status();
        assert!(sent.unwrap().success());
    }

    /// Its lines and its exit code, once it has ended.
    fn end(&mut self) -> (Vec<String>, Option<i32>) {
        let stdout = BufReader::new(self.child.stdout.take().unwrap());
        let lines = stdout.lines().map(Result::unwrap).collect();
        (lines, self.child.wait().unwrap().code())
    }
}

impl Drop for Subscriber {
    fn drop(&mut self) {
        // It fails when the process has ended already.
        let _ = self.child.kill();
    }
}
