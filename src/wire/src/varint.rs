//! Unsigned varints, and the varint length prefix that frames every message on a libp2p stream.

use crate::Span;
use crate::error::{FrameError, VarintError};

/// Bytes of the longest varint: 64 bits at seven per byte.
pub const VARINT_BYTES_MAX: usize = 10;

/// Bytes that `value` takes as a varint, 1 to 10.
#[inline]
pub fn len(value: u64) -> usize {
    // One byte per started group of seven bits; zero takes a byte as well.
    (64 - (value | 1).leading_zeros() as usize).div_ceil(7)
}

/// Writes `value` to the front of `out`; returns the bytes written, or `None` if `out` is shorter than [`len`] of it.
#[inline]
pub fn encode(mut value: u64, out: &mut [u8]) -> Option<usize> {
    let written = len(value);
    let (last, rest) = out.get_mut(..written)?.split_last_mut()?;
    for byte in rest {
        *byte = value as u8 | 0x80;
        value >>= 7;
    }
    *last = value as u8;
    Some(written)
}

/// Reads the varint at the front of `bytes`: its value and the bytes it took.
///
/// Padded forms (`80 00` for zero) are read, as protobuf demands; [`decode_frame`] is stricter.
///
/// # Errors
/// [`VarintError::Truncated`] if `bytes` ends inside it, [`VarintError::TooLong`] if it does not fit 64 bits.
#[inline(always)]
pub fn decode(bytes: &[u8]) -> Result<(u64, usize), VarintError> {
    match bytes.first() {
        Some(&byte) if byte < 0x80 => Ok((u64::from(byte), 1)),
        Some(_) => decode_long(bytes),
        None => Err(VarintError::Truncated),
    }
}

/// The varint of more than one byte. With eight bytes at hand its end is found in one word, without a branch per byte: a
/// timestamp has nine bytes, and no other field of a message costs as much. Inlined by force: the result of a call goes through memory.
#[inline(always)]
fn decode_long(bytes: &[u8]) -> Result<(u64, usize), VarintError> {
    const CONTINUE_BITS: u64 = 0x8080_8080_8080_8080;
    let Some((&word, rest)) = bytes.split_first_chunk::<8>() else { return decode_bytewise(bytes) };
    let word = u64::from_le_bytes(word);
    let ends = !word & CONTINUE_BITS;
    if ends == 0 {
        return match *rest {
            [ninth @ ..0x80, ..] => Ok((join_sevens(word) | u64::from(ninth) << 56, 9)),
            // The tenth byte carries bit 63 alone.
            [ninth, tenth @ ..2, ..] => {
                Ok((join_sevens(word) | u64::from(ninth & 0x7f) << 56 | u64::from(tenth) << 63, VARINT_BYTES_MAX))
            }
            [_, _, ..] => Err(VarintError::TooLong),
            _ => Err(VarintError::Truncated),
        };
    }
    // All bits up to the lowest set one, which is the top bit of the last byte.
    let kept = word & (ends ^ (ends - 1));
    Ok((join_sevens(kept), (ends.trailing_zeros() / 8 + 1) as usize))
}

/// Joins the low seven bits of each byte to one number of 56 bits: pairs of bytes, pairs of pairs, halves.
#[inline(always)]
fn join_sevens(word: u64) -> u64 {
    let pairs = (word & 0x007f_007f_007f_007f) | ((word & 0x7f00_7f00_7f00_7f00) >> 1);
    let quads = (pairs & 0x0000_3fff_0000_3fff) | ((pairs & 0x3fff_0000_3fff_0000) >> 2);
    (quads & 0x0fff_ffff) | ((quads & 0x0fff_ffff_0000_0000) >> 4)
}

/// Where fewer than eight bytes are left.
fn decode_bytewise(bytes: &[u8]) -> Result<(u64, usize), VarintError> {
    let mut value = 0;
    for (index, &byte) in bytes.iter().enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte < 0x80 {
            return Ok((value, index + 1));
        }
    }
    Err(VarintError::Truncated)
}

