//! What operators read of relayed messages: bytes by direction, sizes, streams, and what the archive took.

use std::time::{Duration, Instant};

use levada_wire::waku::message::Message as Encoded;

use crate::support::http::Client;
use crate::support::message::{MESSAGES, Message, TOPIC};
use crate::support::metrics::Scrape;
use crate::support::node::Node;
use crate::{dialled, join, payload, wait_for};

/// Everything comes long before this, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(45);

/// Payloads on both sides of nwaku's steps of 1 and 50 kB.
const SIZES: [usize; 4] = [1_000, 1_001, 50_000, 50_001];

/// What a message counts for: its encoded bytes, and its topic.
fn counted(message: &Message) -> u64 {
    let encoded = Encoded {
        payload: &message.payload,
        content_topic: &message.content_topic,
        timestamp: message.timestamp_ns,
        ..Encoded::default()
    };
    (encoded.encoded_len() + TOPIC.len()) as u64
}

fn bytes(scrape: &Scrape, kind: &str, direction: &str) -> u64 {
    let labels = format!("topic=\"{TOPIC}\",type=\"{kind}\",direction=\"{direction}\"");
    scrape.value(&format!("waku_relay_network_bytes_total{{{labels}}}"))
}

fn kept(scrape: &Scrape) -> u64 {
    scrape.value(&format!("waku_archive_messages_per_shard{{shard=\"{TOPIC}\"}}"))
}

fn is_all_stored(scrape: &Scrape) -> bool {
    kept(scrape) == scrape.value("waku_node_messages_total{type=\"relay\"}")
}

/// How many payloads were at most so many kB long.
fn within(scrape: &Scrape, kb: &str) -> u64 {
    scrape.value(&format!("waku_histogram_message_size_bucket{{le=\"{kb}\"}}"))
}

#[test]
fn bytes_sizes_and_streams_are_those_of_the_messages_sent() {
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let sender = Node::start(folders[0].path(), &[]);
    let receiver = Node::start(folders[1].path(), &[&dialled(&sender)]);
    let (mut at_sender, mut at_receiver) = (Client::new(sender.rest()), Client::new(receiver.rest()));
    join(&mut at_sender, &mut [&mut at_receiver]);
    // The last probe may still be under way; what comes behind it has come after it.
    let settled = Message::new("settled");
    assert_eq!(at_sender.post(MESSAGES, settled.json().to_string()).text(), "OK");
    wait_for(&mut at_receiver, &payload(&settled));
    let scrapes = || [&sender, &receiver].map(|node| Scrape::of(node.metrics()));
    // What was sent is counted when the last byte has gone, which the receiver may see earlier. A scrape that finds all at rest has read
    // some of it before that, so the next one counts.
    let at_rest = |sent_bytes: Option<u64>| {
        let began = Instant::now();
        loop {
            let [sent, received] = scrapes();
            let out = bytes(&sent, "net", "out");
            let is_out = sent_bytes.unwrap_or_else(|| bytes(&received, "gross", "in")) == out;
            if is_out && is_all_stored(&sent) && is_all_stored(&received) {
                break scrapes();
            }
            assert!(began.elapsed() < PATIENCE, "{out} bytes are out, {sent_bytes:?} were sent");
        }
    };
    let before = at_rest(None);
    let messages = SIZES.map(|size| Message::new(vec![size as u8; size]));
    let total: u64 = messages.iter().map(counted).sum();
    for message in &messages {
        assert_eq!(at_sender.post(MESSAGES, message.json().to_string()).text(), "OK");
    }
    wait_for(&mut at_receiver, &payload(&messages[3]));
    let after = at_rest(Some(bytes(&before[0], "net", "out") + total));
    let grown = |at: usize, read: &dyn Fn(&Scrape) -> u64| read(&after[at]) - read(&before[at]);
    for (kind, direction, expected) in
        [("gross", "in", [0, total]), ("net", "in", [total; 2]), ("net", "out", [total, 0])]
    {
        let of = [0, 1].map(|at| grown(at, &|scrape| bytes(scrape, kind, direction)));
        assert_eq!(of, expected, "{kind} {direction}");
    }
    for at in [0, 1] {
        let steps = ["1", "3", "15", "50", "75", "+Inf"].map(|kb| grown(at, &|scrape| within(scrape, kb)));
        assert_eq!(steps, [1, 2, 2, 3, 4, 4]);
        assert_eq!(grown(at, &kept), 4);
        assert_eq!(grown(at, &|scrape| scrape.value("waku_archive_messages{type=\"stored\"}")), 4);
        let relay =
            |direction| format!("waku_streams_peers{{direction=\"{direction}\",protocol=\"/vac/waku/relay/2.0.0\"}}");
        assert_eq!(["In", "Out"].map(|direction| after[at].value(&relay(direction))), [1, 1]);
        let transactions = after[at].value("levada_archive_transactions_total");
        assert_eq!(after[at].value("waku_archive_insert_duration_seconds_count"), transactions);
        let seconds = ["levada_archive_insert_seconds_total", "waku_archive_insert_duration_seconds_sum"];
        let [all, sum] = seconds.map(|series| after[at].number(series));
        assert!(all > 0.0 && (all - sum).abs() < 1e-6, "{all} and {sum}");
    }
    let queries = "waku_archive_query_duration_seconds_count";
    let asked = Scrape::of(receiver.metrics()).value(queries);
    assert_eq!(at_receiver.get("/store/v3/messages").status, 200);
    assert_eq!(Scrape::of(receiver.metrics()).value(queries), asked + 1);
}
