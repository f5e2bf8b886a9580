//! A short sequence of fixed capacity, in place: what a node of the tree holds.

use std::ops::{Deref, DerefMut};

/// At most `N` entries, in order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row<T, const N: usize> {
    len: usize,
    entries: [T; N],
}

impl<T: Copy + Default, const N: usize> Row<T, N> {
    /// The given entries, at most `N`.
    pub fn of(entries: &[T]) -> Self {
        let mut row = Self { len: entries.len(), entries: [T::default(); N] };
        row.entries[..entries.len()].copy_from_slice(entries);
        row
    }

    pub fn is_full(&self) -> bool {
        self.len == N
    }

    /// Puts an entry before the one at `at`; the row must not be full.
    pub fn insert(&mut self, at: usize, entry: T) {
        self.entries.copy_within(at..self.len, at + 1);
        self.entries[at] = entry;
        self.len += 1;
    }

    /// Removes the first `count` entries.
    pub fn remove_front(&mut self, count: usize) {
        self.entries.copy_within(count..self.len, 0);
        self.len -= count;
    }

    /// Puts an entry into a full row and returns the part that no longer fits. An entry behind all others goes alone, if it is
    /// the last of the whole tree: messages come nearly in the order of time, and rows that are left behind full take half the
    /// room. Anywhere else a sender could choose timestamps that leave one entry to a row.
    pub fn insert_splitting(&mut self, at: usize, entry: T, is_last: bool) -> Self {
        if is_last && at == N {
            return Self::of(&[entry]);
        }
        let mut right = Self::of(&self.entries[N / 2..]);
        self.len = N / 2;
        if at <= self.len {
            self.insert(at, entry);
        } else {
            right.insert(at - self.len, entry);
        }
        right
    }
}

impl<T, const N: usize> Deref for Row<T, N> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.entries[..self.len]
    }
}

impl<T, const N: usize> DerefMut for Row<T, N> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.entries[..self.len]
    }
}
