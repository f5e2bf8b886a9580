//! Commands, help texts and benchmark options.

use std::path::PathBuf;
use std::time::Duration;

use super::*;
use crate::config::{NODE, Transport};

fn parsed(args: &[&str]) -> Result<Command, CliError> {
    parse(args.iter().map(OsString::from))
}

fn fault(args: &[&str]) -> String {
    parsed(args).unwrap_err().to_string()
}

fn run_with(args: &[&str]) -> Command {
    Command::Run(args.iter().map(OsString::from).collect())
}

fn bench_options(args: &[&str]) -> BenchOptions {
    match parsed(&[&["bench", "micro"], args].concat()).unwrap() {
        Command::BenchMicro(options) => options,
        other => panic!("{other:?} is not a benchmark"),
    }
}

fn hash_bench_options(args: &[&str]) -> HashBenchOptions {
    match parsed(&[&["bench", "hash"], args].concat()).unwrap() {
        Command::BenchHash(options) => options,
        other => panic!("{other:?} is not the benchmark of the hash stage"),
    }
}

fn help(args: &[&str]) -> String {
    match parsed(args).unwrap() {
        Command::Help(text) => text,
        other => panic!("{other:?} is not help"),
    }
}

#[test]
fn no_command_means_run() {
    assert_eq!(parsed(&[]).unwrap(), run_with(&[]));
    assert_eq!(parsed(&["--relay=true", "--shard", "1"]).unwrap(), run_with(&["--relay=true", "--shard", "1"]));
    assert_eq!(parsed(&["run"]).unwrap(), run_with(&[]));
    assert_eq!(parsed(&["run", "--relay"]).unwrap(), run_with(&["--relay"]));
}

#[test]
fn configurations_are_printed_on_request() {
    let printed = Command::PrintConfig(vec!["--relay".into(), "--store".into()]);
    assert_eq!(parsed(&["--relay", "--print-config", "--store"]).unwrap(), printed);
    assert_eq!(parsed(&["run", "--print-default-config", "--relay"]).unwrap(), Command::PrintDefaultConfig);
}

#[test]
fn version_and_help_have_every_usual_form() {
    for args in [&["--version"][..], &["-V"], &["version"], &["run", "--version"]] {
        assert_eq!(parsed(args).unwrap(), Command::Version, "{args:?}");
    }
    assert!(VERSION.starts_with("levada "));
    assert_eq!(help(&["--help"]), help(&["help"]));
    assert_eq!(help(&["-h"]), help(&["help", "help"]));
    assert_eq!(help(&["run", "--help"]), help(&["help", "run"]));
    assert_eq!(help(&["--relay", "--help"]), help(&["run", "-h"]));
    assert_eq!(help(&["bench", "--help"]), help(&["help", "bench"]));
    assert_eq!(help(&["bench", "micro", "--runs=1", "-h"]), help(&["help", "bench", "micro"]));
    assert_eq!(help(&["bench", "hash", "--help"]), help(&["help", "bench", "hash"]));
    assert_eq!(help(&["bench", "macro", "--help"]), help(&["help", "bench", "macro"]));
}

#[test]
fn an_unknown_command_suggests_the_nearest() {
    assert_eq!(fault(&["rum"]), "unknown command \"rum\"; did you mean levada run?");
    assert_eq!(fault(&["bnech", "micro"]), "unknown command \"bnech\"; did you mean levada bench?");
    assert_eq!(fault(&["bench", "mirco"]), "unknown command \"mirco\"; did you mean levada bench micro?");
    assert_eq!(fault(&["xyz"]), "unknown command \"xyz\"; levada --help lists all");
    assert_eq!(fault(&["help", "benhc"]), "unknown command \"benhc\"; did you mean levada bench?");
    assert_eq!(fault(&["bench", "hahs"]), "unknown command \"hahs\"; did you mean levada bench hash?");
    assert_eq!(fault(&["bench", "--runs=1"]), "unknown command \"--runs=1\"; levada bench --help lists all");
    assert_eq!(
        fault(&["bench"]),
        "levada bench needs the name of a benchmark: levada bench micro, levada bench macro, levada bench hash or levada bench chunk"
    );
    assert_eq!(fault(&["version", "x"]), "unexpected argument \"x\" after levada version; leave it out");
    assert_eq!(fault(&["help", "run", "x"]), "unexpected argument \"x\" after levada help; leave it out");
    assert_eq!(parsed(&["xyz"]).unwrap_err().exit_code(), 64);
}

