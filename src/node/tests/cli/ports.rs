//! Listeners that cannot be opened.

use std::net::TcpListener;
use std::path::Path;

use crate::support::node::{Node, ephemeral, run};

const UNAVAILABLE: i32 = 69;

/// Asserts that a node with `flag` does not start, and says why in one sentence that holds `parts`.
fn assert_refused(folder: &Path, flag: &str, parts: &[&str]) {
    let ended = run(&mut ephemeral(folder, &[flag]));
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(UNAVAILABLE), ""), "{flag}: {}", ended.stderr);
    // Listeners are opened when the log is on, which has lines of its own.
    let complaints: Vec<_> = ended.complaints().into_iter().filter(|line| line.starts_with("levada: ")).collect();
    assert_eq!(complaints.len(), 1, "{flag}: {complaints:?}");
    for part in parts {
        assert!(complaints[0].contains(part), "{flag}: no {part:?} in {complaints:?}");
    }
}

#[test]
fn a_port_in_use_is_named_with_its_flag_and_nothing_is_left_behind() {
    let folder = tempfile::tempdir().unwrap();
    let occupied = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = occupied.local_addr().unwrap().port().to_string();
    for flag in ["--tcp-port", "--websocket-port", "--rest-port", "--metrics-server-port"] {
        assert_refused(folder.path(), &format!("{flag}={port}"), &[flag, &port, "in use"]);
    }
    // The archive is free again, and so is everything else.
    assert_eq!(Node::start(folder.path(), &[]).stop().code, Some(0));
}

#[test]
fn a_port_of_another_node_is_not_shared() {
    let folder = tempfile::tempdir().unwrap();
    let other = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &[]);
    for address in node.after("listening on ") {
        let port = address.split('/').nth(4).unwrap();
        for flag in ["--tcp-port", "--websocket-port"] {
            assert_refused(other.path(), &format!("{flag}={port}"), &[flag, port, "in use"]);
        }
    }
}

#[test]
fn an_address_of_another_machine_is_named_with_its_flag() {
    let folder = tempfile::tempdir().unwrap();
    // TEST-NET-1 (RFC 5737) is assigned to no interface.
    for (flag, named) in [
        ("--listen-address=192.0.2.7", "192.0.2.7"),
        ("--rest-address=192.0.2.7", "--rest-address"),
        ("--metrics-server-address=192.0.2.7", "--metrics-server-address"),
    ] {
        assert_refused(folder.path(), flag, &[named, "192.0.2.7"]);
    }
}
