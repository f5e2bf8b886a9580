//! What a node says when it starts.

use std::net::TcpStream;

use crate::support::http::Client;
use crate::support::node::{Node, levada};

#[test]
fn start_up_lines_tell_where_the_node_is_reached_and_what_it_does() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &["--workers=1"]);
    let starts: Vec<&str> = node.lines.iter().map(|line| line.split(' ').next().unwrap()).collect();
    let expected = [
        ["levada", "listening", "listening", "peer", "discv5", "record", "REST", "metrics", "archive"].as_slice(),
        ["protocol"; 10].as_slice(),
        ["ready"].as_slice(),
    ];
    assert_eq!(starts, expected.concat(), "{:?}", node.lines);
    assert_eq!(node.lines[0], concat!("levada ", env!("CARGO_PKG_VERSION")));
    let protocols = [
        "identify /ipfs/id/1.0.0",
        "ping /ipfs/ping/1.0.0",
        "metadata /vac/waku/metadata/1.0.0, cluster 0",
        "relay /vac/waku/relay/2.0.0, /waku/2/rs/0/0",
        "/vac/waku/filter-push/2.0.0-beta1",
        "/vac/waku/store-query/3.0.0",
        "/vac/waku/lightpush/3.0.0",
        "/vac/waku/lightpush/2.0.0-beta1",
        "/vac/waku/peer-exchange/2.0.0-alpha1",
        "/vac/waku/filter-subscribe/2.0.0-beta1",
    ];
    assert_eq!(node.after("protocol "), protocols);
    assert_eq!(node.lines.last().unwrap(), "ready (1 worker on the message path; Ctrl-C stops)");
}

#[test]
fn every_address_in_the_start_up_lines_is_listened_on() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &[]);
    let addresses = node.after("listening on ");
    assert!(!addresses[0].contains("/ws") && addresses[1].contains("/ws/p2p/16Uiu2HA"), "TCP first: {addresses:?}");
    for address in addresses {
        let parts: Vec<&str> = address.split('/').collect();
        assert_eq!((parts[1], parts[2], parts[3]), ("ip4", "127.0.0.1", "tcp"), "{address}");
        assert_eq!(address.rsplit_once("/p2p/").unwrap().1, node.peer_id());
        TcpStream::connect(("127.0.0.1", parts[4].parse().unwrap())).unwrap();
    }
    assert_eq!(Client::new(node.rest()).get("/version").status, 200);
    assert_eq!(Client::new(node.metrics()).get("/metrics").status, 200);
    assert!(node.after("metrics at ")[0].ends_with("/metrics"));
}

#[test]
fn the_archive_is_created_where_the_user_is_and_its_line_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &[]);
    let file = folder.path().canonicalize().unwrap().join("levada.sqlite3");
    assert_eq!(node.after("archive "), [format!("sqlite://{}", file.display())]);
    assert!(file.is_file());
}

#[test]
fn what_is_off_has_no_line() {
    let folder = tempfile::tempdir().unwrap();
    let off = ["--rest=false", "--metrics-server=false", "--store=false", "--relay=false", "--websocket-support=false"];
    let node = Node::start(folder.path(), &off);
    for absent in ["REST", "metrics", "archive", "store", "protocol relay"] {
        assert_eq!(node.after(absent), [""; 0]);
    }
    assert_eq!(node.after("listening on ").len(), 1);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "no archive is created");
    assert_eq!(node.stop().code, Some(0));
}

#[test]
fn many_shards_have_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &["--cluster-id=16", "--num-shards-in-network=8"]);
    let relay = "relay /vac/waku/relay/2.0.0, 8 topics from /waku/2/rs/16/0 to /waku/2/rs/16/7";
    assert!(node.after("protocol ").contains(&relay), "{:?}", node.lines);
}

#[test]
fn a_bare_call_and_bare_flags_and_run_start_a_node() {
    let folder = tempfile::tempdir().unwrap();
    let ports = ["TCP_PORT", "WEBSOCKET_PORT", "REST_PORT", "METRICS_SERVER_PORT"];
    let free_ports = ports.map(|name| (format!("LEVADA_{name}"), "0"));
    for args in [&[][..], &["--relay=true"], &["run"], &["run", "--relay=true"]] {
        let node = Node::start_command(levada(folder.path()).args(args).envs(free_ports.clone()));
        let ended = node.stop();
        assert_eq!(ended.code, Some(0), "{args:?}: {}", ended.stderr);
    }
}

#[test]
fn either_signal_stops_an_idle_node_with_success() {
    for signal in ["INT", "TERM"] {
        let folder = tempfile::tempdir().unwrap();
        let node = Node::start(folder.path(), &[]);
        node.signal(signal);
        let ended = node.ended();
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(!left.iter().any(|name| name.to_string_lossy().ends_with("-wal")), "the log is folded in: {left:?}");
    }
}

#[test]
fn a_node_key_keeps_the_peer_id_and_without_one_it_changes() {
    let folder = tempfile::tempdir().unwrap();
    let key = "0f".repeat(32);
    let peer_id = |flags: &[&str]| Node::start(folder.path(), flags).peer_id().to_owned();
    let with_key = format!("--nodekey={key}");
    assert_eq!(peer_id(&[&with_key]), peer_id(&[&with_key]));
    assert_ne!(peer_id(&[]), peer_id(&[]));
    let ended = Node::start(folder.path(), &[&with_key, "--log-level=TRACE"]).stop();
    assert!(!ended.stderr.contains(&key) && !ended.stdout.contains(&key), "the key is shown nowhere");
    assert!(!ended.stdout.contains("--nodekey"), "{}", ended.stdout);
    assert!(Node::start(folder.path(), &[]).stop().stdout.contains("--nodekey"), "a passing key is told of");
}

#[test]
fn flags_without_effect_are_accepted_with_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let ended = Node::start(folder.path(), &["--reliability=true", "--cluster-id=1", "--log-level=NONE"]).stop();
    assert_eq!(ended.code, Some(0));
    assert!(ended.stderr.contains("warning: reliability (flag --reliability) is accepted but"), "{}", ended.stderr);
    assert!(ended.stderr.contains("warning: SECURITY: cluster-id = 1"), "{}", ended.stderr);
}
