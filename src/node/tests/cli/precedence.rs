//! Flag before environment before file before default.

use crate::support::node::{Ended, Node, ephemeral, levada, run};

#[test]
fn flag_then_environment_then_file_then_default() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("node.toml"), "# four\n\ntcp-port = 4\n").unwrap();
    let own = ("LEVADA_TCP_PORT", "2");
    let nwaku = ("WAKUNODE2_TCP_PORT", "3");
    let file = "--config-file=node.toml";
    for (args, variables, expected) in [
        (&["--tcp-port=1", file][..], &[own, nwaku][..], "tcp-port = 1  # flag --tcp-port"),
        (&[file], &[own, nwaku], "tcp-port = 2  # environment variable LEVADA_TCP_PORT"),
        (&[file], &[nwaku], "tcp-port = 3  # environment variable WAKUNODE2_TCP_PORT"),
        (&[file], &[("LEVADA_TCP_PORT", "")], "tcp-port = 4  # node.toml:3"),
        (&[], &[], "tcp-port = 60000  # default"),
    ] {
        let ended = run(levada(folder.path()).arg("--print-config").args(args).envs(variables.iter().copied()));
        let line = ended.stdout.lines().find(|line| line.starts_with("tcp-port"));
        assert_eq!(line, Some(expected), "{args:?} {variables:?} {}", ended.stderr);
    }
}

#[test]
fn the_environment_reaches_the_node() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = ephemeral(folder.path(), &["--relay=true"]);
    command.env("WAKUNODE2_REST", "false").env("LEVADA_SHARD", "3,5").env("LEVADA_RELAY", "false");
    let node = Node::start_command(&mut command);
    assert_eq!(node.after("REST"), [""; 0]);
    let relay = "relay /vac/waku/relay/2.0.0, 2 topics from /waku/2/rs/0/3 to /waku/2/rs/0/5";
    assert!(node.after("protocol ").contains(&relay), "lists are commas, and a flag wins over a variable");
}

#[test]
fn the_file_may_be_named_by_the_environment() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("node.toml"), "store = false\n").unwrap();
    let mut command = ephemeral(folder.path(), &[]);
    let node = Node::start_command(command.env("LEVADA_CONFIG_FILE", "node.toml"));
    assert_eq!(node.after("archive"), [""; 0]);
}

#[test]
fn an_unknown_variable_is_a_warning_with_a_suggestion() {
    let folder = tempfile::tempdir().unwrap();
    let ended: Ended = run(levada(folder.path()).arg("--version").env("LEVADA_TCP_PROT", "1"));
    assert_eq!(ended.code, Some(0));
    let mut command = ephemeral(folder.path(), &[]);
    let ended = Node::start_command(command.env("LEVADA_TCP_PROT", "1")).stop();
    assert_eq!(ended.code, Some(0));
    let warning = "LEVADA_TCP_PROT is unknown and ignored; did you mean LEVADA_TCP_PORT?";
    assert!(ended.stderr.contains(warning), "{}", ended.stderr);
}
