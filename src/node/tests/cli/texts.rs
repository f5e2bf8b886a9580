//! Calls that print something and end.

use crate::support::node::{ephemeral, levada, run};

#[test]
fn help_and_version_go_to_standard_output_with_success() {
    let folder = tempfile::tempdir().unwrap();
    let version = concat!("levada ", env!("CARGO_PKG_VERSION"), "\n");
    for (args, beginning) in [
        (&["--version"][..], version),
        (&["-V"], version),
        (&["version"], version),
        (&["--help"], "Levada, a Waku service node"),
        (&["help"], "Levada, a Waku service node"),
        (&["run", "--help"], "Runs the node until Ctrl-C or SIGTERM"),
        (&["help", "run"], "Runs the node until Ctrl-C or SIGTERM"),
        (&["bench", "micro", "--help"], "Measures the message path"),
        (&["bench", "macro", "--help"], "Measures messages from one node"),
        (&["--print-config"], "# The resolved configuration"),
        (&["run", "--print-default-config"], "#"),
    ] {
        let ended = run(levada(folder.path()).args(args));
        assert_eq!(ended.code, Some(0), "{args:?}: {}", ended.stderr);
        assert!(ended.stdout.starts_with(beginning), "{args:?}: {}", ended.stdout);
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is created");
}

#[test]
fn a_printed_configuration_starts_the_same_node() {
    let folder = tempfile::tempdir().unwrap();
    let flags = ["--cluster-id=16", "--shard=3", "--shard=5", "--max-msg-size=64KiB", "--print-config"];
    let first = run(&mut ephemeral(folder.path(), &flags));
    std::fs::write(folder.path().join("node.toml"), &first.stdout).unwrap();
    let second = run(levada(folder.path()).args(["--config-file=node.toml", "--print-config"]));
    assert_eq!(second.code, Some(0), "{}", second.stderr);
    assert_eq!(values(&second.stdout), values(&first.stdout));
    assert!(values(&first.stdout).contains(&"shard = [3, 5]"), "{}", first.stdout);
}

/// The settings, without the comment that says where each came from.
fn values(printed: &str) -> Vec<&str> {
    let settings = printed.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    settings.map(|line| line.split("  # ").next().unwrap()).collect()
}

#[test]
fn the_documented_default_configuration_is_the_default() {
    let folder = tempfile::tempdir().unwrap();
    let documented = run(levada(folder.path()).arg("--print-default-config"));
    std::fs::write(folder.path().join("default.toml"), &documented.stdout).unwrap();
    let read_back = run(levada(folder.path()).args(["--config-file=default.toml", "--print-config"]));
    assert_eq!(read_back.code, Some(0), "{}", read_back.stderr);
    let plain = run(levada(folder.path()).arg("--print-config"));
    assert_eq!(values(&read_back.stdout), values(&plain.stdout));
}

#[test]
fn a_printed_configuration_hides_the_node_key() {
    let folder = tempfile::tempdir().unwrap();
    let key = "0f".repeat(32);
    let ended = run(levada(folder.path()).arg("--print-config").env("LEVADA_NODEKEY", &key));
    assert!(ended.stdout.contains("# nodekey is set but not shown"), "{}", ended.stdout);
    assert!(!ended.stdout.contains(&key) && !ended.stderr.contains(&key));
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = levada(folder.path()).args(["run", "--help"]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