#[test]
fn a_misplaced_secret_is_not_repeated() {
    let secret = "5ec2e7".repeat(10) + "5ec2";
    assert!(!fault(&[&secret]).contains(&secret));
    assert!(!fault(&["version", &secret]).contains(&secret));
    assert!(!format!("{:?}", parsed(&["--nodekey", &secret]).unwrap()).contains("5ec2e7"));
}

#[test]
fn help_lists_every_key_in_lines_that_fit() {
    let text = help(&["run", "--help"]);
    for key in NODE.keys() {
        let flag = format!("--{}", key.name);
        let is_listed = text
            .match_indices(&flag)
            .any(|(at, _)| !text[at + flag.len()..].starts_with(|c: char| c == '-' || c.is_ascii_alphanumeric()));
        assert!(is_listed, "{flag} is not in the help");
    }
    for flag in ["--print-config", "--print-default-config", "Network:", "Engine:", "[default: 60000]"] {
        assert!(text.contains(flag), "{flag}");
    }
    for of_bench in [&["help", "bench", "micro"][..], &["help", "bench", "hash"]] {
        let text = help(of_bench);
        assert!(text.contains("--runs") && text.contains("sha2"), "{of_bench:?}");
        assert_eq!(text.contains("--digests"), of_bench.contains(&"micro"), "{of_bench:?}");
    }
    let benches = ["micro", "macro", "hash"].map(|bench| help(&["help", "bench", bench]));
    assert!(benches[1].contains("--transport") && benches[1].contains("--hops"), "{}", benches[1]);
    let of_bench = [help(&["help", "bench"])].into_iter().chain(benches);
    for text in [text, help(&["help"])].into_iter().chain(of_bench) {
        for line in text.lines() {
            assert!(line.chars().count() <= help::COLUMNS_MAX, "too long: {line}");
        }
        assert!(!text.contains('\u{1b}'));
    }
}

#[test]
fn bench_defaults_are_those_of_the_reference_workload() {
    let expected = BenchOptions {
        messages: 1_000,
        warmup: 100,
        seed: 42,
        window: 128,
        workers: vec![1],
        placement: BenchPlacement::PerCore,
        digests: 1,
        rate_msg_per_s: None,
        hashes: vec![BenchHash::Multi],
        archives: vec![BenchArchive::None, BenchArchive::Memory, BenchArchive::Url("sqlite://:memory:".to_owned())],
        runs: 5,
        min_duration: Duration::from_secs(2),
        heap_series: None,
        format: BenchFormat::Table,
        out: None,
    };
    assert_eq!(bench_options(&[]), expected);
    assert_eq!(BenchOptions::default(), expected);
}

#[test]
fn every_bench_option_reaches_its_field() {
    let options = bench_options(&[
        "--messages=10",
        "--warmup",
        "0",
        "--seed=18446744073709551615",
        "--window=1",
        "--workers=2",
        "--workers=1",
        "--placement=dedicated",
        "--hash=sha2",
        "--hash",
        "MULTI",
        "--digests=2",
        "--rate=8000",
        "--archive=none",
        "--archive",
        "sqlite://a.sqlite3",
        "--runs=1",
        "--min-seconds=0.25",
        "--heap-series=heap.csv",
        "--format=JSON",
        "--out=results",
    ]);
    let expected = BenchOptions {
        messages: 10,
        warmup: 0,
        seed: u64::MAX,
        window: 1,
        workers: vec![2, 1],
        placement: BenchPlacement::Dedicated,
        digests: 2,
        rate_msg_per_s: Some(8_000),
        hashes: vec![BenchHash::Sha2, BenchHash::Multi],
        archives: vec![BenchArchive::None, BenchArchive::Url("sqlite://a.sqlite3".to_owned())],
        runs: 1,
        min_duration: Duration::from_millis(250),
        heap_series: Some(PathBuf::from("heap.csv")),
        format: BenchFormat::Json,
        out: Some(PathBuf::from("results")),
    };
    assert_eq!(options, expected);
    let names: Vec<String> = expected.archives.iter().map(ToString::to_string).collect();
    assert_eq!(names, ["none", "sqlite://a.sqlite3"]);
}

