//! Nodes that know nobody but one record.

use crate::support::http::Client;
use crate::support::message::{MESSAGES, Message};
use crate::support::node::Node;
use crate::{join, payload, wait_for};

#[test]
fn nodes_find_each_other_from_one_bootstrap_record_and_relay() {
    let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let first = Node::start(folders[0].path(), &[]);
    let bootstrap = format!("--discv5-bootstrap-node={}", first.after("record ")[0]);
    // The second and the third are told of the first alone, and not by an address that libp2p could dial.
    let second = Node::start(folders[1].path(), &[&bootstrap]);
    let third = Node::start(folders[2].path(), &[&bootstrap]);
    let clients = [&first, &second, &third].map(|node| Client::new(node.rest()));
    let [mut at_first, mut at_second, mut at_third] = clients;
    join(&mut at_second, &mut [&mut at_first, &mut at_third]);

    let message = Message::new("found by discovery");
    assert_eq!(at_second.post(MESSAGES, message.json().to_string()).text(), "OK");
    wait_for(&mut at_first, &payload(&message));
    wait_for(&mut at_third, &payload(&message));
}

#[test]
fn a_node_tells_its_record_by_rest() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &["--nat=extip:192.0.2.7", "--shard=3"]);
    let info = Client::new(node.rest()).get("/info").json();
    assert_eq!(info["enrUri"], node.after("record ")[0]);
    let record: levada_discovery::Record = info["enrUri"].as_str().unwrap().parse().unwrap();
    assert_eq!(record.peer().to_string(), node.peer_id());
    let said = record.advertised().unwrap();
    assert_eq!(said.ip4, Some([192, 0, 2, 7].into()));
    assert_eq!(said.shards, Some(levada_discovery::Shards { cluster: 0, indices: [3].into() }));
}

#[test]
fn without_discovery_there_is_still_a_record() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &["--discv5-discovery=false"]);
    assert!(node.after("discv5 on ").is_empty());
    let record: levada_discovery::Record = node.after("record ")[0].parse().unwrap();
    assert_eq!(record.advertised().unwrap().udp4, None);
}
