//! What is to be hashed: pieces that stay where they are, and what their digest counts as.

use super::TIMESTAMP_BYTES;
use super::kernel::{BLOCK_BYTES, Block};

/// Borrowed pieces of a job at most.
pub const PIECES_MAX: usize = 5;

/// Bytes of the message length that ends the last block.
const LENGTH_BYTES: usize = 8;

/// What a digest is for, so that it is counted as such.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    MessageHash,
    MessageId,
    Uncounted,
}

/// One message to hash: its pieces one after another, none of which is copied or joined.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    pieces: [&'a [u8]; PIECES_MAX],
    /// The last bytes, kept inside since nothing would own them elsewhere; empty unless this is a message hash.
    time: [u8; TIMESTAMP_BYTES],
    time_bytes: u8,
    kind: Kind,
    bytes: u64,
}

impl<'a> Job<'a> {
    /// A deterministic message hash (14/WAKU2-MESSAGE): see [`message_hash`](super::message_hash).
    pub fn message_hash(
        pubsub_topic: &'a str,
        payload: &'a [u8],
        content_topic: &'a (impl AsRef<[u8]> + ?Sized),
        meta: &'a [u8],
        timestamp: i64,
    ) -> Self {
        let pieces = [pubsub_topic.as_bytes(), payload, content_topic.as_ref(), meta];
        let time = timestamp.to_be_bytes();
        Self { time, ..Self::new(&pieces, TIMESTAMP_BYTES, Kind::MessageHash) }
    }

    /// A gossipsub message id (11/WAKU2-RELAY): see [`message_id`](super::message_id).
    pub fn message_id(data: &'a [u8]) -> Self {
        Self::new(&[data], 0, Kind::MessageId)
    }

    /// Plain SHA-256 over at most [`PIECES_MAX`] pieces (more do not compile), not counted.
    pub fn uncounted<const PIECES: usize>(pieces: [&'a [u8]; PIECES]) -> Self {
        const { assert!(PIECES <= PIECES_MAX, "a job has at most PIECES_MAX pieces") };
        Self::new(&pieces, 0, Kind::Uncounted)
    }

    fn new(given: &[&'a [u8]], time_bytes: usize, kind: Kind) -> Self {
        let mut pieces: [&[u8]; PIECES_MAX] = [&[]; PIECES_MAX];
        pieces[..given.len()].copy_from_slice(given);
        let bytes = given.iter().map(|piece| piece.len() as u64).sum::<u64>() + time_bytes as u64;
        Self { pieces, time: [0; TIMESTAMP_BYTES], time_bytes: time_bytes as u8, kind, bytes }
    }

    /// Bytes that go into the hash.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Blocks that the compression function takes for it: the bytes, at least one byte of padding, and the length.
    pub(super) fn blocks(&self) -> u64 {
        (self.bytes + LENGTH_BYTES as u64) / BLOCK_BYTES as u64 + 1
    }

    pub(super) fn kind(&self) -> Kind {
        self.kind
    }

    /// All pieces in order, the time too.
    pub(super) fn parts(&self) -> [&[u8]; PIECES_MAX + 1] {
        let [first, second, third, fourth, fifth] = self.pieces;
        [first, second, third, fourth, fifth, self.time()]
    }

    fn time(&self) -> &[u8] {
        &self.time[..usize::from(self.time_bytes)]
    }

    fn part(&self, part: usize) -> Option<&[u8]> {
        match self.pieces.get(part) {
            Some(piece) => Some(piece),
            None => (part == PIECES_MAX).then(|| self.time()),
        }
    }
}

/// The next blocks of a message.
pub(super) enum Run<'j> {
    /// They lie in a piece.
    InPlace(&'j [Block]),
    /// They were put together: this many blocks of the tail.
    Tail(usize),
    /// The last block was handed out before.
    End,
}

/// How far the blocks of a job have been handed out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'j> {
    job: &'j Job<'j>,
    part: usize,
    /// What is left of that part.
    rest: &'j [u8],
    /// Bytes of the message from here on.
    left: u64,
    padded: bool,
}

impl<'j> Cursor<'j> {
    pub fn new(job: &'j Job<'j>) -> Self {
        Self { job, part: 0, rest: job.pieces[0], left: job.bytes, padded: false }
    }

