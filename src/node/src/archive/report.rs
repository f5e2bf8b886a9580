//! Reports of `levada archive`, for readers and for programs.

use levada_archive::upkeep::{ArchiveStats, CompactReport, ImportReport, VerifyReport};
use serde_json::{Value, json};

/// Lines of names and numbers.
fn text(rows: &[(&str, u64)]) -> String {
    rows.iter().map(|(name, value)| format!("{name:<22} {value}\n")).collect()
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

pub(super) fn verify_text(found: &VerifyReport) -> String {
    let mut lines = text(&[
        ("messages", found.messages),
        ("segments", found.segments),
        ("messages lost", found.messages_lost),
        ("segments lost", found.segments_lost),
        ("not yet in the index", found.messages_unindexed),
    ]);
    let index_fault = found.index_fault.iter().map(|fault| format!("the index is damaged: {fault}"));
    found.faults.iter().cloned().chain(index_fault).for_each(|fault| lines += &format!("{fault}\n"));
    lines + if found.is_whole() { "the archive is whole\n" } else { "the archive is damaged\n" }
}

pub(super) fn verify_json(found: &VerifyReport) -> String {
    pretty(&json!({
        "whole": found.is_whole(),
        "messages": found.messages,
        "segments": found.segments,
        "messages_lost": found.messages_lost,
        "segments_lost": found.segments_lost,
        "messages_unindexed": found.messages_unindexed,
        "index_fault": found.index_fault,
        "faults": found.faults,
    }))
}

pub(super) fn stats_text(found: &ArchiveStats) -> String {
    let mut lines = text(&[
        ("messages", found.messages),
        ("segments", found.segments),
        ("bytes of segments", found.segment_bytes),
        ("bytes of messages", found.record_bytes),
        ("bytes of the index", found.index_bytes),
    ]);
    if let Some((oldest, newest)) = found.timestamps {
        lines += &format!("{:<22} {oldest}\n{:<22} {newest}\n", "oldest timestamp, ns", "newest timestamp, ns");
    }
    found.topics.iter().for_each(|topic| lines += &format!("{:<22} {}\n", topic.pubsub_topic, topic.messages));
    lines
}

pub(super) fn stats_json(found: &ArchiveStats) -> String {
    let topics =
        found.topics.iter().map(|topic| json!({ "pubsub_topic": topic.pubsub_topic, "messages": topic.messages }));
    pretty(&json!({
        "messages": found.messages,
        "segments": found.segments,
        "segment_bytes": found.segment_bytes,
        "record_bytes": found.record_bytes,
        "index_bytes": found.index_bytes,
        "timestamp_min_ns": found.timestamps.map(|times| times.0),
        "timestamp_max_ns": found.timestamps.map(|times| times.1),
        "topics": topics.collect::<Vec<_>>(),
    }))
}

pub(super) fn compact_text(done: &CompactReport) -> String {
    text(&[
        ("messages", done.messages),
        ("messages lost", done.messages_lost),
        ("bytes before", done.bytes_before),
        ("bytes now", done.bytes_after),
    ])
}

pub(super) fn compact_json(done: &CompactReport) -> String {
    pretty(&json!({
        "messages": done.messages,
        "messages_lost": done.messages_lost,
        "bytes_before": done.bytes_before,
        "bytes_after": done.bytes_after,
    }))
}

pub(super) fn import_text(done: &ImportReport) -> String {
    text(&[
        ("messages", done.messages),
        ("here already", done.duplicates),
        ("left out as invalid", done.invalid),
        ("done before", done.resumed),
    ])
}

pub(super) fn import_json(done: &ImportReport) -> String {
    pretty(&json!({
        "messages": done.messages,
        "duplicates": done.duplicates,
        "invalid": done.invalid,
        "resumed": done.resumed,
    }))
}
