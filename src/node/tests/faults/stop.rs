//! Signals that ask for an end in order.

use std::path::Path;
use std::thread::{self, JoinHandle};

use crate::storm::Storm;
use crate::support::held::Held;
use crate::support::http::Client;
use crate::support::message::{MESSAGES, Message};
use crate::support::node::Node;
use crate::support::random::Random;
use crate::support::store;

/// Enough that the archive has work when the signal comes.
const ACKNOWLEDGED: usize = 100;

#[test]
fn a_signal_in_a_storm_loses_nothing_that_was_acknowledged() {
    for signal in ["TERM", "INT"] {
        let folder = tempfile::tempdir().unwrap();
        let node = Node::start(folder.path(), &["--workers=2"]);
        let mut storm = Storm::start(node.rest(), &mut Random::from_environment());
        storm.await_acknowledged(ACKNOWLEDGED);
        node.signal(signal);
        let ended = node.ended();
        let aftermath = storm.end();
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        assert!(ended.stderr.contains("stopped; nothing is left in flight"), "{}", ended.stderr);

        let node = Node::start(folder.path(), &[]);
        let found = store::all_hashes(node.rest());
        let acknowledged = aftermath.acknowledged.len();
        println!("SIG{signal}: acknowledged {acknowledged}, found {}", found.len());
        for hash in &aftermath.acknowledged {
            assert_eq!(found.get(hash), Some(&1), "{hash} was acknowledged");
        }
        assert!(found.keys().all(|hash| aftermath.sent.contains(hash)), "nothing is there that nobody sent");
    }
}

#[test]
fn a_second_signal_quits_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut node = Node::start(folder.path(), &[]);
    let (_held, publisher) = stuck_publication(&node, folder.path());
    node.signal("TERM");
    // Only then has the first signal been taken: two of a kind that come together count as one.
    node.await_log("a second signal quits at once");
    node.signal("TERM");
    let ended = node.ended();
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert!(publisher.join().unwrap().is_none(), "what was not stored was not acknowledged");
}

#[test]
fn a_drain_that_takes_too_long_is_given_up_with_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &["--drain-timeout=0"]);
    let (_held, publisher) = stuck_publication(&node, folder.path());
    let ended = node.stop();
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("--drain-timeout passed with messages in flight"), "{}", ended.stderr);
    publisher.join().unwrap();
}

/// A message that waits for the archive, which somebody else holds; the thread gives the status of its answer, if any.
fn stuck_publication(node: &Node, folder: &Path) -> (Held, JoinHandle<Option<u16>>) {
    let (held, rest) = (Held::take(folder), node.rest());
    let publisher = thread::spawn(move || {
        let body = Message::new("stuck").json().to_string();
        Client::new(rest).request("POST", MESSAGES, body.as_bytes()).ok().map(|answer| answer.status)
    });
    let mut client = Client::new(rest);
    // The REST cache has it once it was relayed, which is the last thing before the archive.
    while client.get(MESSAGES).json() == serde_json::json!([]) {}
    (held, publisher)
}
