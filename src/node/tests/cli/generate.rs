//! What `levada generate` and `levada check` print.

use std::collections::BTreeSet;
use std::path::Path;

use crate::support::http::Client;
use crate::support::node::{Node, ephemeral, levada, run};

fn generated(folder: &Path, arguments: &[&str]) -> String {
    let ended = run(levada(folder).arg("generate").args(arguments));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    ended.stdout
}

/// Names of metrics in a query: words with one of our prefixes.
fn metrics_in(query: &str) -> impl Iterator<Item = &str> {
    query
        .split(|character: char| !character.is_ascii_alphanumeric() && character != '_')
        .filter(|word| ["waku_", "levada_", "libp2p_", "process_"].iter().any(|prefix| word.starts_with(prefix)))
}

#[test]
fn every_metric_of_the_dashboard_exists() {
    let folder = tempfile::tempdir().unwrap();
    let dashboard: serde_json::Value = serde_json::from_str(&generated(folder.path(), &["dashboard"])).unwrap();
    let node = Node::start(folder.path(), &[]);
    let scrape = Client::new(node.metrics()).get("/metrics");
    let scrape = scrape.text();
    let offered: BTreeSet<&str> =
        scrape.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
    let panels = dashboard["panels"].as_array().unwrap();
    let queries = panels.iter().flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    let queries: Vec<&str> = queries.map(|target| target["expr"].as_str().unwrap()).collect();
    assert!(queries.len() > 20);
    for query in queries {
        let mut names = metrics_in(query).peekable();
        assert!(names.peek().is_some(), "{query} names no metric");
        for name in names {
            let name = name.strip_suffix("_bucket").unwrap_or(name);
            assert!(offered.contains(name), "{name} in {query} is not offered");
        }
    }
}

/// What is deployed is what this version generates.
#[test]
fn the_deployed_dashboard_is_up_to_date() {
    let folder = tempfile::tempdir().unwrap();
    let deployed = include_str!("../../../../tools/deploy/grafana/levada.json");
    assert_eq!(
        generated(folder.path(), &["dashboard"]),
        deployed,
        "levada generate dashboard > tools/deploy/grafana/levada.json"
    );
}

#[test]
fn completions_know_every_command_and_flag() {
    let folder = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        let script = generated(folder.path(), &["completions", shell]);
        for word in [
            "check",
            "keys",
            "peers",
            "query",
            "publish",
            "subscribe",
            "generate",
            "archive",
            "cluster-id",
            "discv5-bootstrap-node",
            "store-message-retention-policy",
        ] {
            assert!(script.contains(word), "no {word} for {shell}");
        }
    }
    let unknown = run(levada(folder.path()).args(["generate", "completions", "tcsh"]));
    assert_eq!(unknown.code, Some(64));
    assert!(unknown.stderr.contains("tcsh") && unknown.stderr.contains("bash"), "{}", unknown.stderr);
}

#[test]
fn there_is_a_manual_page_for_each_command() {
    let folder = tempfile::tempdir().unwrap();
    let said = generated(folder.path(), &["man", "pages"]);
    assert!(said.contains("pages"), "{said}");
    for page in ["levada-keys", "levada-peers", "levada-query", "levada-publish", "levada-subscribe"] {
        assert!(folder.path().join(format!("pages/{page}.1")).exists(), "{page}");
    }
    for page in ["levada", "levada-run", "levada-check", "levada-archive", "levada-chunk-put", "levada-bench-micro"] {
        let text = std::fs::read_to_string(folder.path().join(format!("pages/{page}.1"))).unwrap();
        assert!(text.contains(".SH NAME"), "{page}");
    }
    let run_page = std::fs::read_to_string(folder.path().join("pages/levada-run.1")).unwrap();
    assert!(run_page.contains("cluster\\-id"), "flags are in the page of run");
}

#[test]
fn check_prints_every_value_with_its_source_and_starts_nothing() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("node.toml"), "cluster-id = 16\nshard = [3]\n").unwrap();
    let mut command = levada(folder.path());
    let ended = run(command.args(["check", "--config-file=node.toml", "--rest-port=1"]).env("LEVADA_TCP_PORT", "2"));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    for line in ["cluster-id = 16", "shard = [3]", "tcp-port = 2", "rest-port = 1", "discv5-udp-port = 9000"] {
        assert!(ended.stdout.contains(line), "{line} in {}", ended.stdout);
    }
    for source in ["node.toml", "LEVADA_TCP_PORT", "--rest-port"] {
        assert!(ended.stdout.contains(source), "{source} in {}", ended.stdout);
    }
    assert!(!folder.path().join("levada.sqlite3").exists(), "nothing is started");
    let wrong = run(ephemeral(folder.path(), &[]).args(["check"]));
    assert_ne!(wrong.code, Some(0), "check is a command, not an argument of run");
    let faults = run(levada(folder.path()).args(["check", "--tcp-port=x", "--shard=9999"]));
    assert_eq!((faults.code, faults.stdout.as_str()), (Some(64), ""));
    assert!(faults.stderr.contains("tcp-port") && faults.stderr.contains("shard"), "{}", faults.stderr);
}
