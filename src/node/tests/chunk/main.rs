//! `levada chunk` from outside: five nodes as processes, files to them and back, kills in the middle, and a memory limit.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::print_stdout, reason = "a measurement is the result of its test")]

mod cage;
mod nodes;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nodes::{Nodes, levada};

/// Bytes of a file of many chunks: 300 MB when `LEVADA_DEEP=1` asks for the long run.
fn file_bytes() -> usize {
    let is_deep = std::env::var_os("LEVADA_DEEP").is_some_and(|deep| deep == "1");
    if is_deep { 300_000_000 } else { 100_000_000 }
}

/// Writes bytes that no two seeds have in common.
fn write_file(path: &Path, seed: u64, bytes: usize) {
    let mut content = vec![0_u64; bytes.div_ceil(8)];
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for word in &mut content {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        *word = state;
    }
    let content: Vec<u8> = content.into_iter().flat_map(u64::to_le_bytes).take(bytes).collect();
    std::fs::write(path, content).unwrap();
}

fn is_same(one: &Path, other: &Path) -> bool {
    std::fs::read(one).unwrap() == std::fs::read(other).unwrap()
}

/// What a command says, and its exit code.
fn ended(command: &mut Command) -> (Option<i32>, String, String) {
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn put(folder: &Path, file: &str, peers: &[String]) -> Command {
    let mut command = levada(folder);
    command.args(["chunk", "put", file, "--answer-within=5", "--to"]).args(peers);
    command
}

fn get(folder: &Path, map: &str, out: &str, peers: &[String]) -> Command {
    let mut command = levada(folder);
    command.args(["chunk", "get", map, "--out", out, "--from"]).args(peers);
    command
}

/// Chunks that a journal says are stored.
fn stored(journal: &Path) -> usize {
    let text = std::fs::read_to_string(journal).unwrap_or_default();
    text.lines().filter(|line| line.starts_with(|first: char| first.is_ascii_digit())).count()
}

/// Starts a command and lets it run until its journal has some chunks.
fn until_journal(mut command: Command, journal: &Path, chunks: usize) -> Child {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(50);
    while stored(journal) < chunks && child.try_wait().unwrap().is_none() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
    child
}

/// Each chunk of a map lies on so many nodes' disks.
fn holders(nodes: &Nodes, map: &Path) -> Vec<usize> {
    let map: serde_json::Value = serde_json::from_slice(&std::fs::read(map).unwrap()).unwrap();
    let of = |address: &serde_json::Value| {
        let name = address.as_str().unwrap().to_owned();
        (0..nodes.count())
            .filter(|number| nodes.folder(*number).join("chunks").join(&name[62..]).join(&name).exists())
            .count()
    };
    map["chunks"].as_array().unwrap().iter().map(of).collect()
}

#[test]
fn a_file_goes_to_five_nodes_and_back_within_a_memory_limit() {
    let folder = tempfile::tempdir().unwrap();
    let nodes = Nodes::start(folder.path(), 5, "tcp");
    write_file(&folder.path().join("file"), 1, file_bytes());
    let (outcome, peak_bytes) = cage::run(put(folder.path(), "file", &nodes.addresses()));
    assert!(outcome.status.success(), "{}", String::from_utf8_lossy(&outcome.stderr));
    assert!(peak_bytes <= cage::LIMIT_BYTES, "{peak_bytes} bytes were resident");
    let said = String::from_utf8_lossy(&outcome.stdout).into_owned();
    assert!(said.contains("on 3 of 5 nodes each"), "{said}");
    assert!(holders(&nodes, &folder.path().join("file.chunks")).iter().all(|count| *count >= 3));
    let (code, _, complaints) = ended(&mut get(folder.path(), "file.chunks", "back", &nodes.addresses()));
    // The two nodes that a chunk need not be on may be asked for it first.
    assert!(code == Some(0) && complaints.lines().all(|line| line.contains("not_found")), "{code:?} {complaints}");
    assert!(is_same(&folder.path().join("file"), &folder.path().join("back")));
    nodes.stop();
}

#[test]
fn an_upload_that_was_killed_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let nodes = Nodes::start(folder.path(), 3, "quic");
    write_file(&folder.path().join("file"), 2, file_bytes());
    let journal = folder.path().join("file.put-journal");
    let mut killed = until_journal(put(folder.path(), "file", &nodes.addresses()), &journal, 2);
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(stored(&journal) > 0, "some chunks were stored before the kill");
    let (code, said, complaints) = ended(&mut put(folder.path(), "file", &nodes.addresses()));
    assert_eq!(code, Some(0), "{complaints}");
    assert!(said.contains("kept from before"), "{said}");
    assert!(!journal.exists());
    let (code, _, complaints) = ended(&mut get(folder.path(), "file.chunks", "back", &nodes.addresses()));
    assert_eq!(code, Some(0), "{complaints}");
    assert!(is_same(&folder.path().join("file"), &folder.path().join("back")));
    nodes.stop();
}

#[test]
fn one_of_five_nodes_is_killed_in_the_middle() {
    let folder = tempfile::tempdir().unwrap();
    let mut nodes = Nodes::start(folder.path(), 5, "tcp");
    write_file(&folder.path().join("file"), 3, file_bytes());
    let journal = folder.path().join("file.put-journal");
    let addresses = nodes.addresses();
    let mut command = put(folder.path(), "file", &addresses);
    command.stderr(Stdio::piped());
    let child = until_journal(command, &journal, 2);
    nodes.kill(4);
    assert!(child.wait_with_output().unwrap().status.success());
    let map = folder.path().join("file.chunks");
    assert!(holders(&nodes, &map).iter().all(|count| *count >= 3), "what the killed node had stays on its disk");
    let (code, _, complaints) = ended(&mut get(folder.path(), "file.chunks", "back", &addresses));
    assert_eq!(code, Some(0), "{complaints}");
    assert!(complaints.contains(&format!("fault of {}", addresses[4])), "{complaints}");
    assert!(is_same(&folder.path().join("file"), &folder.path().join("back")));
    nodes.stop();
}

