//! The workload as benchmarks find it: encoded messages in the slots of an arena.

use std::sync::Arc;

use levada_engine::{Arena, ArenaConfig, ArenaError, ClassConfig, Held};
use levada_stages::unix_ns;
use levada_wire::waku::WakuRecord;

use crate::workload;

/// Room for timestamp, topic and field headers around a payload.
const ENVELOPE_BYTES: usize = 256;

/// One slot per message, touched before the clock starts.
pub(crate) fn arena_for<'a>(
    sizes: impl Iterator<Item = &'a usize> + Clone,
) -> Result<Arc<Arena<WakuRecord>>, ArenaError> {
    let mut classes: Vec<ClassConfig> = Vec::new();
    let mut floor = 0;
    for (bytes, _) in workload::PROFILE {
        let payload_bytes = (bytes + ENVELOPE_BYTES).next_multiple_of(4_096);
        let slots = sizes.clone().filter(|size| (floor..=bytes).contains(*size)).count();
        floor = bytes + 1;
        if slots > 0 {
            classes.push(ClassConfig { payload_bytes, slots: slots as u32 });
        }
    }
    Arena::new(&ArenaConfig { classes, huge_pages: true, prefault: true })
}

/// Encodes the messages into slots, numbered from `first`.
pub(crate) fn fill(
    arena: &Arc<Arena<WakuRecord>>,
    seed: u64,
    first: usize,
    sizes: &[usize],
    topic: u32,
) -> Vec<Held<WakuRecord>> {
    let mut payload = vec![0; workload::PROFILE[workload::PROFILE.len() - 1].0];
    let fill_one = |(position, size): (usize, &usize)| {
        let payload = &mut payload[..*size];
        workload::fill_payload(seed, (first + position) as u64, payload);
        let message = workload::message(payload, unix_ns());
        let mut slot = arena.claim(message.encoded_len()).expect("the arena has a slot for each message");
        let bytes = message.encode_into(slot.payload_mut()).expect("the slot was claimed by the encoded length");
        slot.set_len(bytes);
        // The ticket is the message's number: benchmarks file under it what they measure.
        *slot.record_mut() = WakuRecord { topic, ticket: position as u64, ..WakuRecord::default() };
        slot.share().hold()
    };
    sizes.iter().enumerate().map(fill_one).collect()
}
