//! `kill -9` in the middle of inserting and dropping, again and again on one archive.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use levada_archive::{Archive, Retention};

use crate::sample::{Place, Random, contents, insert, open, repeats};

const CHILD_PATH: &str = "LEVADA_SEGMENTS_KILLED";
const ACKNOWLEDGED: &str = "acknowledged up to ";
/// Retention keeps at least so many.
const KEPT: u64 = 150;
const SEED: u64 = 0x6b69_6c6c;

/// 20 moments; fewer or more as [`repeats`] says.
#[test]
fn whatever_was_acknowledged_is_there_once() {
    if let Some(path) = std::env::var_os(CHILD_PATH) {
        insert_until_killed(Path::new(&path));
    }
    let moments = repeats(20);
    let mut random = Random(SEED);
    let place = Place::new();
    let mut stored = 0;
    let mut moment = 0;
    while moment < moments || stored <= 2 * KEPT {
        moment += 1;
        // Most moments lie in the steady state, some in the very first writes after a start.
        let delay_us = if random.below(4) == 0 { random.below(2_000) } else { random.below(150_000) };
        let acknowledged = run_and_kill(&place.index(), Duration::from_micros(delay_us)).max(stored);
        if random.below(5) == 0 {
            place.lose_index();
        }
        let archive = place.open();
        let found = contents(&archive);
        let context = format!("seed {SEED:#x}, moment {moment}, {delay_us} us, {acknowledged} acknowledged");
        let (first, last) = (found.first().copied().unwrap_or(0), found.last().map_or(0, |last| last + 1));
        assert!(last >= acknowledged, "{context}: {last} found");
        assert!(last - first >= last.min(KEPT), "{context}: only {first}..{last} kept");
        assert_eq!(found.len() as u64, last - first, "{context}: {first}..{last} has gaps");
        stored = last;
    }
}

/// Lets a child work, and kills it `delay` after it acknowledged its first batch; returns the number it acknowledged last.
fn run_and_kill(path: &Path, delay: Duration) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "killed::whatever_was_acknowledged_is_there_once"])
        .env(CHILD_PATH, path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut acknowledged = 0;
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut numbers = lines.map_while(Result::ok).filter_map(|line| line.strip_prefix(ACKNOWLEDGED)?.parse().ok());
    acknowledged = numbers.next().unwrap_or(acknowledged);
    std::thread::sleep(delay);
    child.kill().unwrap();
    acknowledged = numbers.last().unwrap_or(acknowledged);
    assert_eq!(child.wait().unwrap().code(), None, "ended by the signal");
    acknowledged
}

/// Says what is acknowledged past the harness, which would hold the lines back.
fn insert_until_killed(path: &Path) -> ! {
    let mut archive = open(path, crate::sample::way());
    let mut next = contents(&archive).last().map_or(0, |last| last + 1);
    let mut random = Random(next);
    for _ in 0..100_000 {
        let count = 1 + random.below(12);
        // Some of them are duplicates.
        insert(&mut archive, next.saturating_sub(2)..next + count);
        next += count;
        let mut output = std::io::stdout().lock();
        writeln!(output, "\n{ACKNOWLEDGED}{next}").and_then(|()| output.flush()).unwrap();
        // Sometimes it is kept up with, sometimes left half done.
        for _ in 0..random.below(5) {
            archive.retain(&Retention { messages_max: Some(KEPT), ..Retention::default() }).unwrap();
        }
    }
    panic!("nobody killed this process");
}
