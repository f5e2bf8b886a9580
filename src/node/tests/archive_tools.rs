//! `levada archive`, as an operator runs it: nwaku's file in, looked over, taken out, and damage found.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// 40 messages, one whose hash is not its own, and two rows that hold no message.
fn nwaku() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../archive/tests/segments/fixtures/nwaku.sqlite3")
}

/// Runs `levada archive` with these words, on the archive `index`.
fn levada(index: &Path, words: &[&str]) -> Output {
    let url = format!("--store-message-db-url=sqlite://{}", index.display());
    Command::new(env!("CARGO_BIN_EXE_levada")).arg("archive").args(words).arg(url).output().unwrap()
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn nwakus_file_is_taken_over_looked_over_and_taken_out() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (folder.path().join("first"), folder.path().join("second"));
    let from = format!("--from={}", nwaku().display());
    let report = json(&levada(&first, &["import", &from, "--format=json"]));
    assert_eq!((&report["messages"], &report["invalid"]), (&40.into(), &3.into()), "{report}");
    assert_eq!(json(&levada(&first, &["import", &from, "--format=json"]))["duplicates"], 40);
    let stats = json(&levada(&first, &["stats", "--format=json"]));
    assert_eq!((&stats["messages"], &stats["topics"][0]["messages"]), (&40.into(), &40.into()), "{stats}");
    let lines = levada(&first, &["export"]);
    assert!(lines.status.success());
    let export = folder.path().join("export.jsonl");
    fs::write(&export, &lines.stdout).unwrap();
    assert_eq!(lines.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count(), 40);
    let from = format!("--from={}", export.display());
    assert_eq!(json(&levada(&second, &["import", &from, "--format=json"]))["messages"], 40);
    assert_eq!(json(&levada(&second, &["compact", "--format=json"]))["messages"], 40);
    assert_eq!(levada(&second, &["export"]).stdout, lines.stdout);
    let verified = levada(&second, &["verify"]);
    assert!(verified.status.success());
    assert!(String::from_utf8_lossy(&verified.stdout).contains("the archive is whole"));
}

#[test]
fn damage_and_wrong_files_are_told_by_name_and_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let index = folder.path().join("archive");
    json(&levada(&index, &["import", &format!("--from={}", nwaku().display()), "--format=json"]));
    let segment = folder.path().join("archive.segments/0000000000.segment");
    let file = OpenOptions::new().read(true).write(true).open(segment).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, 4_096 + 150).unwrap();
    file.write_all_at(&[!byte[0]], 4_096 + 150).unwrap();
    let verified = levada(&index, &["verify", "--format=json"]);
    let report: Value = serde_json::from_slice(&verified.stdout).unwrap();
    assert_eq!(
        (verified.status.code(), &report["whole"], &report["messages_lost"]),
        (Some(1), &false.into(), &1.into())
    );
    let foreign = folder.path().join("store.sqlite3");
    fs::copy(nwaku(), &foreign).unwrap();
    for (index, words, expected) in [
        (folder.path().join("nothing"), vec!["stats"], "there is no archive at"),
        (index.clone(), vec!["import", "--from=/nonexistent/file"], "/nonexistent/file"),
        (foreign, vec!["compact"], "levada archive import --from="),
    ] {
        let refused = levada(&index, &words);
        let said = String::from_utf8_lossy(&refused.stderr);
        assert!(refused.status.code() == Some(1) && said.contains(expected), "{words:?}: {said}");
    }
}