#[test]
fn wrong_bench_options_are_all_reported() {
    let args =
        ["bench", "micro", "--messages=0", "--window=0", "--runs=0", "--workers=0", "--archive=tape", "--sed=1", "x"];
    let text = fault(&args);
    assert_eq!(text.lines().count(), 7, "{text}");
    assert!(text.contains("unknown flag --sed; did you mean --seed?"), "{text}");
    assert!(text.contains("messages: \"0\" (flag --messages) is not valid; expected a whole number from 1 to 100000"));
    for option in [
        "--placement=invoker",
        "--hash=md5",
        "--digests=0",
        "--digests=3",
        "--rate=0",
        "--messages=100001",
        "--min-seconds=3601",
        "--format=xml",
        "--out=",
        "--seed=-1",
    ] {
        assert!(fault(&["bench", "micro", option]).contains("is not valid"), "{option}");
    }
}

#[test]
fn the_options_of_the_hash_bench_reach_their_fields() {
    let defaults = HashBenchOptions { messages: 512, seed: 42, runs: 21, format: BenchFormat::Table };
    assert_eq!(hash_bench_options(&[]), defaults);
    let expected = HashBenchOptions { messages: 64, seed: 7, runs: 3, format: BenchFormat::Json };
    assert_eq!(hash_bench_options(&["--messages=64", "--seed=7", "--runs=3", "--format=json"]), expected);
    for option in ["--messages=63", "--runs=0", "--format=xml", "--backlog=1"] {
        let text = fault(&["bench", "hash", option]);
        assert!(text.contains("is not valid") || text.contains("unknown flag --backlog"), "{text}");
    }
}

#[test]
fn the_options_of_the_macro_bench_reach_their_fields() {
    let defaults = MacroBenchOptions {
        messages: 1_000,
        warmup: 2_500,
        seed: 42,
        window: 32,
        peers: 1,
        hops: 1,
        processes: 1,
        net_workers: 0,
        transports: vec![Transport::Levada],
        runs: 5,
        format: BenchFormat::Table,
    };
    assert_eq!(parsed(&["bench", "macro"]).unwrap(), Command::BenchMacro(defaults));
    let expected = MacroBenchOptions {
        messages: 7,
        warmup: 0,
        seed: 1,
        window: 48,
        peers: 8,
        hops: 2,
        processes: 2,
        net_workers: 3,
        transports: vec![Transport::Stock],
        runs: 3,
        format: BenchFormat::Csv,
    };
    let given = "--messages=7 --warmup=0 --seed=1 --window=48 --peers=8 --hops=2 --processes=2 --net-workers=3 \
                 --transport=stock --runs=3 --format=csv";
    let args: Vec<&str> = ["bench", "macro"].into_iter().chain(given.split(' ')).collect();
    assert_eq!(parsed(&args).unwrap(), Command::BenchMacro(expected));
    assert_eq!(parsed(&["bench", "macro-node"]).unwrap(), Command::BenchMacroNode);
}

#[test]
fn wrong_options_of_the_macro_bench_are_refused() {
    for option in [
        "--messages=0",
        "--window=0",
        "--window=49",
        "--peers=0",
        "--peers=9",
        "--hops=3",
        "--processes=3",
        "--transport=quic",
        "--runs=0",
        "--format=xml",
    ] {
        assert!(fault(&["bench", "macro", option]).contains("is not valid"), "{option}");
    }
    assert!(fault(&["bench", "macro", "--archive=memory"]).contains("unknown flag --archive"));
    assert!(fault(&["bench", "macro-node", "--peers=1"]).contains("unknown command"));
}
