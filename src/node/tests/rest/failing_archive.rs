//! An archive that fails while the node runs costs the messages it fails on, and nothing else.

use std::process::Command;

use crate::support::held::Held;
use crate::support::http::Client;
use crate::support::message::{MESSAGES, Message};
use crate::support::metrics::Scrape;
use crate::support::node::{Node, shell};
use crate::support::store::all_hashes;

const FAILURES: &str = "waku_archive_errors_total{type=\"insert_failure\"}";
const PUT_OFF: &str = "levada_archive_put_off_total";
const STORED: &str = "waku_archive_messages{type=\"stored\"}";
const SYNCED: &str = "levada_sync_items{shard=\"/waku/2/rs/0/0\"}";

#[test]
fn another_program_that_holds_the_archive() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &[]);
    let mut client = Client::new(node.rest());
    let before = Message::new("before");
    assert_eq!(client.post(MESSAGES, before.json().to_string()).text(), "OK");

    let held = Held::take(folder.path());
    // The publisher's five seconds pass before the archive is free: relayed, not known to be stored.
    let during = Message::new("during");
    assert_eq!(client.post(MESSAGES, during.json().to_string()).status, 500);
    while Scrape::of(node.metrics()).value(PUT_OFF) == 0 {}
    assert_eq!(client.get("/health").json()["nodeHealth"], "READY");
    assert_eq!(client.get(MESSAGES).json().as_array().unwrap().len(), 2, "both were relayed");
    assert_eq!(all_hashes(node.rest()).into_keys().collect::<Vec<_>>(), [before.hash()]);

    drop(held);
    let after = Message::new("after");
    assert_eq!(client.post(MESSAGES, after.json().to_string()).text(), "OK");
    let found = all_hashes(node.rest());
    assert_eq!(found.len(), 3, "the archive has recovered, and what waited for it is stored");
    assert!(found.contains_key(&during.hash()) && found.contains_key(&after.hash()));
    let scrape = Scrape::of(node.metrics());
    assert_eq!((scrape.value(FAILURES), scrape.value(STORED)), (0, 3));
    let ended = node.stop();
    assert_eq!(ended.code, Some(0));
    assert!(ended.stderr.contains("messages wait for the archive"), "{}", ended.stderr);
    assert!(ended.stderr.contains("another program kept the archive"), "{}", ended.stderr);
}

/// A disk that takes no more is played by the kernel's limit on the size of a file: to the archive both are writes that
/// the system refuses. The limit is of 512-byte blocks; its signal is ignored, so that the write fails instead.
const DISK_OF_ONE_MEBIBYTE: &str = "trap '' XFSZ; ulimit -S -f 2048; exec \"$@\"";

#[test]
fn a_disk_that_takes_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start_command(&mut shell(folder.path(), DISK_OF_ONE_MEBIBYTE));
    let mut client = Client::new(node.rest());
    let mut publish = |number: u64| {
        let message = Message::new([number.to_be_bytes().as_slice(), &[7; 50_000]].concat());
        let answer = client.post(MESSAGES, message.json().to_string());
        assert_eq!(answer.status, 200, "{}", answer.text());
        message
    };
    let mut published = 0;
    while Scrape::of(node.metrics()).value(FAILURES) < 3 {
        assert!(published < 100, "5 MB do not fit into 1 MiB");
        publish(published);
        published += 1;
    }
    let scrape = Scrape::of(node.metrics());
    assert_eq!(scrape.value(STORED) + scrape.value(FAILURES), published, "each is stored or counted");
    assert_eq!(scrape.value("waku_node_messages_total{type=\"relay\"}"), published, "and each was relayed");
    assert_eq!(all_hashes(node.rest()).len() as u64, scrape.value(STORED), "what was stored is found");
    assert_eq!(scrape.value(SYNCED), scrape.value(STORED), "and other nodes are told of nothing else");

    let pid = node.pid().to_string();
    match Command::new("prlimit").args(["--pid", &pid, "--fsize=unlimited:"]).status() {
        Ok(status) if status.success() => {
            let message = publish(published);
            assert!(all_hashes(node.rest()).contains_key(&message.hash()), "room was made, and the archive goes on");
        }
        outcome => println!("SKIPPED: whether the archive goes on, for want of prlimit(1): {outcome:?}"),
    }
    let ended = node.stop();
    assert_eq!(ended.code, Some(0));
    assert!(ended.stderr.contains("messages were relayed but not archived"), "{}", ended.stderr);
}
