//! A wrong value of each key, by flag, environment and file: one sentence with the key, the value, the place and what is expected.

use super::*;

/// A text that is no value of this kind.
fn wrong(kind: Kind) -> &'static str {
    match kind {
        Kind::Bool => "maybe",
        Kind::Port => "65536",
        Kind::Number { .. } => "many",
        Kind::Bytes { .. } => "large",
        Kind::Seconds { .. } => "soon",
        Kind::Auto { .. } => "0",
        Kind::Affinity => "3-1",
        Kind::Address => "localhost",
        Kind::Nat => "extip:node.example.org",
        Kind::NodeKey => "5ec2e7",
        Kind::Multiaddr | Kind::AnyMultiaddr => "192.0.2.1:60000",
        Kind::EntryNode => "node.example.org",
        Kind::Preset => "mars",
        Kind::ContentTopic => "chat",
        Kind::ProtectedShard => "0:04ab",
        Kind::DomainName => "http://node",
        Kind::DatabaseUrl => "postgres://db:port/x",
        Kind::Ratio => "60:60",
        Kind::RetentionPolicy => "time:soon",
        Kind::Archive => "nothing",
        Kind::Choice(_) => "no such word",
        Kind::RateLimit => "relay:1/1s",
        Kind::NodeRecord => "enr:x",
        Kind::DnsTree => "enrtree://x",
        Kind::Path | Kind::Text | Kind::Secret => "5ec2e7\u{1}",
    }
}

/// Asserts that `faults` are one sentence of that form.
fn assert_tells(key: &Key, place: &str, faults: &[String]) {
    let [fault] = faults else { panic!("{} {place}: {faults:?}", key.name) };
    let (value, expected) = (wrong(key.kind), key.kind.expected());
    assert!(fault.starts_with(&format!("{}: ", key.name)), "{fault}");
    assert!(fault.ends_with(&format!(" ({place}) is not valid; expected {expected}")), "{fault}");
    assert!(!fault.chars().any(char::is_control), "{fault:?}");
    if key.kind.is_secret() {
        assert!(!fault.contains("5ec2e7"), "{fault}");
    } else {
        assert!(fault.contains(&value.escape_debug().to_string()), "{fault}");
    }
}

#[test]
fn a_wrong_value_is_told_whatever_the_key_and_the_source() {
    for key in NODE.keys() {
        let (name, value) = (key.name, wrong(key.kind));
        assert!(key.kind.parse(value).is_none(), "{value} is a value of {name}");
        assert_tells(key, &format!("flag --{name}"), &faults(&[&format!("--{name}={value}")], &[]));
        for prefix in ["LEVADA", "WAKUNODE2"] {
            let variable = format!("{prefix}_{}", name.replace('-', "_").to_uppercase());
            assert_tells(key, &format!("environment variable {variable}"), &faults(&[], &[(&variable, value)]));
        }
        if name == "config-file" {
            continue;
        }
        let quoted = format!("\"{}\"", value.replace('\u{1}', "\\u0001"));
        let given = if key.repeatable { format!("[{quoted}]") } else { quoted };
        let (path, result) = load_file(&format!("\n{name} = {given}\n"));
        let faults: Vec<String> = result.unwrap_err().0.iter().map(ToString::to_string).collect();
        assert_tells(key, &format!("{}:2", path.display()), &faults);
    }
}

#[test]
fn a_key_given_twice_or_without_its_value_is_told() {
    for key in NODE.keys().filter(|key| !key.repeatable) {
        let flag = format!("--{}={}", key.name, key.default.unwrap_or("1"));
        let twice = faults(&[&flag, &flag], &[]);
        assert!(
            twice.iter().any(|fault| fault.contains(&format!("--{} is given more than once", key.name))),
            "{twice:?}"
        );
    }
    for key in NODE.keys().filter(|key| key.kind != Kind::Bool) {
        let bare = faults(&[&format!("--{}", key.name)], &[]);
        assert!(bare[0].contains(&format!("--{} needs a value", key.name)), "{bare:?}");
    }
}
