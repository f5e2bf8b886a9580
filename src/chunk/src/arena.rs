//! The arenas of the chunk path: classes for answers, for chunks as they are sent, and for messages as they arrive.

use levada_engine::{ArenaConfig, ClassConfig};
use levada_wire::autonomi::{CHUNK_BYTES_MAX, FRAME_BYTES_MAX};

/// Bytes of a slot for requests without a chunk, and answers.
pub const SMALL_BYTES: usize = 4 * 1_024;

/// Bytes of a slot for the largest chunk with header, signature and a payment proof of the usual 60 kB.
const MESSAGE_BYTES: usize = CHUNK_BYTES_MAX + 128 * 1_024;

/// Where files are cut: a slot of exactly a chunk for each of `chunks`, and small ones for what the peers answer.
pub fn sender(chunks: usize) -> ArenaConfig {
    let class =
        |payload_bytes, slots: usize| ClassConfig { payload_bytes, slots: u32::try_from(slots).unwrap_or(u32::MAX) };
    config(vec![class(SMALL_BYTES, 256), class(CHUNK_BYTES_MAX, chunks.max(1))])
}

/// Where messages arrive, with at most `bytes`: most of it in slots for the largest chunk, and one in nine of those for messages
/// with a longer payment proof. There is one slot of each class at least.
pub fn receiver(bytes: usize) -> ArenaConfig {
    let class = |payload_bytes: usize, hundredths: usize| ClassConfig {
        payload_bytes,
        slots: u32::try_from(bytes / 100 * hundredths / payload_bytes).unwrap_or(u32::MAX).max(1),
    };
    let longest = FRAME_BYTES_MAX.next_multiple_of(4_096);
    config(vec![
        class(SMALL_BYTES, 1),
        class(64 << 10, 4),
        class(1 << 20, 10),
        class(MESSAGE_BYTES, 75),
        class(longest, 10),
    ])
}

fn config(classes: Vec<ClassConfig>) -> ArenaConfig {
    ArenaConfig { classes, huge_pages: true, prefault: false }
}

#[cfg(test)]
mod tests {
    use levada_engine::Arena;

    use super::*;
    use crate::stages::ChunkRecord;

    #[test]
    fn a_budget_is_kept_and_every_size_has_a_slot() {
        let arena = Arena::<ChunkRecord>::new(&receiver(128 << 20)).unwrap();
        assert!(arena.bytes() <= 128 << 20, "{}", arena.bytes());
        let slots = |bytes| (0..).map_while(|_| arena.claim(bytes).ok()).collect::<Vec<_>>().len();
        assert!(slots(CHUNK_BYTES_MAX + 60_000) >= 24);
        assert_eq!(Arena::<ChunkRecord>::new(&receiver(0)).unwrap().payload_bytes_max(), FRAME_BYTES_MAX);
        let sending = Arena::<ChunkRecord>::new(&sender(3)).unwrap();
        assert_eq!(sending.bytes(), 256 * SMALL_BYTES + 3 * CHUNK_BYTES_MAX);
    }
}
