//! Starts that fail: one sentence that names what, where and what to do, an exit code, and nothing left behind.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use levada_wire::hash::Kernel;

use crate::support::node::{Ended, Node, ephemeral, levada, run};

/// The exit codes, after `sysexits.h`.
const USAGE: i32 = 64;
const UNAVAILABLE: i32 = 69;
const CONFIG: i32 = 78;

/// Asserts that a call ended with `code` and one complaint, which holds all `parts`.
fn assert_refused(ended: &Ended, code: i32, parts: &[&str]) {
    assert_eq!(ended.code, Some(code), "{ended:?}");
    assert_eq!(ended.stdout, "", "nothing is announced");
    let complaints = ended.complaints();
    assert_eq!(complaints.len(), 1, "{complaints:?}");
    assert!(complaints[0].starts_with("levada: "), "{complaints:?}");
    for part in parts {
        assert!(complaints[0].contains(part), "no {part:?} in {complaints:?}");
    }
}

#[test]
fn wrong_command_lines() {
    let folder = tempfile::tempdir().unwrap();
    for (args, parts) in [
        (&["--tcp-prot=1"][..], &["unknown flag --tcp-prot", "did you mean --tcp-port?"][..]),
        (&["--zzz"], &["unknown flag --zzz", "--help lists all"]),
        (&["--tcp-port=70000"], &["tcp-port", "70000", "--tcp-port", "expected", "65535"]),
        (&["--relay=maybe"], &["relay", "maybe", "expected true or false"]),
        (&["--tcp-port"], &["--tcp-port needs a value"]),
        (&["--tcp-port=1", "--tcp-port=2"], &["--tcp-port is given more than once"]),
        (&["--store-message-db-url=postgres://user:pass@host:port/db"], &["store-message-db-url", "expected"]),
        (&["--staticnode=nowhere"], &["staticnode", "nowhere", "expected"]),
        (&["--nodekey=abc"], &["nodekey", "expected"]),
        (&["rnu"], &["unknown command \"rnu\""]),
        (&["bnech", "micro"], &["unknown command \"bnech\"", "did you mean levada bench?"]),
        (&["bench", "mirco"], &["unknown command \"mirco\"", "did you mean levada bench micro?"]),
        (&["bench"], &["levada bench micro"]),
        (&["run", "now"], &["now"]),
    ] {
        let ended = run(levada(folder.path()).args(args));
        assert_refused(&ended, USAGE, parts);
        assert!(!ended.stderr.contains("pass"), "no password is shown");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is created");
}

#[test]
fn every_fault_of_a_command_line_is_told_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let ended = run(levada(folder.path()).args(["--relya", "--tcp-port=x", "--max-connections=0"]));
    assert_eq!(ended.code, Some(USAGE));
    assert_eq!(ended.complaints().len(), 3, "{}", ended.stderr);
}

#[test]
fn hash_kernels_that_cannot_be_forced() {
    let folder = tempfile::tempdir().unwrap();
    let forced = |name: &OsStr| run(levada(folder.path()).arg("help").env(Kernel::VARIABLE, name));
    let mut choices = Kernel::ALL.map(Kernel::name).to_vec();
    choices.push(Kernel::VARIABLE);
    for name in [&b"sha256"[..], b"AVX2X8", b"sha2 ", b"shani2\xff", b"\xff"] {
        assert_refused(&forced(OsStr::from_bytes(name)), USAGE, &choices);
    }
    for kernel in Kernel::ALL {
        let ended = forced(kernel.name().as_ref());
        if kernel.is_supported() {
            assert_eq!(ended.code, Some(0), "{ended:?}");
        } else {
            assert_refused(&ended, USAGE, &[Kernel::VARIABLE, kernel.name(), "this CPU lacks, use ", "sha2"]);
        }
    }
    assert_eq!(forced("".as_ref()).code, Some(0), "an empty name forces none");
}

