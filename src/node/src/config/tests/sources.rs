//! Flags, environment, file, default: each is read, and the first that speaks wins.

use super::*;

#[test]
fn a_flag_beats_the_environment_beats_the_file_beats_the_default() {
    for has_flag in [false, true] {
        for has_environment in [false, true] {
            for has_file in [false, true] {
                let (_keep, file_flag) = file("tcp-port = 3\n");
                let mut flags = vec![];
                flags.extend(has_flag.then_some("--tcp-port=1"));
                flags.extend(has_file.then_some(file_flag.as_str()));
                let environment: &[_] = if has_environment { &[("LEVADA_TCP_PORT", "2")] } else { &[] };
                let loaded = load(&flags, environment).unwrap();
                let (port, source) = match (has_flag, has_environment, has_file) {
                    (true, _, _) => (1, "flag --tcp-port"),
                    (_, true, _) => (2, "environment variable LEVADA_TCP_PORT"),
                    (_, _, true) => (3, ":1"),
                    _ => (60_000, "default"),
                };
                assert_eq!(loaded.config.tcp_port, port);
                let shown = loaded.settings.source("tcp-port").unwrap().to_string();
                assert!(shown.ends_with(source), "{shown}");
            }
        }
    }
}

#[test]
fn the_own_variable_beats_that_of_nwaku() {
    let both = [("WAKUNODE2_TCP_PORT", "2"), ("LEVADA_TCP_PORT", "1")];
    assert_eq!(load(&[], &both).unwrap().config.tcp_port, 1);
    let loaded = load(&[], &both[..1]).unwrap();
    assert_eq!(loaded.config.tcp_port, 2);
    assert_eq!(loaded.settings.source("tcp-port"), Some(&Source::Environment("WAKUNODE2_TCP_PORT".to_owned())));
}

#[test]
fn an_empty_variable_counts_as_not_set() {
    let environment = [("LEVADA_TCP_PORT", ""), ("WAKUNODE2_TCP_PORT", "7"), ("LEVADA_NODEKEY", "")];
    let loaded = load(&[], &environment).unwrap();
    assert_eq!(loaded.config.tcp_port, 7);
    assert_eq!(loaded.config.node_key, None);
}

#[test]
fn values_follow_an_equals_sign_or_a_space() {
    assert_eq!(config(&["--tcp-port=1"]).tcp_port, 1);
    assert_eq!(config(&["--tcp-port", "1"]).tcp_port, 1);
    assert_eq!(config(&["--agent-string=a=b"]).agent_string, "a=b");
    assert_eq!(config(&["--agent-string="]).agent_string, "");
    assert_eq!(config(&["--agent-string=--odd"]).agent_string, "--odd");
}

#[test]
fn bools_stand_alone_or_have_a_value() {
    assert!(config(&["--relay"]).relay);
    assert!(config(&["--relay=true"]).relay);
    assert!(!config(&["--relay=false"]).relay);
    assert!(!config(&["--relay=NO"]).relay);
    let both = config(&["--relay", "--store=false"]);
    assert!(both.relay && !both.store);
    assert!(!load(&[], &[("LEVADA_REST", "0")]).unwrap().config.rest);
}

#[test]
fn repeated_flags_make_a_list() {
    assert_eq!(config(&["--shard=3", "--shard", "1", "--shard=3"]).shards, [1, 3]);
    let nodes = ["/ip4/192.0.2.1/tcp/1", "/dns4/node.example/tcp/2"];
    let flags: Vec<String> = nodes.iter().map(|node| format!("--staticnode={node}")).collect();
    assert_eq!(config(&[&flags[0], &flags[1]]).static_nodes, nodes);
}

#[test]
fn lists_in_the_environment_are_comma_separated_or_json() {
    for text in ["1,2", " 1 , 2 ,", "[1, 2]", "[\"1\", \"2\"]"] {
        assert_eq!(load(&[], &[("LEVADA_SHARD", text)]).unwrap().config.shards, [1, 2], "{text}");
    }
}

#[test]
fn a_list_replaces_a_list_from_below() {
    let (_keep, flag) = file("shard = [1, 2]\n");
    assert_eq!(load(&[&flag, "--shard=9"], &[]).unwrap().config.shards, [9]);
    assert_eq!(load(&[&flag], &[("LEVADA_SHARD", "8")]).unwrap().config.shards, [8]);
    assert_eq!(load(&[&flag], &[]).unwrap().config.shards, [1, 2]);
}

#[test]
fn toml_takes_each_type_that_makes_sense() {
    let text = "relay = false\nstore = \"no\"\ntcp-port = 1\nrest-port = \"2\"\nwebsocket-port = 0x10\nmax-msg-size = 1024\n\
                shard = 5\nstaticnode = [\"/ip4/192.0.2.1/tcp/1\"]\ndrain-timeout = 1.5\nlog-level = \"warn\"\n";
    let config = load_file(text).1.unwrap().config;
    assert!(!config.relay && !config.store);
    assert_eq!((config.tcp_port, config.rest_port, config.websocket_port), (1, 2, 16));
    assert_eq!(config.max_msg_bytes, 1024);
    assert_eq!(config.shards, [5]);
    assert_eq!(config.static_nodes, ["/ip4/192.0.2.1/tcp/1"]);
    assert_eq!(config.drain_timeout, Duration::from_millis(1500));
    assert_eq!(config.log_level, LogLevel::Warn);
}

#[test]
fn the_environment_can_name_the_file() {
    let (file, _) = file("tcp-port = 3\n");
    let path = file.path().to_str().unwrap();
    assert_eq!(load(&[], &[("LEVADA_CONFIG_FILE", path)]).unwrap().config.tcp_port, 3);
    assert_eq!(load(&[], &[("WAKUNODE2_CONFIG_FILE", path)]).unwrap().config.tcp_port, 3);
}

#[test]
fn an_unknown_own_variable_warns_and_a_foreign_one_does_not() {
    let environment = [("LEVADA_TCP_PROT", "1"), ("LEVADA_ZZZ", "1"), ("WAKUNODE2_TCP_PROT", "1"), ("HOME", "/")];
    let warnings = load(&[], &environment).unwrap().warnings.join("\n");
    assert!(warnings.contains("LEVADA_TCP_PROT is unknown and ignored; did you mean LEVADA_TCP_PORT?"), "{warnings}");
    assert!(warnings.contains("LEVADA_ZZZ is unknown and ignored; its name"), "{warnings}");
    assert!(!warnings.contains("WAKUNODE2"), "{warnings}");
}
