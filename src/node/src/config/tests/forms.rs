//! Every key in every form: as a flag, in the environment, in the file; and one value of each kind that is wrong.

use super::table::{PROTECTED, RECORD, TREE};
use super::*;

/// A value of this kind that changes nothing else, and one that is none.
fn samples(key: &Key) -> (String, &'static str) {
    let text = |good: &str, bad| (good.to_owned(), bad);
    match key.kind {
        Kind::Bool => text("false", "maybe"),
        Kind::Port => text("1", "70000"),
        Kind::Number { min, max } => (min.max(2).min(max).to_string(), "-1"),
        Kind::Bytes { min, .. } => (format_bytes(min), "much"),
        Kind::Seconds { .. } => text("1", "soon"),
        Kind::Auto { .. } => text("1", "none"),
        Kind::Affinity => text("0", "zero"),
        Kind::Address => text("127.0.0.1", "localhost"),
        Kind::Nat => text("none", "bogus"),
        Kind::NodeKey => (secret(), "5ec2e7"),
        Kind::Multiaddr | Kind::AnyMultiaddr | Kind::EntryNode => text("/ip4/192.0.2.1/tcp/1", "192.0.2.1:1"),
        Kind::Preset => text("status.prod", "mars"),
        Kind::ContentTopic => text("/my-app/1/chat/proto", "chat"),
        Kind::ProtectedShard => text(PROTECTED, "0:04ab"),
        Kind::DomainName => text("node.example.org", "node_1"),
        Kind::DatabaseUrl | Kind::Archive => text("memory", "levada.sqlite3"),
        Kind::RetentionPolicy => text("none", "soon"),
        Kind::Choice(words) => text(words[0], "?"),
        Kind::Path => text("a", ""),
        Kind::RateLimit => text("1/1s", "1"),
        Kind::NodeRecord => text(RECORD, "enr:x"),
        Kind::DnsTree => text(TREE, "enrtree://x"),
        Kind::Text | Kind::Secret => text("a", "\u{1}"),
        Kind::Ratio => text("60:40", "60:50"),
    }
}

/// What a key needs beside it to be taken.
fn company(key: &Key) -> &'static [&'static str] {
    if key.name == "content-topic" { &["--num-shards-in-network=8"] } else { &[] }
}

#[test]
fn every_key_is_read_from_flag_environment_and_file_alike() {
    for key in NODE.keys().filter(|key| key.name != "config-file") {
        let (good, _) = samples(key);
        let with =
            |flag: &str| [company(key), &[flag]].concat().iter().map(|flag| (*flag).to_owned()).collect::<Vec<_>>();
        let values = |flags: Vec<String>, environment: &[(&str, &str)]| {
            let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
            let loaded = load(&flags, environment).unwrap_or_else(|error| panic!("{}: {error}", key.name));
            let setting = loaded.settings.find(key.name).unwrap();
            (setting.values.clone(), setting.source.clone())
        };
        let (flag, source) = values(with(&format!("--{}={good}", key.name)), &[]);
        assert_eq!(source, Source::Flag(key.name));
        for prefix in ["LEVADA_", "WAKUNODE2_"] {
            let name = format!("{prefix}{}", key.environment_name());
            let none = company(key).iter().map(|flag| (*flag).to_owned()).collect();
            let (environment, source) = values(none, &[(&name, &good)]);
            assert_eq!((&environment, source), (&flag, Source::Environment(name)), "{}", key.name);
        }
        let (_keep, file) = file(&format!("{} = {}\n", key.name, toml::Value::String(good.clone())));
        let (file, source) = values(with(&file), &[]);
        assert!(file == flag && matches!(source, Source::File { line: 1, .. }), "{}: {source}", key.name);
        if key.repeatable && key.name != "protected-shard" {
            let twice = [with(&format!("--{}={good}", key.name)), vec![format!("--{}={good}", key.name)]].concat();
            assert_eq!(values(twice, &[]).0.len(), 2, "{}", key.name);
        }
    }
}

#[test]
fn a_wrong_value_of_any_key_is_one_sentence_that_says_what_is_expected() {
    for key in NODE.keys().filter(|key| key.name != "config-file") {
        let (_, bad) = samples(key);
        let expected = format!("is not valid; expected {}", key.kind.expected());
        let flag = faults(&[&format!("--{}={bad}", key.name)], &[]);
        assert_eq!(flag.len(), 1, "{}: {flag:?}", key.name);
        let place = format!("(flag --{}) ", key.name);
        assert!(flag[0].starts_with(key.name) && flag[0].contains(&place) && flag[0].ends_with(&expected), "{flag:?}");
        let (path, file) = load_file(&format!("\n{} = {}\n", key.name, toml::Value::String(bad.to_owned())));
        let file = file.unwrap_err().to_string();
        assert!(file.contains(&format!("({}:2) {expected}", path.display())), "{file}");
        assert_eq!(file.lines().count(), 1);
    }
}
