//! The addresses that a node announces: by REST, in its record, and by identify to whoever connects.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use crate::support::http::Client;
use crate::support::node::{Node, levada, run};
use crate::support::port;

/// A set of flags, and the addresses that are announced for it beside those listened on; TCP and WS stand for the ports.
struct Case {
    flags: &'static [&'static str],
    announced: &'static [&'static str],
    /// Whether those listened on are announced too.
    and_listened: bool,
}

const CASES: &[Case] = &[
    Case { flags: &["--nat=any"], announced: &[], and_listened: true },
    Case {
        flags: &["--nat=extip:192.0.2.7"],
        announced: &["/ip4/192.0.2.7/tcp/TCP", "/ip4/192.0.2.7/tcp/WS/ws"],
        and_listened: true,
    },
    Case {
        flags: &["--nat=extip:2001:db8::7"],
        announced: &["/ip6/2001:db8::7/tcp/TCP", "/ip6/2001:db8::7/tcp/WS/ws"],
        and_listened: true,
    },
    Case {
        flags: &["--dns4-domain-name=node.example.org", "--nat=extip:192.0.2.7"],
        announced: &["/dns4/node.example.org/tcp/TCP", "/dns4/node.example.org/tcp/WS/ws"],
        and_listened: true,
    },
    Case {
        flags: &["--ext-multiaddr=/ip4/192.0.2.8/tcp/30303", "--ext-multiaddr=/dns4/proxy.example.org/tcp/443/wss"],
        announced: &["/ip4/192.0.2.8/tcp/30303", "/dns4/proxy.example.org/tcp/443/wss"],
        and_listened: true,
    },
    Case {
        flags: &["--nat=extip:192.0.2.7", "--ext-multiaddr=/ip4/192.0.2.8/tcp/30303"],
        announced: &["/ip4/192.0.2.7/tcp/TCP", "/ip4/192.0.2.7/tcp/WS/ws", "/ip4/192.0.2.8/tcp/30303"],
        and_listened: true,
    },
    Case {
        flags: &["--nat=extip:192.0.2.7", "--ext-multiaddr=/ip4/192.0.2.8/tcp/30303", "--ext-multiaddr-only=true"],
        announced: &["/ip4/192.0.2.8/tcp/30303"],
        and_listened: false,
    },
];

/// An address without the peer id that it ends in.
fn bare(address: &str) -> String {
    address.split("/p2p/").next().unwrap().to_owned()
}

/// What identify tells a client that connects.
fn identified(folder: &Path, node: &Node) -> BTreeSet<String> {
    let to = format!("--to={}", node.after("listening on ")[0]);
    let ended = run(levada(folder).args(["peers", &to, "--format=json"]));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let said: Value = serde_json::from_str(&ended.stdout).unwrap();
    said["addresses"].as_array().unwrap().iter().map(|address| bare(address.as_str().unwrap())).collect()
}

/// The addresses in the node's record, from its endpoint and from its list.
fn recorded(record: &str) -> BTreeSet<String> {
    let record: levada_discovery::Record = record.parse().unwrap();
    record.dialable().unwrap().iter().map(|address| bare(&address.to_string())).collect()
}

#[test]
fn rest_the_record_and_identify_tell_the_announced_addresses() {
    for Case { flags, announced, and_listened } in CASES {
        let folder = tempfile::tempdir().unwrap();
        let (tcp, websocket) = (port::free(), port::free());
        let ports = [format!("--tcp-port={tcp}"), format!("--websocket-port={websocket}")];
        let all: Vec<&str> = ports.iter().map(String::as_str).chain(flags.iter().copied()).collect();
        let node = Node::start(folder.path(), &all);
        let placed = |address: &&str| address.replace("TCP", &tcp.to_string()).replace("WS", &websocket.to_string());
        let announced: BTreeSet<String> = announced.iter().map(placed).collect();
        let listened: BTreeSet<String> = node.after("listening on ").into_iter().map(bare).collect();
        let expected: BTreeSet<String> =
            announced.iter().chain(listened.iter().filter(|_| *and_listened)).cloned().collect();

        let info = Client::new(node.rest()).get("/info").json();
        let told = info["listenAddresses"].as_array().unwrap().iter().map(|address| address.as_str().unwrap());
        let told: Vec<&str> = told.collect();
        assert!(told.iter().all(|address| address.ends_with(&format!("/p2p/{}", node.peer_id()))), "{told:?}");
        assert_eq!(told.iter().map(|address| bare(address)).collect::<BTreeSet<_>>(), expected, "{flags:?}");
        if let Some(first) = told.first().filter(|_| !announced.is_empty()) {
            assert!(announced.contains(&bare(first)), "those from outside come first: {told:?}");
        }
        let record = recorded(info["enrUri"].as_str().unwrap());
        assert!(announced.is_subset(&record), "{flags:?}: {record:?} lacks some of {announced:?}");
        if !and_listened {
            assert!(record.is_disjoint(&listened), "{flags:?}: {record:?} tells what is listened on");
        }
        let identified = identified(folder.path(), &node);
        assert!(announced.is_subset(&identified), "{flags:?}: {identified:?} lacks some of {announced:?}");
        if !and_listened {
            // The client adds the address that it has dialled itself.
            let dialled = BTreeSet::from([bare(node.after("listening on ")[0])]);
            let beyond: Vec<_> =
                identified.difference(&dialled).filter(|address| listened.contains(*address)).collect();
            assert!(beyond.is_empty(), "{flags:?}: identify tells {beyond:?}");
        }
    }
}
