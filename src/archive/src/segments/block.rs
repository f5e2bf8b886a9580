//! The block that records are gathered in on their way to the disk.

use super::format::ALIGNMENT;

/// Bytes gathered into one write: large enough for the disk to be busy, small enough to stay in the cache of a core.
pub(super) const BLOCK_BYTES: usize = 1 << 20;

/// A buffer of [`BLOCK_BYTES`] at an address that direct writes accept.
#[derive(Debug)]
pub(super) struct Block {
    /// Longer than the block by one alignment, so that an aligned stretch of its length lies inside. Never grows.
    bytes: Vec<u8>,
    start: usize,
    filled: usize,
}

impl Block {
    pub(super) fn new() -> Self {
        let bytes = vec![0; BLOCK_BYTES + ALIGNMENT];
        let start = bytes.as_ptr().addr().wrapping_neg() % ALIGNMENT;
        Self { bytes, start, filled: 0 }
    }

    /// Copies as much of `bytes` as fits and returns the rest.
    pub(super) fn gather<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let (fitting, rest) = bytes.split_at(bytes.len().min(BLOCK_BYTES - self.filled));
        let at = self.start + self.filled;
        self.bytes[at..at + fitting.len()].copy_from_slice(fitting);
        self.filled += fitting.len();
        rest
    }

    pub(super) fn filled(&self) -> &[u8] {
        &self.bytes[self.start..self.start + self.filled]
    }

    pub(super) fn is_full(&self) -> bool {
        self.filled == BLOCK_BYTES
    }

    pub(super) fn clear(&mut self) {
        self.filled = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::{BLOCK_BYTES, Block};
    use crate::segments::format::ALIGNMENT;

    #[test]
    fn gathers_at_an_aligned_address_up_to_its_end() {
        let mut block = Block::new();
        assert!(block.gather(&[7; BLOCK_BYTES - 3]).is_empty());
        assert_eq!(block.gather(&[1, 2, 3, 4, 5]), [4, 5]);
        assert!(block.is_full());
        assert_eq!(block.filled().as_ptr().addr() % ALIGNMENT, 0);
        assert_eq!(block.filled()[BLOCK_BYTES - 4..], [7, 1, 2, 3]);
        block.clear();
        assert!(block.filled().is_empty());
    }
}
