//! `src/node/NWAKU.md`, row by row: what it says of flags, routes and metrics is so.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use levada::config::{Effect, NODE};

use crate::support::http::Client;
use crate::support::node::Node;

/// A peer tells of itself long before this.
const PATIENCE: Duration = Duration::from_secs(40);

const DOCUMENT: &str = include_str!("../../NWAKU.md");

/// The cells of the rows below this heading, without the marks of code.
fn rows(heading: &str) -> Vec<Vec<String>> {
    let part = DOCUMENT.split(&format!("\n## {heading}\n")).nth(1).unwrap().split("\n## ").next().unwrap();
    let cells = |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().replace('`', "")).collect();
    part.lines().filter(|line| line.starts_with('|')).skip(2).map(cells).collect()
}

/// Nobody listens there.
const STORE_NODE: &str = "--storenode=/ip4/127.0.0.1/tcp/1/p2p/16Uiu2HAmQ9X2xDfPG3uL77V9piYDhjq14JhKCtcmNYsTMKNqrKCj";

/// Keys that nwaku does not have.
const OWN: &[&str] = &[
    "transport",
    "relay-queue-bytes",
    "store-io",
    "store-commit-messages",
    "store-commit-ms",
    "store-backlog-bytes",
    "workers",
    "net-workers",
    "affinity",
    "arena-bytes",
    "huge-pages",
    "wait",
    "drain-timeout",
    "store-message-db-schema",
];

/// The flags of section 7.3 of the reference that the rows are made from.
const REFERENCE: &str = "\
    preset cluster-id shard num-shards-in-network content-topic max-msg-size protected-shard nodekey listen-address tcp-port \
    ports-shift nat ext-multiaddr ext-multiaddr-only dns4-domain-name agent-string staticnode entry-node max-connections \
    relay-service-ratio ip-colocation-limit peer-persistence peer-store-capacity keep-alive relay relay-peer-exchange \
    relay-shard-manager rln-relay rln-relay-cred-path rln-relay-cred-password rln-relay-eth-client-address \
    rln-relay-eth-contract-address rln-relay-chain-id rln-relay-epoch-sec rln-relay-user-message-limit rln-relay-dynamic \
    rln-relay-membership-index store storenode store-message-db-url store-message-retention-policy store-message-db-vacuum \
    store-message-db-migration store-max-num-db-connections store-resume store-sync store-sync-interval store-sync-range \
    store-sync-relay-jitter filter filternode filter-subscription-timeout filter-max-peers-to-serve filter-max-criteria \
    lightpush lightpushnode rest rest-address rest-port rest-relay-cache-capacity rest-admin rest-allow-origin metrics-server \
    metrics-server-address metrics-server-port metrics-logging discv5-discovery discv5-udp-port discv5-bootstrap-node \
    dns-discovery dns-discovery-url peer-exchange peer-exchange-node rendezvous enable-kad-discovery websocket-support \
    websocket-port websocket-secure-support websocket-secure-key-path websocket-secure-cert-path quic-support quic-port \
    rate-limit log-level log-format config-file entry-layer local-storage-path reliability";

#[test]
fn every_flag_has_a_row_with_its_default_and_state() {
    let rows: BTreeMap<String, (String, String)> = rows("Flags")
        .into_iter()
        .map(|row| (row[0].trim_start_matches("--").to_owned(), (row[1].clone(), row[2].clone())))
        .collect();
    for name in REFERENCE.split_whitespace() {
        assert!(rows.contains_key(name), "{name} has no row");
    }
    let keys: BTreeSet<&str> = NODE.keys().map(|key| key.name).filter(|name| !OWN.contains(name)).collect();
    let named: BTreeSet<&str> = rows.keys().map(String::as_str).collect();
    assert_eq!(keys, named, "the keys of the node, and the rows");
    for key in NODE.keys().filter(|key| !OWN.contains(&key.name)) {
        let state = match key.effect {
            Effect::Effective => "acts",
            Effect::Accepted(_) => "warns",
            Effect::Refused(_) => "refused",
        };
        // The version changes without the row.
        let default = key.default.filter(|_| key.name != "agent-string").unwrap_or("–");
        assert_eq!(rows[key.name], (default.to_owned(), state.to_owned()), "{}", key.name);
    }
}

#[test]
fn every_route_has_a_row() {
    let served: BTreeSet<(String, String)> =
        levada::rest::routes().map(|(method, path)| (method.to_owned(), path.to_owned())).collect();
    let of_levada = [("GET".to_owned(), "/openapi.json".to_owned())].into();
    let rows = rows("Routes");
    for row in &rows {
        let is_served = served.contains(&(row[0].clone(), row[1].clone()));
        assert_eq!(row[2], if is_served { "yes" } else { "not yet" }, "{row:?}");
    }
    let named: BTreeSet<(String, String)> = rows.iter().map(|row| (row[0].clone(), row[1].clone())).collect();
    let missing: Vec<_> = served.difference(&named).filter(|route| !BTreeSet::contains(&of_levada, route)).collect();
    assert!(missing.is_empty(), "no rows for {missing:?}");
}

/// The names of the families in a scrape.
fn offered(scrape: &str) -> BTreeSet<&str> {
    scrape.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect()
}

fn is_offered(offered: &BTreeSet<&str>, name: &str) -> bool {
    offered.contains(name) || offered.contains(format!("{name}_total").as_str())
}

#[test]
fn every_metric_has_a_row() {
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    // Some families have no series until there is a peer, or until one is named.
    let node = Node::start(folders[0].path(), &[STORE_NODE]);
    let _peer = Node::start(folders[1].path(), &[&format!("--staticnode={}", node.after("listening on ")[0])]);
    let (rows, mut metrics, began) = (rows("Metrics"), Client::new(node.metrics()), Instant::now());
    let scrape = loop {
        let scrape = metrics.get("/metrics").text().to_owned();
        let wrong: Vec<&Vec<String>> =
            rows.iter().filter(|row| (row[1] == "yes") != is_offered(&offered(&scrape), &row[0])).collect();
        if wrong.is_empty() {
            break scrape;
        }
        assert!(began.elapsed() < PATIENCE, "{wrong:?}");
        std::thread::sleep(Duration::from_millis(50));
    };
    let offered = offered(&scrape);
    let named: BTreeSet<&str> = rows.iter().map(|row| row[0].as_str()).collect();
    let theirs = offered.iter().filter(|name| ["waku_", "libp2p_"].iter().any(|prefix| name.starts_with(prefix)));
    let missing: Vec<_> =
        theirs.filter(|name| !named.contains(*name) && !named.contains(name.trim_end_matches("_total"))).collect();
    assert!(missing.is_empty(), "no rows for {missing:?}");
}
