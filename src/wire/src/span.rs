//! A byte range by offset and length: what walks return instead of slices, so that a record can keep it.

/// A range of bytes inside one message or frame of at most `u32::MAX` bytes.
///
/// A span borrows nothing: whoever holds it must use it with the bytes it was made from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Number of bytes.
    pub len: u32,
}

impl Span {
    /// The span's bytes within `bytes`; empty if the span does not lie inside them, which only happens when `bytes` is
    /// not what the span was made from. Never panics.
    #[inline]
    pub fn of(self, bytes: &[u8]) -> &[u8] {
        let start = self.start as usize;
        start.checked_add(self.len as usize).and_then(|end| bytes.get(start..end)).unwrap_or_default()
    }

    /// Offset just behind the last byte.
    #[inline]
    pub fn end(self) -> usize {
        self.start as usize + self.len as usize
    }

    /// Whether the span holds no byte.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// The span of `start..end`. Callers have refused inputs above `u32::MAX` bytes, so that both offsets fit.
    #[inline]
    pub(crate) fn between(start: usize, end: usize) -> Self {
        debug_assert!(start <= end && end <= u32::MAX as usize, "walks refuse inputs above u32::MAX bytes");
        Self { start: start as u32, len: (end - start) as u32 }
    }
}

#[cfg(test)]
mod tests {
    use super::Span;

    #[test]
    fn a_span_outside_the_bytes_is_empty() {
        let bytes = [1, 2, 3];
        assert_eq!(Span { start: 1, len: 2 }.of(&bytes), [2, 3]);
        assert_eq!(Span { start: 3, len: 0 }.of(&bytes), [0; 0]);
        assert_eq!(Span { start: 2, len: 2 }.of(&bytes), [0; 0]);
        assert_eq!(Span { start: u32::MAX, len: u32::MAX }.of(&bytes), [0; 0]);
    }
}
