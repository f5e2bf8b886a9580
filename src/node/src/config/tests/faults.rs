//! Each way to be wrong is one sentence with the place, and all of them come together.

use std::os::unix::ffi::OsStringExt;

use super::*;

#[test]
fn an_unknown_flag_suggests_the_nearest() {
    assert_eq!(faults(&["--tcp-prot=1"], &[]), ["unknown flag --tcp-prot; did you mean --tcp-port?"]);
    assert_eq!(faults(&["--pubsub-topic=x"], &[]), ["unknown flag --pubsub-topic; did you mean --shard?"]);
    assert_eq!(faults(&["--zzz"], &[]), ["unknown flag --zzz; --help lists all"]);
}

#[test]
fn the_value_of_an_unknown_flag_is_not_a_second_fault() {
    assert_eq!(faults(&["--tcp-prot", "1"], &[]).len(), 1);
}

#[test]
fn an_unknown_file_key_names_file_line_and_key() {
    let (path, result) = load_file("# comment\n\nrelay = true\ntcp_port = 1\n");
    let expected = format!("{}:4: unknown key tcp_port; did you mean tcp-port?", path.display());
    assert_eq!(result.unwrap_err().to_string(), expected);
}

#[test]
fn a_wrong_value_names_key_value_source_and_expectation() {
    let expected = "expected a port from 0 to 65535 (0 takes any free one)";
    assert_eq!(
        faults(&["--tcp-port=70000"], &[]),
        [format!("tcp-port: \"70000\" (flag --tcp-port) is not valid; {expected}")]
    );
    assert_eq!(
        faults(&[], &[("WAKUNODE2_TCP_PORT", "x")]),
        [format!("tcp-port: \"x\" (environment variable WAKUNODE2_TCP_PORT) is not valid; {expected}")]
    );
    let (path, result) = load_file("relay = true\ntcp-port = -1\n");
    let place = format!("{}:2", path.display());
    assert_eq!(result.unwrap_err().to_string(), format!("tcp-port: \"-1\" ({place}) is not valid; {expected}"));
}

#[test]
fn each_kind_of_value_has_its_limits() {
    for flag in [
        "--cluster-id=65536",
        "--shard=1024",
        "--num-shards-in-network=1025",
        "--nat=bogus",
        "--nat=extip:node.example",
        "--listen-address=localhost",
        "--staticnode=192.0.2.1:60000",
        "--max-msg-size=5MiB",
        "--max-msg-size=1023B",
        "--store-message-db-url=postgres://db:port/x",
        "--log-level=LOUD",
        "--log-format=xml",
        "--wait=never",
        "--workers=0",
        "--arena-bytes=1MiB",
        "--affinity=3-1",
        "--drain-timeout=-1",
        "--max-connections=0",
        "--relay=maybe",
        "--config-file=",
        "--filter=maybe",
        "--rate-limit=relay:1/1s",
        "--discv5-udp-port=65536",
        "--preset=mars",
        "--content-topic=chat",
        "--protected-shard=0:04ab",
        "--ext-multiaddr=192.0.2.1:60000",
        "--ext-multiaddr-only=maybe",
        "--dns4-domain-name=http://node",
        "--entry-node=node.example.org",
        "--staticnode=/ip4/192.0.2.1/udp/1/quic-v1",
    ] {
        let faults = faults(&[flag], &[]);
        assert_eq!(faults.len(), 1, "{flag}: {faults:?}");
        assert!(faults[0].contains("is not valid; expected "), "{flag}: {faults:?}");
    }
}

#[test]
fn a_secret_is_never_repeated() {
    let wrong = secret() + "0";
    let environment_faults = faults(&[], &[("LEVADA_NODEKEY", &wrong)]);
    let flag = format!("--nodekey={wrong}");
    let flag_faults = faults(&[&flag], &[]);
    let (_, file_result) = load_file(&format!("nodekey = \"{wrong}\"\n"));
    let misplaced = faults(&["--relay", &secret()], &[]);
    let unknown = faults(&[&format!("--nodekeyy={wrong}")], &[]);
    let list = load_file(&format!("nodekey = [\"{wrong}\"]\n")).1.unwrap_err().to_string();
    let database = faults(&["--store-message-db-url=postgres://me:5ec2e75ec2e7@db:port/x"], &[]);
    for text in [environment_faults, flag_faults, misplaced, unknown, database].concat() {
        assert!(!text.contains(&secret()) && !text.contains("5ec2e75ec2e7@"), "{text}");
    }
    let text = file_result.unwrap_err().to_string() + &list;
    assert!(text.contains("(redacted)") && !text.contains("5ec2e7"), "{text}");
}

#[test]
fn the_debug_form_of_a_configuration_shows_no_secret() {
    let flags = [format!("--nodekey={}", secret()), "--rln-relay-cred-password=hush5ec".to_owned()];
    let database = "--store-message-db-url=postgres://me:hush@db/x";
    let debug = format!("{:?}", load(&[&flags[0], &flags[1], database], &[]).unwrap());
    assert!(
        debug.contains("me@db:5432/x")
            && !debug.contains("5ec2e7")
            && !debug.contains("94, 194")
            && !debug.contains("hush"),
        "{debug}"
    );
}