/// Looks for one length-prefixed frame at the front of `bytes`.
///
/// Gives the span of the frame's body, without its prefix; the next frame starts at the span's [`Span::end`]. `None` means
/// that more bytes must arrive first. A frame over the limit is refused as soon as its prefix is known, so that a reader
/// never has to hold more than the limit and a prefix.
///
/// # Errors
/// [`FrameError::TooLong`] above `frame_bytes_max`, [`FrameError::NotMinimal`] for a padded prefix (the multiformats
/// unsigned-varint specification forbids it), [`FrameError::Prefix`] if the prefix is no varint. The stream cannot be
/// read on after any of them.
pub fn decode_frame(bytes: &[u8], frame_bytes_max: u32) -> Result<Option<Span>, FrameError> {
    let (body_len, prefix_len) = match decode(bytes) {
        Ok(prefix) => prefix,
        Err(VarintError::Truncated) => return Ok(None),
        Err(error) => return Err(FrameError::Prefix(error)),
    };
    if prefix_len != len(body_len) {
        return Err(FrameError::NotMinimal);
    }
    match u32::try_from(body_len) {
        Ok(len) if len <= frame_bytes_max => {
            let body = Span { start: prefix_len as u32, len };
            Ok((body.end() <= bytes.len()).then_some(body))
        }
        _ => Err(FrameError::TooLong { frame_bytes: body_len, frame_bytes_max }),
    }
}

#[cfg(test)]
mod tests {
    use super::{VARINT_BYTES_MAX, decode, decode_frame, encode, len};
    use crate::Span;
    use crate::error::{FrameError, VarintError};

    #[test]
    fn round_trip_at_every_length_boundary() {
        let edges = (0..64).flat_map(|bit| [(1u64 << bit) - 1, 1 << bit, (1 << bit) + 1]).chain([u64::MAX]);
        for value in edges {
            let mut out = [0xaa; VARINT_BYTES_MAX];
            let written = encode(value, &mut out).expect("ten bytes hold any varint");
            assert_eq!(written, len(value));
            assert_eq!(decode(&out[..written]), Ok((value, written)));
            // What follows a varint does not change it, whichever way it is read.
            for behind in [0x00, 0x7f, 0x80, 0xff] {
                let longer = [&out[..written], &[behind; 10]].concat();
                assert_eq!(decode(&longer), Ok((value, written)), "{value} before {behind:02x}");
            }
            assert_eq!(decode(&out[..written - 1]), Err(VarintError::Truncated), "{value}");
            assert_eq!(encode(value, &mut out[..written - 1]), None);
        }
        assert_eq!((len(0), len(127), len(128), len(u64::MAX)), (1, 1, 2, 10));
    }

    #[test]
    fn overlong_varints_are_refused_and_padded_ones_read() {
        for padding in 1..10 {
            let mut padded = [0x80; 10];
            padded[0] = 0x85;
            padded[padding] = 0;
            assert_eq!(decode(&padded), Ok((5, padding + 1)));
            assert_eq!(decode(&padded[..=padding]), Ok((5, padding + 1)));
        }
        assert_eq!(decode(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02]), Err(VarintError::TooLong));
        assert_eq!(decode(&[0x80; 11]), Err(VarintError::TooLong));
        assert_eq!(decode(&[0x80; 10]), Err(VarintError::TooLong));
        assert_eq!(decode(&[0x80; 9]), Err(VarintError::Truncated));
        assert_eq!(decode(&[]), Err(VarintError::Truncated));
    }

    #[test]
    fn frames_are_found_once_complete_and_refused_over_the_limit() {
        let stream = [&[3, b'a', b'b', b'c'][..], &[0], &[1, b'd']].concat();
        let first = decode_frame(&stream, 3).expect("within the limit").expect("complete");
        assert_eq!((first, first.of(&stream)), (Span { start: 1, len: 3 }, &b"abc"[..]));
        let second = decode_frame(&stream[first.end()..], 3).expect("within the limit").expect("complete");
        assert_eq!(second, Span { start: 1, len: 0 });
        for cut in 0..4 {
            assert_eq!(decode_frame(&stream[..cut], 3), Ok(None), "{cut} bytes");
        }
        let too_long = FrameError::TooLong { frame_bytes: 3, frame_bytes_max: 2 };
        assert_eq!(decode_frame(&stream[..1], 2), Err(too_long));
        assert_eq!(decode_frame(&[0x83, 0x00, 1, 2, 3], 100), Err(FrameError::NotMinimal));
        assert_eq!(decode_frame(&[0xff; 10], 100), Err(FrameError::Prefix(VarintError::TooLong)));
        let huge = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert!(matches!(decode_frame(&huge, u32::MAX), Err(FrameError::TooLong { .. })));
    }
}