#[test]
fn an_interrupt_waits_for_what_is_under_way_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let nodes = Nodes::start(folder.path(), 3, "tcp");
    write_file(&folder.path().join("file"), 4, file_bytes());
    let journal = folder.path().join("file.put-journal");
    let mut slow = put(folder.path(), "file", &nodes.addresses());
    // One chunk at a time: the interrupt finds some that have not set out.
    slow.arg("--memory=4MiB");
    let mut child = until_journal(slow, &journal, 2);
    nodes::interrupt(&child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let stored = stored(&journal);
    let (code, said, complaints) = ended(&mut put(folder.path(), "file", &nodes.addresses()));
    assert_eq!(code, Some(0), "{complaints}");
    assert!(said.contains("kept from before") && stored > 0, "{said}");
    assert!(holders(&nodes, &folder.path().join("file.chunks")).iter().all(|count| *count >= 2));
    nodes.stop();
}

#[test]
fn what_cannot_be_done_is_named_by_code_and_words() {
    let folder = tempfile::tempdir().unwrap();
    let nodes = Nodes::start(folder.path(), 1, "tcp");
    let peers = nodes.addresses();
    for (args, code, words) in [
        (vec!["put", "missing", "--to", &peers[0]], 1, "missing"),
        (vec!["put", "missing", "--to", "127.0.0.1:1"], 1, "start more nodes"),
        (vec!["get", "missing", "--from", &peers[0]], 1, "data map"),
        (vec!["put", "--to", &peers[0]], 64, "FILE"),
        (vec!["serve", "--folder=other", "--listen", &peers[0]], 1, "choose another port"),
        (vec!["serve", "--allow-list=missing", "--listen=tcp://127.0.0.1:0"], 1, "--allow-list"),
    ] {
        let (ended_by, _, complaints) = ended(levada(folder.path()).arg("chunk").args(&args));
        assert_eq!(ended_by, Some(code), "{args:?}: {complaints}");
        assert!(complaints.contains(words), "{args:?}: {complaints}");
    }
    nodes.stop();
}

/// What a metric of a scrape says.
fn metric(scrape: &str, name: &str) -> Option<f64> {
    scrape.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
}

#[test]
fn a_node_shows_its_metrics() {
    let folder = tempfile::tempdir().unwrap();
    let nodes = Nodes::start_with(folder.path(), 1, "tcp", &["--metrics-address=127.0.0.1:0"]);
    write_file(&folder.path().join("file"), 6, 5_000_000);
    let (code, _, complaints) = ended(&mut put(folder.path(), "file", &nodes.addresses()));
    assert_eq!(code, Some(0), "{complaints}");
    let (code, _, complaints) = ended(&mut get(folder.path(), "file.chunks", "back", &nodes.addresses()));
    assert_eq!(code, Some(0), "{complaints}");
    let address = nodes.said(0, "metrics at http://");
    let mut stream = TcpStream::connect(address.trim_end_matches("/metrics")).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: node\r\nConnection: close\r\n\r\n").unwrap();
    let mut scrape = String::new();
    stream.read_to_string(&mut scrape).unwrap();
    for (name, value) in [
        ("levada_chunk_answers_total{answer=\"stored\"}", 2.0),
        ("levada_chunk_answers_total{answer=\"found\"}", 2.0),
        ("levada_chunk_refusals_total{reason=\"address_mismatch\"}", 0.0),
        ("levada_chunk_stored_bytes", 5_000_000.0),
        ("levada_chunk_admitted_bytes", 0.0),
        ("levada_chunk_stage_panics_total", 0.0),
        // TCP writes into the slot.
        ("levada_payload_copies_total", 0.0),
        // Once as they come, once as they are read back.
        ("levada_chunk_hashes_total", 4.0),
    ] {
        assert_eq!(metric(&scrape, name), Some(value), "{name} in {scrape}");
    }
    nodes.stop();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let flag = format!("--metrics-address={}", taken.local_addr().unwrap());
    let mut serve = levada(folder.path());
    let (code, _, complaints) =
        ended(serve.args(["chunk", "serve", "--listen=tcp://127.0.0.1:0", "--folder=other", &flag]));
    assert_eq!(code, Some(1));
    assert!(complaints.contains("--metrics-address"), "{complaints}");
}

/// A node that wants signatures takes signed chunks only, from a key that is made on the way.
#[test]
fn signed_chunks_are_verified() {
    let folder = tempfile::tempdir().unwrap();
    let nodes = Nodes::start_with(folder.path(), 1, "tcp", &["--require-signature"]);
    write_file(&folder.path().join("file"), 5, 5_000_000);
    let (code, _, complaints) = ended(put(folder.path(), "file", &nodes.addresses()).arg("--attempts=1"));
    assert_eq!(code, Some(1));
    assert!(complaints.contains("internal"), "{complaints}");
    let (code, _, complaints) = ended(put(folder.path(), "file", &nodes.addresses()).arg("--key=key"));
    assert_eq!(code, Some(0), "{complaints}");
    let (code, _, complaints) = ended(get(folder.path(), "file.chunks", "back", &nodes.addresses()).arg("--key=key"));
    assert_eq!(code, Some(0), "{complaints}");
    assert!(is_same(&folder.path().join("file"), &folder.path().join("back")));
    nodes.stop();
}
