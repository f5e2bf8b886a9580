//! Goal: Prometheus reads every line, and dashboards made for nwaku find their metrics. Method: one scrape of a node with a peer.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::support::http::Client;
use crate::support::message::{MESSAGES, Message};
use crate::support::node::Node;

/// Names of nwaku v0.38.1 about the node, its peers, the relay and discovery; those of the services have tests of their own.
const NAMES: &str = "\
    waku_version waku_node_messages_total waku_node_errors_total waku_node_conns_initiated_total waku_total_unique_peers \
    waku_connected_peers waku_connected_peers_per_shard waku_connected_peers_per_agent waku_peer_store_size \
    waku_peers_dials_total waku_peers_errors_total waku_discv5_discovered waku_discv5_errors_total waku_dnsdisc_discovered \
    waku_dnsdisc_errors_total waku_relay_total_msg_bytes_per_shard waku_relay_avg_msg_bytes_per_shard \
    waku_relay_max_msg_bytes_per_shard waku_relay_network_bytes_total waku_histogram_message_size waku_streams_peers \
    waku_archive_messages waku_archive_messages_per_shard waku_archive_insert_duration_seconds \
    waku_archive_query_duration_seconds libp2p_peers libp2p_pubsub_peers \
    libp2p_pubsub_topics libp2p_pubsub_subscriptions_total libp2p_pubsub_messages_published_total \
    libp2p_pubsub_validation_success_total libp2p_gossipsub_peers_per_topic_mesh libp2p_gossipsub_received_total \
    libp2p_gossipsub_duplicate_total libp2p_network_bytes_total process_resident_memory_bytes";

/// Characters of a label's value, whatever peers call themselves.
const LABEL_CHARS_MAX: usize = 128;

/// Everything comes long before this, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(45);

/// Samples of one scrape of a node with one peer.
const SAMPLES_MAX: usize = 1_500;

/// The name of a sample, its labels as they stand, and its value.
fn sample(line: &str) -> (&str, &str, f64) {
    let (series, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("no value in {line}"));
    let value =
        if value == "+Inf" { f64::INFINITY } else { value.parse().unwrap_or_else(|_| panic!("no number in {line}")) };
    match series.split_once('{') {
        Some((name, labels)) => {
            (name, labels.strip_suffix('}').unwrap_or_else(|| panic!("no end of labels in {line}")), value)
        }
        None => (series, "", value),
    }
}

/// The values of labels, which must be quoted, escaped and separated as the text format has it.
fn label_values(labels: &str) -> Vec<String> {
    let mut values = Vec::new();
    let mut rest = labels;
    while !rest.is_empty() {
        let (name, quoted) = rest.split_once("=\"").unwrap_or_else(|| panic!("no quote in {labels}"));
        assert!(!name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'), "{labels}");
        let (mut value, mut characters) = (String::new(), quoted.char_indices());
        let end = loop {
            let (at, character) = characters.next().unwrap_or_else(|| panic!("an open quote in {labels}"));
            match character {
                '"' => break at,
                '\\' => {
                    let (_, escaped) = characters.next().expect("an escape escapes something");
                    assert!(matches!(escaped, 'n' | '\\' | '"'), "{labels}");
                    value.push(escaped);
                }
                character => value.push(character),
            }
        };
        values.push(value);
        rest = quoted[end + 1..].trim_start_matches(',');
    }
    values
}

/// The name under which a sample's type is told.
fn family<'a>(name: &'a str, types: &BTreeMap<&str, &str>) -> &'a str {
    let parts = ["_bucket", "_sum", "_count"].iter().filter_map(|end| name.strip_suffix(end));
    parts.into_iter().find(|family| types.get(family) == Some(&"histogram")).unwrap_or(name)
}

#[test]
fn every_line_is_sound_and_every_name_is_there() {
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let node = Node::start(folders[0].path(), &[]);
    let agent = format!("--agent-string=\"quoted\" \\ {}", "long ".repeat(100));
    let flags = [&*format!("--staticnode={}", node.after("listening on ")[0]), &agent];
    let _peer = Node::start(folders[1].path(), &flags);
    let mut client = Client::new(node.rest());
    assert_eq!(client.post(MESSAGES, Message::new("counted").json().to_string()).text(), "OK");
    let mut metrics = Client::new(node.metrics());
    let missing = |scrape: &str| -> Vec<&str> {
        let is_there = |name: &&str| {
            let ends = ["", "_bucket"].map(|end| format!("{name}{end}"));
            let is_sample = |line: &str, name: &String| {
                line.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with([' ', '{']))
            };
            scrape.lines().any(|line| ends.iter().any(|name| is_sample(line, name)))
        };
        NAMES.split_whitespace().filter(|name| !is_there(name)).collect()
    };
    // What a peer says of itself comes in several messages.
    let start = Instant::now();
    let scrape = loop {
        let scrape = metrics.get("/metrics").text().to_owned();
        let missing = missing(&scrape);
        if missing.is_empty() && scrape.contains("waku_connected_peers_per_agent{agent=\"\\\"quoted") {
            break scrape;
        }
        assert!(start.elapsed() < PATIENCE, "{missing:?} in\n{scrape}");
        std::thread::sleep(Duration::from_millis(50));
    };
    let types: BTreeMap<&str, &str> =
        scrape.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' ')).collect();
    let mut series = BTreeSet::new();
    for line in scrape.lines().filter(|line| !line.starts_with('#')) {
        let (name, labels, _) = sample(line);
        assert!(series.insert((name, labels)), "twice: {line}");
        assert!(types.contains_key(family(name, &types)), "no type of {line}");
        assert!(label_values(labels).iter().all(|value| value.chars().count() <= LABEL_CHARS_MAX), "{line}");
    }
    assert!(series.len() < SAMPLES_MAX, "{} samples", series.len());
}
