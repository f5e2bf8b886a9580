//! The table itself: complete, consistent, and the defaults that the project promises.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use levada_engine::{Affinity, Place};

use super::*;

#[test]
fn every_key_has_a_name_of_its_own_help_and_a_default_that_parses() {
    let mut names = BTreeSet::new();
    for key in NODE.keys() {
        assert!(names.insert(key.name), "{} is declared twice", key.name);
        assert!(key.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'));
        assert!(key.help.ends_with('.') && key.help.len() > 10, "{} has no help sentence", key.name);
        for text in key.default_texts() {
            assert!(key.kind.parse(&text).is_some(), "the default {text} of {} does not parse", key.name);
        }
    }
}

#[test]
fn every_key_is_in_a_group_that_is_listed() {
    for key in NODE.keys() {
        assert!(Group::ALL.contains(&key.group), "{}", key.name);
    }
}

#[test]
fn every_promised_key_has_an_effect_and_the_rest_is_accepted() {
    for name in EFFECTIVE.split_whitespace() {
        assert!(NODE.find(name).is_some_and(Key::is_effective), "{name}");
    }
    for name in ACCEPTED.split_whitespace() {
        assert!(NODE.find(name).is_some_and(|key| !key.is_effective()), "{name}");
    }
}

#[test]
fn every_key_that_is_only_accepted_warns_exactly_once_or_is_refused() {
    let baseline = load(&[], &[]).unwrap().warnings.len();
    for key in NODE.keys().filter(|key| !key.is_effective()) {
        let value = if matches!(key.kind, Kind::Text | Kind::Secret) { "x" } else { "1" };
        let flag = format!("--{}={value}", key.name);
        if let Effect::Refused(reason) = key.effect {
            assert_eq!(faults(&[&flag], &[]), [format!("{0} (flag --{0}) is refused: {reason}", key.name)]);
            let no = load(&[&format!("--{}=false", key.name)], &[]).unwrap().warnings;
            assert_eq!(no.len(), baseline, "{}: {no:?}", key.name);
            continue;
        }
        let warnings = load(&[&flag], &[]).unwrap().warnings;
        assert_eq!(warnings.len(), baseline + 1, "{}: {warnings:?}", key.name);
    }
}

fn no_discovery() -> Discovery {
    Discovery { discv5_udp_port: None, discv5_bootstrap_nodes: vec![], dns_urls: vec![], dns_servers: vec![] }
}

fn every_discovery() -> Discovery {
    Discovery {
        discv5_udp_port: Some(5),
        discv5_bootstrap_nodes: vec![RECORD.to_owned(), RECORD.to_owned()],
        dns_urls: vec![TREE.to_owned(), TREE.to_owned()],
        dns_servers: vec!["192.0.2.1".parse().unwrap()],
    }
}

const LOCALHOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

#[test]
fn the_defaults_are_those_promised() {
    let expected = Config {
        cluster_id: 0,
        shards: vec![0],
        protected_shards: vec![],
        num_shards_in_network: 0,
        max_msg_bytes: 153_600,
        node_key: None,
        listen_address: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        tcp_port: 60_000,
        nat: Nat::Any,
        ext_multiaddrs: vec![],
        ext_multiaddr_only: false,
        dns4_domain_name: None,
        agent_string: format!("levada/{}", env!("CARGO_PKG_VERSION")),
        websocket_support: true,
        websocket_port: 8_000,
        websocket_secure: None,
        transport: Transport::Levada,
        static_nodes: vec![],
        max_connections: 150,
        relay_peers_max: 75,
        ip_colocation_limit: 5,
        keep_alive: true,
        peer_persistence: false,
        peer_store_capacity: 1_000,
        relay: true,
        relay_queue_bytes: 8 << 20,
        store: true,
        store_message_db_url: "sqlite://levada.sqlite3".parse().unwrap(),
        store_message_db_schema: PostgresSchema::Levada,
        store_message_retention_policy: "time:172800".parse().unwrap(),
        store_io: StoreIo::Auto,
        store_commit: GroupCommit { messages: 256, wait: Duration::from_millis(100) },
        store_max_num_db_connections: 50,
        store_backlog_bytes: 256 << 20,
        store_node: None,
        store_resume: false,
        filter: true,
        filter_node: None,
        filter_subscription_timeout: Duration::from_secs(300),
        filter_max_peers_to_serve: 1_000,
        filter_max_criteria: 1_000,
        rate_limits: RateLimits::default(),
        lightpush: true,
        lightpush_node: None,
        peer_exchange: true,
        peer_exchange_node: None,
        discovery: Discovery { discv5_udp_port: Some(9_000), ..no_discovery() },
        rest: true,
        rest_address: LOCALHOST,
        rest_port: 8_645,
        rest_relay_cache_capacity: 50,
        rest_admin: false,
        rest_allow_origin: Vec::new(),
        metrics_server: true,
        metrics_server_address: LOCALHOST,
        metrics_server_port: 8_008,
        log_level: LogLevel::Info,
        log_format: LogFormat::Text,
        net_workers: None,
        workers: None,
        affinity: Affinity::Auto,
        arena_bytes: 512 << 20,
        huge_pages: true,
        wait: WaitPreset::Balanced,
        drain_timeout: Duration::from_secs(10),
    };
    assert_eq!(config(&[]), expected);
}

/// The examples of EIP-778 and EIP-1459.
pub(super) const RECORD: &str = "enr:-IS4QHCYrYZbAKWCBRlAy5zzaDZXJBGkcnh4MHcBFZntXNFrdvJjX04jRzjzCBOonrkTfj499SZuOh8R33Ls8RRcy5wB\
     gmlkgnY0gmlwhH8AAAGJc2VjcDI1NmsxoQPKY0yuDUmstAHYpMa2_oxVtw0RW_QAdpzBQA8yWM0xOIN1ZHCCdl8";
pub(super) const TREE: &str = "enrtree://AM5FCQLWIZX2QFPNJAP7VUERCCRNGRHWZG3YYHIUV7BVDQ5FDPRT2@nodes.example.org";

/// A shard and the compressed public key of the secret 1.
pub(super) const PROTECTED: &str = "3:0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798";

/// What the next test sets.
fn every_value(key: &str) -> Config {
    Config {
        cluster_id: 16,
        shards: vec![3, 4],
        protected_shards: vec![ProtectedShard::parse(PROTECTED).unwrap()],
        num_shards_in_network: 8,
        max_msg_bytes: 1 << 20,
        node_key: NodeKey::from_hex(key),
        listen_address: "::1".parse().unwrap(),
        tcp_port: 1,
        nat: Nat::ExternalIp("192.0.2.9".parse().unwrap()),
        ext_multiaddrs: vec!["/ip4/192.0.2.9/udp/1/quic-v1".to_owned()],
        ext_multiaddr_only: true,
        dns4_domain_name: Some("node.example.org".to_owned()),
        agent_string: "a".to_owned(),
        websocket_support: false,
        websocket_port: 2,
        websocket_secure: Some(TlsFiles { key: "k.pem".into(), certificate: "c.pem".into() }),
        transport: Transport::Stock,
        static_nodes: vec!["/dns4/a/tcp/1".to_owned(), "/dns4/b/tcp/1".to_owned()],
        max_connections: 9,
        relay_peers_max: 6,
        ip_colocation_limit: 0,
        keep_alive: false,
        peer_persistence: true,
        peer_store_capacity: 10,
        relay: false,
        relay_queue_bytes: 1 << 20,
        store: false,
        store_message_db_url: "sqlite://x".parse().unwrap(),
        store_message_db_schema: PostgresSchema::Nwaku,
        store_message_retention_policy: "capacity:9;size:2GB".parse().unwrap(),
        store_io: StoreIo::Buffered,
        store_commit: GroupCommit { messages: 8, wait: Duration::from_millis(20) },
        store_max_num_db_connections: 5,
        store_backlog_bytes: 1 << 20,
        store_node: Some("/dns4/s/tcp/1".to_owned()),
        store_resume: true,
        filter: false,
        filter_node: Some("/dns4/f/tcp/1".to_owned()),
        filter_subscription_timeout: Duration::from_secs(60),
        filter_max_peers_to_serve: 11,
        filter_max_criteria: 12,
        rate_limits: RateLimits::of(&["px:5/1s".to_owned()]),
        lightpush: false,
        lightpush_node: Some("/dns4/l/tcp/1".to_owned()),
        peer_exchange: false,
        peer_exchange_node: Some("/dns4/p/tcp/1".to_owned()),
        discovery: every_discovery(),
        rest: false,
        rest_address: "127.0.0.3".parse().unwrap(),
        rest_port: 3,
        rest_relay_cache_capacity: 7,
        rest_admin: true,
        rest_allow_origin: vec!["localhost:*".to_owned(), "https://example.org".to_owned()],
        metrics_server: false,
        metrics_server_address: "127.0.0.4".parse().unwrap(),
        metrics_server_port: 4,
        log_level: LogLevel::Trace,
        log_format: LogFormat::Json,
        net_workers: Some(3),
        workers: Some(2),
        affinity: Affinity::Places(vec![Place::Core(1), Place::Floating]),
        arena_bytes: 64 << 20,
        huge_pages: false,
        wait: WaitPreset::Spin,
        drain_timeout: Duration::from_millis(500),
    }
}

/// The flags of those values, but for those made below; the shard of eight of the content topic is 4.
const EVERY_FLAG: &str = "\
    --cluster-id=16 --shard=3 --content-topic=/statusim/1/community/cbor --num-shards-in-network=8 --max-msg-size=1MiB \
    --listen-address=::1 --tcp-port=1 --nat=extip:192.0.2.9 --ext-multiaddr=/ip4/192.0.2.9/udp/1/quic-v1 \
    --ext-multiaddr-only --dns4-domain-name=node.example.org --agent-string=a --websocket-support=0 --websocket-port=2 \
    --websocket-secure-support --websocket-secure-key-path=k.pem --websocket-secure-cert-path=c.pem --transport=stock \
    --staticnode=/dns4/a/tcp/1 --entry-node=/dns4/b/tcp/1 --max-connections=9 --relay-service-ratio=90:10 \
    --max-relay-peers=6 --ip-colocation-limit=0 --keep-alive=0 --peer-persistence --peer-store-capacity=10 --relay=0 \
    --relay-queue-bytes=1MiB --store=0 --store-message-db-url=sqlite://x \
    --store-message-retention-policy=capacity:9;size:2GB --store-io=buffered --store-message-db-schema=nwaku \
    --store-commit-messages=8 --store-commit-ms=20 \
    --store-max-num-db-connections=5 --store-backlog-bytes=1MiB --storenode=/dns4/s/tcp/1 --store-resume --filter=0 \
    --filternode=/dns4/f/tcp/1 --filter-subscription-timeout=60 --filter-max-peers-to-serve=11 \
    --filter-max-criteria=12 --rate-limit=px:5/1s --lightpush=0 --lightpushnode=/dns4/l/tcp/1 --peer-exchange=0 \
    --peer-exchange-node=/dns4/p/tcp/1 --discv5-udp-port=5 --dns-discovery --dns-addrs-name-server=192.0.2.1 --rest=0 \
    --rest-address=127.0.0.3 --rest-port=3 --rest-relay-cache-capacity=7 --rest-admin=true \
    --rest-allow-origin=localhost:* --rest-allow-origin=https://example.org --metrics-server=0 \
    --metrics-server-address=127.0.0.4 --metrics-server-port=4 --log-level=TRACE --log-format=JSON --workers=2 \
    --net-workers=3 --affinity=1,f1 --arena-bytes=64MiB --huge-pages=0 --wait=spin --drain-timeout=0.5";

#[test]
fn every_effective_value_reaches_its_field() {
    let key = secret();
    let made = [
        format!("--protected-shard={PROTECTED}"),
        format!("--nodekey={key}"),
        format!("--entry-node={RECORD}"),
        format!("--entry-node={TREE}"),
        format!("--discv5-bootstrap-node={RECORD}"),
        format!("--dns-discovery-url={TREE}"),
    ];
    let flags: Vec<&str> = EVERY_FLAG.split_whitespace().chain(made.iter().map(String::as_str)).collect();
    let loaded = config(&flags);
    assert_eq!(loaded, every_value(&key));
    assert_eq!((loaded.rest_socket(), loaded.metrics_socket()), (None, None));
    assert_eq!(config(&[]).rest_socket(), Some("127.0.0.1:8645".parse().unwrap()));
}

/// The keys on which this version promises to act.
const EFFECTIVE: &str = "\
    preset content-topic protected-shard ext-multiaddr ext-multiaddr-only dns4-domain-name entry-node \
    tcp-port listen-address nat nodekey cluster-id shard num-shards-in-network staticnode relay store \
    store-message-db-url store-message-db-schema store-message-retention-policy store-io store-max-num-db-connections \
    store-commit-messages store-commit-ms store-backlog-bytes \
    rest rest-address rest-port metrics-server \
    metrics-server-address metrics-server-port \
    websocket-support websocket-port max-msg-size log-level log-format max-connections ports-shift agent-string \
    rest-admin rest-allow-origin \
    rest-relay-cache-capacity workers net-workers affinity arena-bytes huge-pages wait drain-timeout config-file \
    filter filternode filter-subscription-timeout filter-max-peers-to-serve filter-max-criteria rate-limit \
    storenode store-resume lightpush lightpushnode peer-exchange peer-exchange-node ip-colocation-limit peer-persistence \
    relay-service-ratio max-relay-peers \
    peer-store-capacity keep-alive websocket-secure-support websocket-secure-key-path websocket-secure-cert-path \
    discv5-discovery discv5-udp-port discv5-bootstrap-node dns-discovery dns-discovery-url dns-addrs-name-server";

/// The keys of nwaku that this version promises to accept.
const ACCEPTED: &str = "\
    relay-peer-exchange \
    relay-shard-manager rln-relay rln-relay-cred-path rln-relay-cred-password rln-relay-eth-client-address \
    rln-relay-eth-contract-address rln-relay-chain-id rln-relay-epoch-sec rln-relay-user-message-limit \
    rln-relay-dynamic rln-relay-membership-index store-message-db-vacuum \
    store-message-db-migration store-sync store-sync-interval \
    store-sync-range store-sync-relay-jitter \
    metrics-logging \
    rendezvous enable-kad-discovery \
    quic-support quic-port entry-layer \
    local-storage-path reliability";
