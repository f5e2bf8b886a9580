//! What store-sync compares: how many messages there are, and one fingerprint of them all.

use crate::Hash;

/// The messages of a range, in short. Two nodes whose summaries of a range agree hold the same messages in it, unless
/// somebody has found hashes that cancel each other out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// How many.
    pub count: u64,
    /// Their hashes, combined by exclusive or; zeros for none.
    pub fingerprint: Hash,
}

impl Summary {
    /// Of one message.
    pub(super) fn of(hash: &Hash) -> Self {
        Self { count: 1, fingerprint: *hash }
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.count += other.count;
        xor(&mut self.fingerprint, &other.fingerprint);
    }

    /// Takes out what was added before.
    pub(super) fn subtract(&mut self, other: &Self) {
        self.count -= other.count;
        xor(&mut self.fingerprint, &other.fingerprint);
    }
}

fn xor(into: &mut Hash, hash: &Hash) {
    into.iter_mut().zip(hash).for_each(|(byte, other)| *byte ^= other);
}
