//! What the real binary does about protections: it checks signatures on protected shards, and refuses what it cannot check.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k256::ecdsa::signature::hazmat::PrehashSigner;
use k256::ecdsa::{Signature, SigningKey};
use levada_stages::signed::SignedParts;

use crate::support::http::Client;
use crate::support::message::{MESSAGES, Message, TOPIC};
use crate::support::node::{Ended, Node, levada, run};

fn signed(key: &SigningKey, mut message: Message) -> Message {
    let parts = SignedParts {
        pubsub_topic: TOPIC,
        payload: &message.payload,
        content_topic: message.content_topic.as_bytes(),
        timestamp: message.timestamp_ns,
        ephemeral: message.ephemeral,
    };
    let signature: Signature = key.sign_prehash(&parts.digest()).unwrap();
    message.meta = signature.to_bytes().to_vec();
    message
}

#[test]
fn on_a_protected_shard_only_signed_messages_pass() {
    let folder = tempfile::tempdir().unwrap();
    let key = SigningKey::from_slice(&[5; 32]).unwrap();
    let public = hex::encode(key.verifying_key().to_sec1_point(true));
    let node = Node::start(folder.path(), &[&format!("--protected-shard=0:{public}")]);
    let mut rest = Client::new(node.rest());
    let good = signed(&key, Message::new("good"));
    let stranger = signed(&SigningKey::from_slice(&[6; 32]).unwrap(), Message::new("of a stranger"));
    let old = Message { timestamp_ns: good.timestamp_ns - 301_000_000_000, ..Message::new("old") };
    for bad in [Message::new("unsigned"), stranger, signed(&key, old)] {
        let answer = rest.post(MESSAGES, bad.json().to_string());
        assert_eq!(answer.status, 400, "{}", answer.text());
        assert!(answer.text().contains("bad_signature"), "{}", answer.text());
    }
    assert_eq!(rest.post(MESSAGES, good.json().to_string()).status, 200);
    let found = rest.get("/store/v3/messages?includeData=true").json();
    let payloads: Vec<&str> =
        found["messages"].as_array().unwrap().iter().filter_map(|found| found["message"]["payload"].as_str()).collect();
    assert_eq!(payloads, [STANDARD.encode("good")]);
    let scrape = Client::new(node.metrics()).get("/metrics");
    for line in [
        "waku_msg_validator_signed_outcome_total{result=\"Accept\"} 1",
        "waku_msg_validator_signed_outcome_total{result=\"Reject\"} 3",
    ] {
        assert!(scrape.text().lines().any(|given| given == line), "{line} is not in the scrape");
    }
}

#[test]
fn what_would_go_unchecked_is_refused_before_anything_starts() {
    let folder = tempfile::tempdir().unwrap();
    for (flags, reason) in [
        (
            &["--rln-relay=true"][..],
            "rln-relay (flag --rln-relay) is refused: this version cannot check rate-limit proofs",
        ),
        (&["--preset=twn"], "preset (flag --preset) is refused: messages of twn carry rate-limit proofs"),
        (
            &["--protected-shard=0:04"],
            "protected-shard: \"0:04\" (flag --protected-shard) is not valid; expected SHARD:KEY",
        ),
    ] {
        for command in ["run", "check"] {
            let ended = run(levada(folder.path()).arg(command).args(flags));
            assert!(matches!(ended.code, Some(64 | 78)), "{flags:?}: {:?}", ended.code);
            assert!(ended.stderr.contains(reason), "{}", ended.stderr);
        }
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is started");
    let checked = run(levada(folder.path()).args(["check", "--preset=twn", "--rln-relay=false"]));
    assert_eq!(checked.code, Some(0), "{}", checked.stderr);
    assert!(checked.stdout.contains("cluster-id = 1  # preset twn"), "{}", checked.stdout);
}

/// Publishes by the client command until the nodes are in each other's mesh; gives how that ended.
fn publish_by_client(folder: &Path, node: &Node, arguments: &[&str]) -> Ended {
    let to = format!("--to={}", node.after("listening on ")[0]);
    let topics = [&format!("--pubsub-topic={TOPIC}"), "--content-topic=/levada/1/signed/proto"];
    loop {
        let ended = run(levada(folder).args(["publish", &to]).args(topics).args(arguments));
        if !ended.stderr.contains("refuses with status 505") {
            return ended;
        }
    }
}

#[test]
fn a_client_signs_for_a_protected_shard() {
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let folder = folders[0].path();
    let made = run(levada(folder).args(["keys", "--output=shard.key", "--format=json"]));
    let made: serde_json::Value = serde_json::from_str(&made.stdout).unwrap();
    let protected = format!("--protected-shard=0:{}", made["publicKey"].as_str().unwrap());
    assert_eq!(run(levada(folder).args(["keys", "--output=other.key"])).code, Some(0));
    let node = Node::start(folder, &[&protected]);
    let dialled = format!("--staticnode={}", node.after("listening on ")[0]);
    let peer = Node::start(folders[1].path(), &[&protected, &dialled]);
    for (arguments, payload) in
        [(&[][..], "unsigned"), (&["--signing-key=other.key"], "of a stranger"), (&["--meta=00"], "with another meta")]
    {
        let ended = publish_by_client(folder, &node, &[arguments, &[payload]].concat());
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{arguments:?}");
        assert!(ended.stderr.contains("bad_signature"), "{arguments:?}: {}", ended.stderr);
    }
    let signed = publish_by_client(folder, &node, &["--signing-key=shard.key", "--ephemeral", "passing"]);
    assert_eq!(signed.code, Some(0), "{}", signed.stderr);
    let signed = publish_by_client(folder, &node, &["--signing-key=shard.key", "--format=json", "signed"]);
    assert_eq!(signed.code, Some(0), "{}", signed.stderr);
    let said: serde_json::Value = serde_json::from_str(&signed.stdout).unwrap();
    // The other node has checked it too, and archived it.
    let mut rest = Client::new(peer.rest());
    let found = loop {
        let found = rest.get("/store/v3/messages?includeData=true").json();
        if found["messages"] != serde_json::json!([]) {
            break found;
        }
    };
    let messages = found["messages"].as_array().unwrap();
    assert_eq!((messages.len(), &messages[0]["messageHash"]), (1, &said["messageHash"]));
    assert_eq!(messages[0]["message"]["payload"], STANDARD.encode("signed"));
    let bad = publish_by_client(folder, &node, &["--signing-key=absent.key", "x"]);
    assert_eq!(bad.code, Some(1));
    assert!(bad.stderr.contains("absent.key cannot be read"), "{}", bad.stderr);
    std::fs::write(folder.join("bad.key"), "zz").unwrap();
    let bad = publish_by_client(folder, &node, &["--signing-key=bad.key", "x"]);
    assert!(bad.stderr.contains("bad.key holds no key"), "{}", bad.stderr);
}
