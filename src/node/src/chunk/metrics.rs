//! The metrics of `levada chunk serve`, each named once with the counter it reads.

use std::sync::Arc;

use levada_chunk::node::{CONNECTIONS, CONNECTIONS_ENDED, CONNECTIONS_FAILED, ChunkNode};
use levada_chunk::stages::{
    ADDRESS_MISMATCHES, Admission, CHUNK_HASHES, DAMAGED, FETCH_FULL, Replies, STAGE_PANICS, STORE_FAILURES,
    UNDECODABLE, UNSIGNED,
};
use levada_chunk::transport::{CLAIMS_WAITED, RECEIVED_BYTES, SENT_BYTES};
use levada_engine::{Counter, PAYLOAD_COPIED_BYTES, PAYLOAD_COPIES};

use crate::metrics::{Kind, Labels, Metrics, Value};

/// The table of metrics of a node of chunks.
pub(super) fn metrics(node: &ChunkNode) -> Metrics {
    let (replies, admission) = (node.replies().clone(), node.admission().clone());
    let (reasons, files, arena) = (admission.clone(), node.files().clone(), node.arena().clone());
    let in_use = move || arena.usage().map(|class| class.slots_in_use * class.payload_bytes as u64).sum::<u64>();
    let arena_bytes = node.arena().bytes() as u64;
    Metrics::new()
        .family(Kind::Counter, "levada_chunk_answers", "Answers by what they say.", move || answers(&replies))
        .family(
            Kind::Counter,
            "levada_chunk_refusals",
            "Refusals by their reason, as far as they are counted.",
            move || refusals(&reasons),
        )
        .gauge("levada_chunk_stored_bytes", "Bytes of chunks on the disk.", move || files.bytes())
        .counter("levada_chunk_damaged", "Files that no longer held their chunk and were set aside.", read(&DAMAGED))
        .counter("levada_chunk_hashes", "Contents hashed by BLAKE3.", read(&CHUNK_HASHES))
        .gauge("levada_chunk_admitted_bytes", "Bytes of slots that wait for the disk.", move || admission.bytes())
        .gauge("levada_chunk_arena_used_bytes", "Bytes of slots in use.", in_use)
        .gauge("levada_chunk_arena_bytes", "Bytes of all slots.", move || arena_bytes)
        .counter("levada_chunk_slot_waits", "Messages that had to wait for a slot.", read(&CLAIMS_WAITED))
        .counter("levada_chunk_received_bytes", "Bytes of messages received.", read(&RECEIVED_BYTES))
        .counter("levada_chunk_sent_bytes", "Bytes of messages sent.", read(&SENT_BYTES))
        .gauge("levada_chunk_connections_open", "Connections that are open.", || {
            CONNECTIONS.value().saturating_sub(CONNECTIONS_ENDED.value())
        })
        .counter("levada_chunk_connections", "Connections let in.", read(&CONNECTIONS))
        .counter("levada_chunk_connections_failed", "Connections that ended in an error.", read(&CONNECTIONS_FAILED))
        .counter("levada_chunk_stage_panics", "Panics in stages; each cost one answer.", read(&STAGE_PANICS))
        .counter("levada_payload_copies", "Payload copies made by the node's own code.", read(&PAYLOAD_COPIES))
        .counter("levada_payload_copies_bytes", "Bytes of those copies.", read(&PAYLOAD_COPIED_BYTES))
        .process()
}

fn read(counter: &'static Counter) -> impl Fn() -> u64 + Send + Sync + 'static {
    || counter.value()
}

fn labelled<const N: usize>(label: &'static str, counters: [(&str, &Counter); N]) -> Vec<(Labels, Value)> {
    let sample = |(word, counter): (&str, &Counter)| (vec![(label, word.to_owned())], Value::Unsigned(counter.value()));
    counters.map(sample).into()
}

fn answers(replies: &Arc<Replies>) -> Vec<(Labels, Value)> {
    let counters = [
        ("stored", &replies.stored),
        ("already_stored", &replies.already_stored),
        ("found", &replies.found),
        ("not_found", &replies.not_found),
        ("refused", &replies.refused),
    ];
    labelled("answer", counters)
}

fn refusals(admission: &Arc<Admission>) -> Vec<(Labels, Value)> {
    let counters = [
        ("undecodable", &UNDECODABLE),
        ("frame", &UNSIGNED),
        ("too_large", &admission.too_large),
        ("busy", &admission.full),
        ("address_mismatch", &ADDRESS_MISMATCHES),
        ("store_failed", &STORE_FAILURES),
        ("no_memory", &FETCH_FULL),
    ];
    labelled("reason", counters)
}