#[test]
fn arguments_that_are_no_flags_are_told_how_to_be() {
    let advice = "flags are written --name=value";
    assert_eq!(faults(&["extra"], &[]), [format!("unexpected argument \"extra\"; {advice}")]);
    assert_eq!(faults(&["-p"], &[]), [format!("unexpected argument \"-p\"; {advice}")]);
    assert_eq!(faults(&["--"], &[]), [format!("unexpected argument \"--\"; {advice}")]);
    assert_eq!(faults(&["--relay", "false"], &[]), ["unexpected argument \"false\"; write --relay=false"]);
}

#[test]
fn a_missing_value_and_a_second_one_are_faults() {
    let missing =
        "--tcp-port needs a value; expected a port from 0 to 65535 (0 takes any free one), as in --tcp-port=VALUE";
    assert_eq!(faults(&["--tcp-port"], &[]), [missing]);
    assert_eq!(faults(&["--tcp-port", "--relay"], &[]), [missing]);
    let twice = "--tcp-port is given more than once; keep one of them";
    assert_eq!(faults(&["--tcp-port=1", "--tcp-port=1", "--tcp-port=2"], &[]), [twice]);
}

#[test]
fn bytes_that_are_no_text_are_faults() {
    let bytes = |prefix: &str| OsString::from_vec([prefix.as_bytes(), &[0xff]].concat());
    let args = [bytes("--nodekey="), "--agent-string".into(), bytes("a")];
    let environment = [("LEVADA_WAIT".into(), bytes("eco")), (bytes("LEVADA_"), "1".into())];
    let errors = Config::load(args, environment).unwrap_err();
    assert_eq!(errors.0.len(), 3, "{errors}");
    let error = Config::load([bytes("--nodekey=5ec2e7")], []).unwrap_err().to_string();
    assert_eq!(error, "the value of --nodekey is not valid UTF-8; give it as plain text");
    assert!(errors.0.iter().all(|error| matches!(error, ConfigError::NotUtf8 { .. })), "{errors}");
}

#[test]
fn types_that_make_no_sense_are_faults() {
    for (text, found) in [
        ("tcp-port = [1]\n", "a list"),
        ("shard = [[1]]\n", "a list of a list"),
        ("relay = 2020-01-01\n", "a date"),
        ("[relay]\nx = 1\n", "a table"),
        ("config-file = \"x\"\n", "inside a configuration file"),
        ("tcp-port = 0xfffffffffffffffff\n", "an integer out of range"),
    ] {
        let (path, result) = load_file(text);
        let error = result.unwrap_err().to_string();
        let place = format!("({}:1) is {found}; expected ", path.display());
        assert!(error.contains(&place), "{text}: {error}");
        assert_eq!(error.lines().count(), 1);
    }
}

#[test]
fn a_file_that_cannot_be_used_is_one_clear_sentence() {
    let missing = faults(&["--config-file=/nonexistent/node.toml"], &[]);
    assert_eq!(missing.len(), 1);
    assert!(missing[0].starts_with(
        "the configuration file /nonexistent/node.toml (flag --config-file) cannot be read: No such file"
    ));
    let folder = faults(&[], &[("LEVADA_CONFIG_FILE", "/")]);
    assert!(folder[0].contains("(environment variable LEVADA_CONFIG_FILE) cannot be read: "), "{folder:?}");
    let (path, result) = load_file("relay = true\nstore = = 1\n");
    let error = result.unwrap_err().to_string();
    assert!(error.starts_with(&format!("{}:2:9: not valid TOML: ", path.display())), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
    let (path, result) = load_file("relay = true\nrelay = false\n");
    assert!(result.unwrap_err().to_string().starts_with(&format!("{}:2:1: not valid TOML: ", path.display())));
    let error = load_file(&"#".repeat((1 << 20) + 1)).1.unwrap_err().to_string();
    assert!(error.contains("larger than 1048576 bytes"), "{error}");
}

#[test]
fn all_faults_come_at_once() {
    let (_keep, file) = file("rest-prot = 1\nrest-port = \"x\"\n");
    let faults = faults(&[&file, "--zzz", "--tcp-port=x", "stray"], &[("LEVADA_WAIT", "never")]);
    assert_eq!(faults.len(), 6, "{faults:#?}");
    let too_many = "shard = [".to_owned() + &"1,".repeat(1025) + "]";
    assert!(load_file(&too_many).1.unwrap_err().to_string().contains("has 1025 values; at most 1024 are allowed"));
}

#[test]
fn the_exit_code_tells_command_line_from_configuration() {
    let code = |flags: &[&str], environment: &[(&str, &str)]| load(flags, environment).unwrap_err().exit_code();
    assert_eq!(code(&["--zzz"], &[]), EXIT_USAGE);
    assert_eq!(code(&["--tcp-port=x"], &[("LEVADA_WAIT", "never")]), EXIT_USAGE);
    assert_eq!(code(&[], &[("LEVADA_WAIT", "never")]), EXIT_CONFIG);
    assert_eq!(code(&["--config-file=/nonexistent"], &[]), EXIT_CONFIG);
    assert_eq!(load_file("zzz = 1\n").1.unwrap_err().exit_code(), EXIT_CONFIG);
    assert_eq!((EXIT_USAGE, EXIT_CONFIG), (64, 78));
}
