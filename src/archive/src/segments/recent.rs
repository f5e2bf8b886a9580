//! The newest records in memory: they are asked for most, and direct writes leave nothing of them in the page cache.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use super::format::Location;

/// What was last written, in the order of the log; as much of it as there are blocks. See [`super::block::Blocks`].
#[derive(Debug, Default)]
pub(super) struct Recent {
    pieces: Mutex<VecDeque<Piece>>,
}

/// A stretch of a segment.
#[derive(Debug)]
struct Piece {
    /// The turn of the block that it lies in.
    turn: u64,
    place: Location,
    bytes: Bytes,
}

impl Recent {
    /// Adds what goes to `place`, behind everything before.
    pub(super) fn add(&self, turn: u64, place: Location, bytes: Bytes) {
        self.lock().push_back(Piece { turn, place, bytes });
    }

    /// Lets go of what lies in blocks up to the one of `turn`.
    pub(super) fn remove_up_to(&self, turn: u64) {
        let mut pieces = self.lock();
        while pieces.front().is_some_and(|piece| piece.turn <= turn) {
            pieces.pop_front();
        }
    }

    /// Fills `record` with what was written to `place` on; false unless all of it is here.
    pub(super) fn read(&self, place: Location, record: &mut [u8]) -> bool {
        let pieces = self.lock();
        let behind = pieces.partition_point(|piece| key(piece.place) <= key(place));
        let Some(first) = behind.checked_sub(1) else { return false };
        let (mut at, mut rest) = (place, record);
        for piece in pieces.range(first..) {
            if rest.is_empty() {
                return true;
            }
            let skip = at.offset.wrapping_sub(piece.place.offset);
            if piece.place.segment != at.segment || skip >= piece.bytes.len() as u64 {
                return false;
            }
            let bytes = &piece.bytes[skip as usize..];
            let (filled, unfilled) = rest.split_at_mut(bytes.len().min(rest.len()));
            filled.copy_from_slice(&bytes[..filled.len()]);
            at.offset += filled.len() as u64;
            rest = unfilled;
        }
        rest.is_empty()
    }

    /// Nothing that can panic leaves the pieces between two states.
    fn lock(&self) -> MutexGuard<'_, VecDeque<Piece>> {
        self.pieces.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(place: Location) -> (u32, u64) {
    (place.segment, place.offset)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::{Location, Recent};

    #[test]
    fn records_are_found_whole_or_not_at_all() {
        let recent = Recent::default();
        let text: Vec<u8> = (0..100).collect();
        let add = |turn, segment, offset: u64, range: std::ops::Range<usize>| {
            recent.add(turn, Location { segment, offset }, Bytes::copy_from_slice(&text[range]));
        };
        add(0, 1, 10, 10..20);
        add(0, 1, 20, 20..40);
        add(1, 1, 40, 40..41);
        // A gap, and another segment.
        add(1, 1, 50, 50..60);
        add(2, 2, 60, 60..70);
        let read = |segment, offset: u64, bytes: usize| {
            let mut record = vec![0; bytes];
            recent.read(Location { segment, offset }, &mut record).then_some(record)
        };
        for (segment, from, to) in [(1, 10, 41), (1, 15, 25), (1, 40, 41), (1, 50, 60), (2, 60, 70), (2, 69, 70)] {
            assert_eq!(read(segment, from, (to - from) as usize).as_deref(), Some(&text[from as usize..to as usize]));
        }
        for (segment, from, to) in
            [(1, 9, 12), (1, 30, 42), (1, 41, 50), (1, 55, 65), (1, 60, 70), (2, 65, 71), (3, 60, 61)]
        {
            assert_eq!(read(segment, from, (to - from) as usize), None, "{segment}: {from}..{to}");
        }
        recent.remove_up_to(1);
        assert_eq!((read(1, 50, 10), read(2, 60, 10).is_some()), (None, true));
    }
}
