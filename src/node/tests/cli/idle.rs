//! What a node without work costs.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use crate::support::node::Node;

/// Clock ticks per second in `/proc`, the same on every Linux.
const TICKS_PER_SECOND: f64 = 100.0;

/// The share of one core that an idle node may take; it takes a tenth of that.
const IDLE_SHARE_MAX: f64 = 0.05;

#[test]
fn an_idle_node_takes_next_to_no_processor_time() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &[]);
    let mut share = f64::INFINITY;
    for _ in 0..3 {
        let (before, started) = (cpu_seconds(node.pid()), Instant::now());
        // The time over which is measured.
        thread::sleep(Duration::from_secs(2));
        share = share.min((cpu_seconds(node.pid()) - before) / started.elapsed().as_secs_f64());
    }
    println!("idle: {:.1} % of a core", share * 100.0);
    assert!(share < IDLE_SHARE_MAX, "{:.1} % of a core", share * 100.0);
}

/// User and system time of a process (proc(5), fields 14 and 15 of stat).
fn cpu_seconds(pid: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat[stat.rfind(')').unwrap()..].split(' ').collect();
    let ticks: f64 = fields[12..14].iter().map(|ticks| ticks.parse::<f64>().unwrap()).sum();
    ticks / TICKS_PER_SECOND
}
