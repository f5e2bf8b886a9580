//! The blocks that records are gathered in on their way to the disk.
//!
//! They take turns, and each keeps what it held until its turn comes again: the newest messages are served from there (see [`Recent`]).
//! What was handed to the disk or to readers is never written over, because a block is filled again only when nobody holds a part of it.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};

use super::format::{ALIGNMENT, Location};
use super::recent::Recent;

/// Bytes of a block.
const BLOCK_BYTES: usize = 1 << 20;
/// Fewer blocks would all be on their way to the disk at once.
const BLOCKS_MIN: usize = 16;

/// The block that is being filled, at an address that direct writes accept, and those that were filled before.
#[derive(Debug)]
pub(super) struct Blocks {
    present: BytesMut,
    /// Bytes of the present block that were not handed out yet, those gathered included.
    left: usize,
    /// Turn of the present block.
    turn: u64,
    /// The others, the one filled longest ago first, with the turn of their last filling.
    filled: VecDeque<(u64, BytesMut)>,
    blocks_max: usize,
    recent: Arc<Recent>,
}

impl Blocks {
    /// Blocks of `bytes_max` bytes together. Memory is touched as it is filled.
    pub(super) fn new(bytes_max: usize, recent: Arc<Recent>) -> Self {
        let blocks_max = (bytes_max / BLOCK_BYTES).max(BLOCKS_MIN);
        Self { present: new_block(), left: BLOCK_BYTES, turn: 0, filled: VecDeque::new(), blocks_max, recent }
    }

    /// Copies as much of `bytes` as fits and returns the rest.
    pub(super) fn gather<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let (fitting, rest) = bytes.split_at(bytes.len().min(self.left - self.present.len()));
        self.present.extend_from_slice(fitting);
        rest
    }

    /// Bytes gathered.
    pub(super) fn gathered(&self) -> usize {
        self.present.len()
    }

    pub(super) fn is_full(&self) -> bool {
        self.present.len() == self.left
    }

    /// Hands out what was gathered, which goes to `place`, and keeps it for readers.
    pub(super) fn take(&mut self, place: Location) -> Bytes {
        self.left -= self.present.len();
        let taken = self.present.split().freeze();
        self.recent.add(self.turn, place, taken.clone());
        if self.left == 0 {
            self.turn();
        }
        taken
    }

    /// Forgets what was gathered and not handed out.
    pub(super) fn clear(&mut self) {
        self.present.clear();
    }

    /// The next block's turn: one that nobody holds any more, the oldest if possible.
    fn turn(&mut self) {
        let next = if self.filled.len() + 1 < self.blocks_max { None } else { self.reclaim() };
        let filled = std::mem::replace(&mut self.present, next.unwrap_or_else(new_block));
        self.filled.push_back((self.turn, filled));
        if self.filled.len() >= self.blocks_max {
            self.filled.pop_front();
        }
        self.turn += 1;
        self.left = BLOCK_BYTES;
    }

    fn reclaim(&mut self) -> Option<BytesMut> {
        for _ in 0..self.filled.len() {
            let (turn, mut block) = self.filled.pop_front()?;
            self.recent.remove_up_to(turn);
            if block.try_reclaim(BLOCK_BYTES + ALIGNMENT) {
                return Some(aligned(block));
            }
            self.filled.push_back((turn, block));
        }
        None
    }
}

fn new_block() -> BytesMut {
    aligned(BytesMut::with_capacity(BLOCK_BYTES + ALIGNMENT))
}

/// Gives up the bytes before the first aligned address.
pub(super) fn aligned(mut block: BytesMut) -> BytesMut {
    let before = block.as_ptr().addr().wrapping_neg() % ALIGNMENT;
    block.resize(before, 0);
    drop(block.split());
    block
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Arc;

    use super::{ALIGNMENT, BLOCK_BYTES, BLOCKS_MIN, Blocks, Location, Recent};

    fn place(offset: usize) -> Location {
        Location { segment: 3, offset: offset as u64 }
    }

    #[test]
    fn gathers_at_an_aligned_address_up_to_its_end() {
        let mut blocks = Blocks::new(0, Arc::default());
        assert!(blocks.gather(&[7; BLOCK_BYTES - 3]).is_empty());
        assert_eq!(blocks.gather(&[1, 2, 3, 4, 5]), [4, 5]);
        assert!(blocks.is_full());
        let taken = blocks.take(place(0));
        assert_eq!(taken.as_ptr().addr() % ALIGNMENT, 0);
        assert_eq!((taken.len(), &taken[BLOCK_BYTES - 4..]), (BLOCK_BYTES, &[7, 1, 2, 3][..]));
        assert!(blocks.gather(&[9; ALIGNMENT]).is_empty());
        blocks.clear();
        assert_eq!((blocks.gathered(), blocks.is_full()), (0, false));
    }

    #[test]
    fn blocks_take_turns_and_keep_what_somebody_holds() {
        let recent = Arc::new(Recent::default());
        let mut blocks = Blocks::new(0, Arc::clone(&recent));
        let mut addresses = HashSet::new();
        let mut held = None;
        for number in 0..100_usize {
            for half in [0, 1] {
                assert!(blocks.gather(&[number as u8; BLOCK_BYTES / 2]).is_empty());
                let taken = blocks.take(place((2 * number + half) * BLOCK_BYTES / 2));
                assert_eq!(taken.as_ptr().addr() % ALIGNMENT, 0);
                addresses.insert(taken.as_ptr().addr());
                if (number, half) == (50, 0) {
                    held = Some(taken);
                }
            }
            let mut newest = [0; 16];
            assert!(recent.read(place(number * BLOCK_BYTES + BLOCK_BYTES / 2 - 8), &mut newest));
            assert_eq!(newest, [number as u8; 16]);
        }
        assert!(held.expect("it was kept").iter().all(|byte| *byte == 50));
        assert_eq!(addresses.len(), 2 * BLOCKS_MIN, "no block was allocated but the first");
        assert!(!recent.read(place(50 * BLOCK_BYTES), &mut [0; 8]), "old blocks are not served");
    }
}
