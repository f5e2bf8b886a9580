//! `kill -9` at random moments.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use crate::storm::Storm;
use crate::support::node::Node;
use crate::support::random::Random;
use crate::support::store;

/// Kills by default, and when `LEVADA_DEEP=1` asks for the long run.
const KILLS: usize = 20;
const KILLS_DEEP: usize = 200;

/// Most acknowledgements before a kill.
const ACKNOWLEDGED_MAX: u64 = 60;

/// A kill falls anywhere in this time after an acknowledgement. A few transactions fit into it, so every moment of one is hit.
const KILL_DELAY_MAX: Duration = Duration::from_millis(8);

#[test]
fn what_was_acknowledged_before_a_kill_is_found_once_after_it() {
    let deep = std::env::var_os("LEVADA_DEEP").is_some_and(|deep| deep == "1");
    let kills = if deep { KILLS_DEEP } else { KILLS };
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random::from_environment();
    let (mut acknowledged, mut sent) = (Vec::new(), HashSet::new());
    let flags = ["--workers=2", "--store-message-db-url=sqlite://levada.sqlite3"];
    let mut node = Node::start(folder.path(), &flags);
    for kill in 0..kills {
        let mut storm = Storm::start(node.rest(), &mut random);
        storm.await_acknowledged(1 + random.below(ACKNOWLEDGED_MAX) as usize);
        // Waits for nothing: it spreads the kills over the phases of a transaction.
        thread::sleep(random.duration(KILL_DELAY_MAX));
        node.kill();
        let aftermath = storm.end();

        node = Node::start(folder.path(), &flags);
        let found = store::by_hashes(node.rest(), &aftermath.acknowledged);
        let times = |hash: &&String| found.iter().filter(|found| found == hash).count();
        let wrong: Vec<_> = aftermath.acknowledged.iter().filter(|hash| times(hash) != 1).collect();
        let count = aftermath.acknowledged.len();
        assert!(wrong.is_empty(), "kill {kill}: of {count} acknowledged messages, not found once by hash: {wrong:?}");
        acknowledged.extend(aftermath.acknowledged);
        sent.extend(aftermath.sent);
    }
    let found = check_whole_archive(node.rest(), &acknowledged, &sent);
    println!("kills {kills}, sent {}, acknowledged {}, found {found}", sent.len(), acknowledged.len());
    assert!(acknowledged.len() >= kills, "every storm has at least one acknowledgement");
}

/// Reads all there is: each acknowledged message once, and nothing that nobody sent. Gives the number of messages.
fn check_whole_archive(rest: SocketAddr, acknowledged: &[String], sent: &HashSet<String>) -> usize {
    let found: HashMap<String, usize> = store::all_hashes(rest);
    for hash in acknowledged {
        assert_eq!(found.get(hash), Some(&1), "{hash} was acknowledged");
    }
    for (hash, times) in &found {
        assert!(sent.contains(hash), "{hash} was never sent");
        assert_eq!(*times, 1, "{hash} is there more than once");
    }
    found.len()
}
