//! The benchmark from node to node, with few messages: that it measures what it says, not how fast.

use std::path::Path;

use serde_json::Value;

use crate::support::node::{levada, run};

/// The rows of a run of 60 messages with `options`.
fn rows(folder: &Path, options: &[&str]) -> Vec<Value> {
    let few = ["bench", "macro", "--messages=60", "--warmup=8", "--runs=1", "--format=json"];
    let ended = run(levada(folder).args(few).args(options));
    assert_eq!(ended.code, Some(0), "{options:?}: {}", ended.stderr);
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    report.as_array().unwrap().clone()
}

fn number(row: &Value, column: &str) -> f64 {
    row[column].as_f64().unwrap_or_else(|| panic!("{column} is no number in {row}"))
}

/// What holds for every message, whoever relays it and however.
fn check(row: &Value) {
    for (column, exactly) in [
        ("rx_decodes_per_msg", 1.0),
        ("rx_hashes_per_msg", 1.0),
        ("rx_id_hashes_per_msg", 1.0),
        ("rx_archive_copies_per_msg", 1.0),
        ("tx_decodes_per_msg", 0.0),
        ("tx_hashes_per_msg", 0.0),
        ("tx_id_hashes_per_msg", 1.0),
        ("tx_copies_per_msg", 0.0),
        ("msgs", 60.0),
        ("runs", 1.0),
    ] {
        assert_eq!(number(row, column), exactly, "{column} in {row}");
    }
    for column in [
        "msg_per_s",
        "wall_ms",
        "bound_msg_per_s",
        "ratio_to_bound",
        "sha2_msg_per_s",
        "ratio_to_sha2",
        "ns_per_msg_p50",
        "interarrival_ns_p50",
        "rx_hashed_MB",
        "tx_hashed_MB",
        "rx_decoded_MB",
        "rx_copied_MB",
        "rx_allocs_per_msg",
        "tx_allocs_per_msg",
        "rx_cpu_ns_per_msg",
        "tx_cpu_ns_per_msg",
        "rss_peak_MB",
        "arena_MB",
    ] {
        assert!(number(row, column) > 0.0, "{column} in {row}");
    }
    for columns in [
        ["ns_per_msg_p50", "ns_per_msg_p99"],
        ["ns_per_msg_p99", "ns_per_msg_max"],
        ["interarrival_ns_p50", "interarrival_ns_p99"],
    ] {
        assert!(number(row, columns[0]) <= number(row, columns[1]), "{columns:?} in {row}");
    }
}

#[test]
fn every_message_arrives_whatever_transport() {
    let folder = tempfile::tempdir().unwrap();
    let rows = rows(folder.path(), &["--transport=stock", "--transport=levada"]);
    let names: Vec<_> = rows.iter().map(|row| &row["transport"]).collect();
    assert_eq!(names, ["stock", "levada"]);
    for row in &rows {
        check(row);
        assert_eq!(row["work"], rows[0]["work"], "all configurations do the same work");
        assert_eq!(number(row, "rx_copies_per_msg"), 0.0, "the router reads into the slot: {row}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is created");
}

#[test]
fn messages_cross_a_relay_to_several_peers_in_processes_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let rows = rows(folder.path(), &["--hops=2", "--peers=2", "--processes=2", "--window=4"]);
    assert_eq!(rows.len(), 1);
    check(&rows[0]);
    assert!(number(&rows[0], "relay_cpu_ns_per_msg") > 0.0, "{}", rows[0]);
    let settings = ["hops", "peers", "processes", "window"].map(|column| number(&rows[0], column));
    assert_eq!(settings, [2.0, 2.0, 2.0, 4.0]);
    assert_eq!(number(&rows[0], "relay_wakes_per_msg"), 0.0, "a node is one thread");
}

#[test]
fn connections_on_threads_of_their_own_wake_and_are_woken() {
    let folder = tempfile::tempdir().unwrap();
    let flags = ["--hops=2", "--processes=2", "--net-workers=2", "--transport=levada"];
    let rows = rows(folder.path(), &flags);
    check(&rows[0]);
    for column in ["rx_wakes_per_msg", "tx_wakes_per_msg", "relay_wakes_per_msg"] {
        assert!(number(&rows[0], column) > 0.0, "{column} in {}", rows[0]);
    }
}

#[test]
fn a_node_of_a_benchmark_does_not_run_alone() {
    let folder = tempfile::tempdir().unwrap();
    let ended = run(levada(folder.path()).args(["bench", "macro-node"]));
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("no benchmark has started this process"), "{}", ended.stderr);
}