    /// Goes on to the next blocks: in place where a piece holds a whole one, else put together in `tail`.
    pub fn next_run(&mut self, tail: &mut [Block; 2]) -> Run<'j> {
        let (blocks, rest) = self.rest.as_chunks::<BLOCK_BYTES>();
        if !blocks.is_empty() {
            self.rest = rest;
            self.left -= (blocks.len() * BLOCK_BYTES) as u64;
            return Run::InPlace(blocks);
        }
        if self.padded {
            return Run::End;
        }
        let [first, second] = tail;
        let filled = self.fill(first);
        if filled == BLOCK_BYTES {
            if self.left >= (BLOCK_BYTES - LENGTH_BYTES) as u64 {
                return Run::Tail(1);
            }
            // The end fits a second block: one run instead of two.
            let filled = self.fill(second);
            self.pad(second, filled);
            return Run::Tail(2);
        }
        if filled < BLOCK_BYTES - LENGTH_BYTES {
            self.pad(first, filled);
            return Run::Tail(1);
        }
        first[filled] = 0x80;
        first[filled + 1..].fill(0);
        self.pad(second, 0);
        second[0] = 0;
        Run::Tail(2)
    }

    /// Copies the next bytes of the message, a whole block if there are as many, and returns how many there were.
    fn fill(&mut self, block: &mut Block) -> usize {
        let mut filled = 0;
        while filled < BLOCK_BYTES {
            if self.rest.is_empty() {
                self.part += 1;
                match self.job.part(self.part) {
                    Some(part) => self.rest = part,
                    None => break,
                }
                continue;
            }
            let taken = self.rest.len().min(BLOCK_BYTES - filled);
            let (now, later) = self.rest.split_at(taken);
            block[filled..filled + taken].copy_from_slice(now);
            self.rest = later;
            filled += taken;
        }
        self.left -= filled as u64;
        filled
    }

    /// Ends the message in `block`, behind its first `filled` bytes: a one bit, zeros, the length in bits.
    fn pad(&mut self, block: &mut Block, filled: usize) {
        block[filled..].fill(0);
        block[filled] = 0x80;
        block[BLOCK_BYTES - LENGTH_BYTES..].copy_from_slice(&(self.job.bytes << 3).to_be_bytes());
        self.padded = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The length field of the last block, at any length, without hashing what comes before.
    #[test]
    fn the_length_in_bits_has_64_bits() {
        // Never touched but for its last bytes: memory that is zero costs nothing to borrow from.
        let zeros = vec![0; (1 << 29) / 5 + 20];
        for bytes in [0, 1, 55, 56, 63, 64, (1 << 29) - 1, 1 << 29, (1 << 29) + 77] {
            let job = Job::uncounted([0, 1, 2, 3, 4].map(|piece| &zeros[..(bytes + piece) / 5]));
            assert_eq!(job.bytes(), bytes as u64);
            let (mut cursor, mut tail, mut blocks, mut last) = (Cursor::new(&job), [[0xff; 64]; 2], 0, 0);
            loop {
                let run = match cursor.next_run(&mut tail) {
                    Run::InPlace(run) => run.len(),
                    Run::Tail(run) => run,
                    Run::End => break,
                };
                (blocks, last) = (blocks + run as u64, run);
            }
            assert_eq!(blocks, job.blocks(), "{bytes} bytes");
            let length = &tail[last - 1][BLOCK_BYTES - LENGTH_BYTES..];
            assert_eq!(length, (bytes as u64 * 8).to_be_bytes(), "{bytes} bytes");
        }
    }
}
