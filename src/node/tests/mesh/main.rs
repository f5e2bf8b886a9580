//! Several real nodes that talk to each other.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by panicking, and names its seed")]

use support::http::Client;
use support::message::{MESSAGES, Message};
use support::metrics::Scrape;
use support::node::Node;

#[expect(dead_code, reason = "the other tests of the binary use the rest of it")]
#[path = "../support/mod.rs"]
mod support;

mod announced;
mod by_rest;
mod discovery;
mod traffic;

/// The address under which a peer dials `node` over TCP.
fn dialled(node: &Node) -> String {
    format!("--staticnode={}", node.after("listening on ")[0])
}

/// Payloads that a node's REST cache gives out, as base64.
fn received(client: &mut Client) -> Vec<String> {
    let messages = client.get(MESSAGES).json();
    messages.as_array().unwrap().iter().map(|message| message["payload"].as_str().unwrap().to_owned()).collect()
}

fn payload(message: &Message) -> String {
    message.json()["payload"].as_str().unwrap().to_owned()
}

/// Publishes probes at `from` until one arrives at each of `to`: then they are joined.
fn join(from: &mut Client, to: &mut [&mut Client]) {
    for client in to {
        let mut probe = 0_u64;
        while received(client).is_empty() {
            assert_eq!(from.post(MESSAGES, Message::new(probe.to_be_bytes()).json().to_string()).status, 200);
            probe += 1;
        }
    }
}

/// Asks `client` until it has received `wanted`; the watchdog of the node's process ends a wait in vain.
fn wait_for(client: &mut Client, wanted: &str) {
    while !received(client).iter().any(|payload| payload == wanted) {}
}

#[test]
fn what_was_published_alone_travels_when_peers_have_come() {
    let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let hub = Node::start(folders[0].path(), &[]);
    let mut at_hub = Client::new(hub.rest());
    let (again, elsewhere) = (Message::new("published again"), Message::new("published elsewhere"));
    for message in [&again, &elsewhere] {
        assert_eq!(at_hub.post(MESSAGES, message.json().to_string()).text(), "OK");
    }
    let left = Node::start(folders[1].path(), &[&dialled(&hub)]);
    let right = Node::start(folders[2].path(), &[&dialled(&hub)]);
    let (mut at_left, mut at_right) = (Client::new(left.rest()), Client::new(right.rest()));
    join(&mut at_hub, &mut [&mut at_left, &mut at_right]);

    assert_eq!(at_hub.post(MESSAGES, again.json().to_string()).text(), "OK");
    wait_for(&mut at_left, &payload(&again));
    wait_for(&mut at_right, &payload(&again));
    assert_eq!(at_left.post(MESSAGES, elsewhere.json().to_string()).text(), "OK");
    wait_for(&mut at_right, &payload(&elsewhere));
    let at_hub = received(&mut at_hub).into_iter().filter(|seen| [payload(&again), payload(&elsewhere)].contains(seen));
    assert_eq!(at_hub.count(), 2, "and the hub's own clients see each once");
}

#[test]
fn a_cache_that_nobody_empties_does_not_stop_the_network() {
    const MESSAGES_SENT: u64 = 1_500;
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let sender = Node::start(folders[0].path(), &["--store=false"]);
    let flags = [&*dialled(&sender), "--store=false", "--arena-bytes=16MiB", "--rest-relay-cache-capacity=100000"];
    let receiver = Node::start(folders[1].path(), &flags);
    let (mut at_sender, mut at_receiver) = (Client::new(sender.rest()), Client::new(receiver.rest()));
    join(&mut at_sender, &mut [&mut at_receiver]);
    let accepted = "levada_messages_validated_total{result=\"accepted\"}";
    let before = Scrape::of(receiver.metrics()).value(accepted);
    for number in 0..MESSAGES_SENT {
        let message = Message::new([b"small".as_slice(), &number.to_be_bytes()].concat());
        assert_eq!(at_sender.post(MESSAGES, message.json().to_string()).status, 200);
    }
    while Scrape::of(receiver.metrics()).value(accepted) < before + MESSAGES_SENT {}
}

/// Three nodes in a row of which the middle one has its connections on two workers, and both ends publish the same messages at once.
#[test]
fn what_two_peers_deliver_at_once_is_accepted_pushed_and_archived_once() {
    const COUNT: usize = 60;
    let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let hub = Node::start(folders[0].path(), &["--net-workers=2", "--rest-relay-cache-capacity=10000"]);
    let [left, right] = [1, 2].map(|place: usize| Node::start(folders[place].path(), &[&dialled(&hub)]));
    let mut clients = [&hub, &left, &right].map(|node| Client::new(node.rest()));
    let [at_hub, at_left, at_right] = &mut clients;
    join(at_hub, &mut [&mut *at_left, &mut *at_right]);
    let accepted = "levada_messages_validated_total{result=\"accepted\"}";
    let before = Scrape::of(hub.metrics()).value(accepted);
    let messages: Vec<Message> = (0..COUNT).map(|number| Message::new(format!("message {number}"))).collect();
    std::thread::scope(|threads| {
        for client in [at_left, at_right] {
            let messages = &messages;
            threads.spawn(move || {
                for message in messages {
                    assert_eq!(client.post(MESSAGES, message.json().to_string()).text(), "OK");
                }
            });
        }
    });
    let mut pushed = Vec::new();
    while pushed.len() < COUNT {
        let wanted = |payload: &String| messages.iter().any(|message| self::payload(message) == *payload);
        pushed.extend(received(at_hub).into_iter().filter(wanted));
    }
    // What has come twice by now was posted before this.
    let last = Message::new("the last");
    assert_eq!(clients[0].post(MESSAGES, last.json().to_string()).text(), "OK");
    let again = received(&mut clients[0]);
    assert_eq!((pushed.len(), again), (COUNT, vec![payload(&last)]), "each is pushed once");
    assert_eq!(Scrape::of(hub.metrics()).value(accepted) - before, COUNT as u64 + 1);
    let hashes: Vec<String> = messages.iter().map(Message::hash).collect();
    let held = support::store::all_hashes(hub.rest());
    assert!(hashes.iter().all(|hash| held.get(hash) == Some(&1)), "each is archived once");
}
