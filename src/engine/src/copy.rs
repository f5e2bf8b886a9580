//! Copies of payloads that take the same time wherever the two sides lie.
//!
//! For more than a few kilobytes libc's `memcpy` is one `rep movsb`. Where the target begins 1 to 32 bytes behind the source, counted
//! within a page, that takes AMD's Zen 3 twelve times as long as anywhere else: 35 µs and not 3 for 65 kB in the cache. Short pieces
//! are copied by a loop that does not know such places; into memory that is not in the cache they are slower than one instruction
//! otherwise, so only those places get them.

/// So far behind the source, modulo a page, the target is in a bad place.
const NEAR_BYTES: usize = 32;
const PAGE_BYTES: usize = 4_096;
/// Less than what libc gives to `rep movsb` at any width of vectors.
const PIECE_BYTES: usize = 1_024;

/// Copies as many bytes as both slices have.
#[inline]
pub fn copy(from: &[u8], into: &mut [u8]) {
    let bytes = from.len().min(into.len());
    let (from, into) = (&from[..bytes], &mut into[..bytes]);
    if is_slow(from.as_ptr(), into.as_ptr()) {
        into.chunks_mut(PIECE_BYTES).zip(from.chunks(PIECE_BYTES)).for_each(|(into, from)| into.copy_from_slice(from));
    } else {
        into.copy_from_slice(from);
    }
}

/// Appends `from` to `into`, which grows if there is no room.
#[inline]
pub fn append(from: &[u8], into: &mut Vec<u8>) {
    into.reserve(from.len());
    if is_slow(from.as_ptr(), into.spare_capacity_mut().as_ptr().cast()) {
        from.chunks(PIECE_BYTES).for_each(|piece| into.extend_from_slice(piece));
    } else {
        into.extend_from_slice(from);
    }
}

fn is_slow(from: *const u8, into: *const u8) -> bool {
    (1..=NEAR_BYTES).contains(&(into.addr().wrapping_sub(from.addr()) % PAGE_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_arrives_wherever_the_sides_lie() {
        let from: Vec<u8> = (0..20_000_u32).map(|number| (number % 251) as u8).collect();
        for bytes in [0, 1, 1_023, 1_024, 1_025, 10_000] {
            for apart in [0, 1, 31, 32, 33, 4_000] {
                let mut into = vec![0; 20_000];
                let at = from.as_ptr().addr().wrapping_sub(into.as_ptr().addr()).wrapping_add(apart) % PAGE_BYTES;
                copy(&from[..bytes], &mut into[at..at + bytes]);
                assert_eq!(into[at..at + bytes], from[..bytes], "{bytes} bytes, {apart} apart");
                assert!(into[..at].iter().chain(&into[at + bytes..]).all(|byte| *byte == 0));
                into.truncate(at);
                append(&from[..bytes], &mut into);
                assert_eq!(into[at..], from[..bytes], "{bytes} bytes appended, {apart} apart");
            }
        }
    }

    #[test]
    fn the_shorter_side_tells_how_much_is_copied() {
        let mut into = [0; 3];
        copy(&[1, 2], &mut into);
        assert_eq!(into, [1, 2, 0]);
        copy(&[3, 4, 5, 6], &mut into);
        assert_eq!(into, [3, 4, 5]);
    }
}
