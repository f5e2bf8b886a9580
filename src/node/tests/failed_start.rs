//! A start that fails undoes what it has done: seen from within the process, where threads and listeners could stay.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::ffi::OsString;
use std::fs;
use std::net::TcpListener;
use std::path::Path;

use levada::config::Config;
use levada::node::Node;

#[path = "support/port.rs"]
mod port;

/// The names of this process's threads that the message path has started.
fn workers() -> Vec<String> {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    // A thread that ends while it is looked at is one that did not stay.
    let names = tasks.filter_map(|task| fs::read_to_string(task.unwrap().path().join("comm")).ok());
    names.map(|name| name.trim().to_owned()).filter(|name| name.contains("path") || name.contains("archive")).collect()
}

fn config(folder: &Path, flags: &[String]) -> Config {
    let database = format!("--store-message-db-url=sqlite://{}", folder.join("levada.sqlite3").display());
    let fixed = ["--listen-address=127.0.0.1", "--arena-bytes=16MiB", "--workers=2", &database];
    let args = fixed.iter().map(OsString::from).chain(flags.iter().map(OsString::from));
    Config::load(args.collect::<Vec<_>>(), []).unwrap().config
}

fn port_flags(tcp: u16, websocket: u16, rest: u16, metrics: u16) -> Vec<String> {
    [("tcp-port", tcp), ("websocket-port", websocket), ("rest-port", rest), ("metrics-server-port", metrics)]
        .map(|(name, port)| format!("--{name}={port}"))
        .to_vec()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_listener_thread_or_lock_stays_after_a_failed_start() {
    let folder = tempfile::tempdir().unwrap();
    let occupied = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = occupied.local_addr().unwrap().port();
    let free = [(); 3].map(|()| port::free());
    for flags in [
        port_flags(taken, free[0], free[1], free[2]),
        port_flags(free[0], taken, free[1], free[2]),
        port_flags(free[0], free[1], taken, free[2]),
        port_flags(free[0], free[1], free[2], taken),
    ] {
        let error = Node::start(&config(folder.path(), &flags)).await.err().unwrap();
        assert!(error.to_string().contains(&taken.to_string()), "{error}");
        assert_eq!(workers(), [""; 0], "{flags:?}");
        for port in &free {
            assert!(TcpListener::bind(("127.0.0.1", *port)).is_ok(), "port {port} stays taken, {flags:?}");
        }
    }
    let node = Node::start(&config(folder.path(), &port_flags(free[0], free[1], free[2], 0))).await;
    let node = node.unwrap_or_else(|error| panic!("everything is free, the archive too: {error}"));
    assert!(!workers().is_empty(), "the names looked for are those of the workers");
    assert_eq!(node.stop().await.drained, levada_engine::Drained::Complete);
    assert_eq!(workers(), [""; 0]);
}
