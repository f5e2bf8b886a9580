//! `assemble`: a message goes from its stream into a slot, and stays there.
//!
//! A stream that tells the length beforehand gets the slot that fits. One that does not begins in a small slot and moves to
//! a larger one when that is full, which copies what it had: at most the class below, once per class.

use std::sync::Arc;

use levada_engine::{Arena, ClaimError, Held, HeldUnique, count_copy};

use super::record::ChunkRecord;

/// A message on its way into a slot.
#[derive(Debug)]
pub struct Assembly {
    slot: HeldUnique<ChunkRecord>,
    filled: usize,
    capacity: usize,
}

impl Assembly {
    /// Claims a slot for `bytes`, all of a message or what it begins with.
    ///
    /// # Errors
    /// [`ClaimError`]: the arena is full, or has no slot so large.
    pub fn new(arena: &Arena<ChunkRecord>, bytes: usize) -> Result<Self, ClaimError> {
        let mut slot = arena.claim(bytes)?.hold();
        let capacity = slot.payload_mut().len();
        Ok(Self { slot, filled: 0, capacity })
    }

    /// Where the stream's next bytes go; empty once the slot is full.
    pub fn room(&mut self) -> &mut [u8] {
        &mut self.slot.payload_mut()[self.filled..]
    }

    /// Where the next bytes go of a message that ends after `bytes` in all.
    pub fn room_to(&mut self, bytes: usize) -> &mut [u8] {
        let end = bytes.min(self.capacity).max(self.filled);
        &mut self.slot.payload_mut()[self.filled..end]
    }

    /// The stream has put `bytes` there.
    pub fn advance(&mut self, bytes: usize) {
        self.filled = (self.filled + bytes).min(self.capacity);
    }

    /// Bytes so far.
    pub fn filled(&self) -> usize {
        self.filled
    }

    /// The slot holds no more.
    pub fn is_full(&self) -> bool {
        self.filled == self.capacity
    }

    /// Moves to a slot of a larger class. The message stays where it is when that fails.
    ///
    /// # Errors
    /// [`ClaimError`], as for [`new`](Self::new).
    pub fn grow(&mut self, arena: &Arena<ChunkRecord>) -> Result<(), ClaimError> {
        let mut larger = arena.claim(self.capacity + 1)?.hold();
        larger.payload_mut()[..self.filled].copy_from_slice(&self.slot.payload_mut()[..self.filled]);
        count_copy(self.filled);
        self.capacity = larger.payload_mut().len();
        self.slot = larger;
        Ok(())
    }

    /// The message is complete; `connection` brought it.
    pub fn finish(mut self, connection: u64) -> Held<ChunkRecord> {
        self.slot.set_len(self.filled);
        self.slot.record_mut().connection = connection;
        self.slot.share()
    }
}

/// Gives back an envelope of `arena` as stages take it.
pub(crate) fn attached<'a>(
    held: Held<ChunkRecord>,
    arena: &'a Arc<Arena<ChunkRecord>>,
) -> levada_engine::Envelope<'a, ChunkRecord> {
    held.attach(arena).expect("every message of a node lies in its one arena")
}

#[cfg(test)]
mod tests {
    use levada_engine::{ArenaConfig, ClassConfig};

    use super::*;

    fn arena() -> Arc<Arena<ChunkRecord>> {
        let class = |payload_bytes| ClassConfig { payload_bytes, slots: 1 };
        let classes = vec![class(128), class(1_024)];
        Arena::new(&ArenaConfig { classes, huge_pages: false, prefault: false }).unwrap()
    }

    #[test]
    fn a_message_of_unknown_length_moves_up_once_per_class() {
        let arena = arena();
        let message: Vec<u8> = (0..1_000).map(|byte| byte as u8).collect();
        let mut assembly = Assembly::new(&arena, 1).unwrap();
        let mut rest = &message[..];
        while !rest.is_empty() {
            if assembly.is_full() {
                assembly.grow(&arena).unwrap();
            }
            let room = assembly.room();
            let bytes = room.len().min(rest.len());
            room[..bytes].copy_from_slice(&rest[..bytes]);
            assembly.advance(bytes);
            rest = &rest[bytes..];
        }
        let held = assembly.finish(7);
        assert_eq!((held.payload(), held.record().connection), (&message[..], 7));
        assert_eq!(arena.slots_in_use(), 1, "the smaller slot went back");
    }

    #[test]
    fn a_message_beyond_every_class_keeps_what_it_has() {
        let arena = arena();
        let mut assembly = Assembly::new(&arena, 1_000).unwrap();
        assembly.room().fill(3);
        assembly.advance(1_024);
        assert!(assembly.is_full() && assembly.room().is_empty());
        assert!(matches!(assembly.grow(&arena), Err(ClaimError::TooLarge { .. })));
        assert_eq!(assembly.finish(1).payload(), [3; 1_024]);
    }
}