#[test]
fn wrong_configuration_files() {
    let folder = tempfile::tempdir().unwrap();
    for (text, parts) in [
        ("relay = true\n\nrest-prot = 1\n", &["node.toml:3", "unknown key rest-prot", "did you mean rest-port?"][..]),
        ("tcp-port = 70000\n", &["tcp-port", "70000", "node.toml:1", "65535"]),
        ("tcp-port = [1]\n", &["tcp-port", "node.toml:1", "a list"]),
        ("relay = \n", &["node.toml:1:", "not valid TOML"]),
        ("[rest]\nport = 1\n", &["node.toml:1", "rest"]),
    ] {
        std::fs::write(folder.path().join("node.toml"), text).unwrap();
        assert_refused(&run(levada(folder.path()).arg("--config-file=node.toml")), CONFIG, parts);
    }
    let missing = run(levada(folder.path()).arg("--config-file=absent.toml"));
    assert_refused(&missing, CONFIG, &["absent.toml", "--config-file", "cannot be read", "No such file"]);
    let is_folder = run(levada(folder.path()).arg("--config-file=."));
    assert_refused(&is_folder, CONFIG, &["--config-file", "cannot be read", "directory"]);
}

#[test]
fn wrong_environment() {
    let folder = tempfile::tempdir().unwrap();
    let ended = run(levada(folder.path()).env("WAKUNODE2_TCP_PORT", "many"));
    assert_refused(&ended, CONFIG, &["tcp-port", "many", "WAKUNODE2_TCP_PORT", "expected"]);
}

#[test]
fn wrong_combinations() {
    let folder = tempfile::tempdir().unwrap();
    let shard = run(&mut ephemeral(folder.path(), &["--num-shards-in-network=8", "--shard=8"]));
    assert_refused(&shard, CONFIG, &["shard 8", "--shard", "num-shards-in-network is 8", "0 to 7"]);
    let ports = run(&mut ephemeral(folder.path(), &["--rest-port=5000", "--metrics-server-port=5000"]));
    assert_refused(&ports, CONFIG, &["rest-port", "metrics-server-port", "5000"]);
}

/// Starts a node in `folder` whose archive is `url`.
fn with_archive(folder: &Path, url: &str) -> Ended {
    run(&mut ephemeral(folder, &[&format!("--store-message-db-url={url}")]))
}

#[test]
fn archives_that_cannot_be_opened() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("notes.txt"), "no database, but long enough to have a header of one. ".repeat(9))
        .unwrap();
    let foreign = rusqlite::Connection::open(folder.path().join("foreign.sqlite3")).unwrap();
    foreign.execute_batch("CREATE TABLE bills (amount INTEGER)").unwrap();
    for (url, parts) in [
        ("sqlite://absent/levada.sqlite3", &["folder absent", "does not exist", "create it"][..]),
        ("sqlite://.", &["is a folder, not an archive"]),
        ("sqlite://notes.txt", &["notes.txt", "is not a SQLite database", "move it away"]),
        ("sqlite://foreign.sqlite3", &["foreign.sqlite3", "not a Levada archive"]),
        // Nobody can create a file there, not even root.
        ("sqlite:///proc/levada.sqlite3", &["folder /proc", "cannot be written to"]),
        ("sqlite:///dev/null/levada.sqlite3", &["folder /dev/null", "does not exist"]),
    ] {
        let ended = with_archive(folder.path(), url);
        assert_refused(&ended, UNAVAILABLE, parts);
    }
    let notes = std::fs::read_to_string(folder.path().join("notes.txt")).unwrap();
    assert!(notes.starts_with("no database"), "what is no archive is left as it is");
}

#[test]
fn an_archive_that_another_node_holds() {
    let folder = tempfile::tempdir().unwrap();
    let holder = Node::start(folder.path(), &[]);
    let ended = run(&mut ephemeral(folder.path(), &[]));
    let process = format!("process {}", holder.pid());
    assert_refused(&ended, UNAVAILABLE, &["levada.sqlite3", "in use by another Levada node", &process]);
    holder.kill();
    assert_eq!(Node::start(folder.path(), &[]).stop().code, Some(0), "a lock ends with its process");
}
