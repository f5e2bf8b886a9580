//! Frames: an unsigned varint that says how many bytes follow, and those bytes.

use std::io;

use futures::{AsyncRead, AsyncReadExt};
use levada_wire::varint;

/// Memory for a frame grows by this much at a time, as its bytes come: a length alone reserves no more.
const GROWTH_BYTES: usize = 16 << 10;

/// Why a frame was not read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FrameFault {
    /// The length is over the limit.
    #[error("a frame of more than {bytes_max} bytes")]
    TooLong {
        /// The limit.
        bytes_max: usize,
    },
    /// The length is not a minimal varint.
    #[error("a frame whose length is no minimal varint")]
    Prefix,
    /// The stream ended or broke.
    #[error("{0}")]
    Stream(#[from] io::Error),
}

/// Reads one byte.
pub(crate) async fn read_byte<S: AsyncRead + Unpin>(stream: &mut S) -> io::Result<u8> {
    let mut byte = [0];
    stream.read_exact(&mut byte).await?;
    Ok(byte[0])
}

/// Reads a frame of at most `bytes_max` bytes, of which `first` is the first byte of the length.
///
/// # Errors
///
/// [`FrameFault`]; the stream cannot be read on after any.
pub(crate) async fn read_frame<S: AsyncRead + Unpin>(
    stream: &mut S,
    first: u8,
    bytes_max: usize,
) -> Result<Vec<u8>, FrameFault> {
    let length = read_length(stream, first, bytes_max).await?;
    Ok(read_body(stream, length).await?)
}

/// Reads the body of a frame, `length` bytes.
pub(crate) async fn read_body<S: AsyncRead + Unpin>(stream: &mut S, length: usize) -> io::Result<Vec<u8>> {
    let mut frame = Vec::new();
    while frame.len() < length {
        let at = frame.len();
        let more = GROWTH_BYTES.max(at).min(length - at);
        frame.try_reserve_exact(more).map_err(io::Error::other)?;
        frame.resize(at + more, 0);
        stream.read_exact(&mut frame[at..]).await?;
    }
    Ok(frame)
}

/// Reads the rest of the length that begins with `first`.
pub(crate) async fn read_length<S: AsyncRead + Unpin>(
    stream: &mut S,
    first: u8,
    bytes_max: usize,
) -> Result<usize, FrameFault> {
    let mut prefix = [first, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let prefix_max = varint::len(bytes_max as u64);
    let mut count = 1;
    while prefix[count - 1] & 0x80 != 0 {
        if count == prefix_max {
            return Err(FrameFault::TooLong { bytes_max });
        }
        prefix[count] = read_byte(stream).await?;
        count += 1;
    }
    let (length, _) = varint::decode(&prefix[..count]).map_err(|_| FrameFault::Prefix)?;
    if varint::len(length) != count {
        return Err(FrameFault::Prefix);
    }
    if length > bytes_max as u64 {
        return Err(FrameFault::TooLong { bytes_max });
    }
    Ok(length as usize)
}

/// The length of a frame as it goes in front of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prefix {
    bytes: [u8; varint::VARINT_BYTES_MAX],
    count: usize,
}

impl Prefix {
    pub(crate) fn of(frame_bytes: u64) -> Self {
        let mut bytes = [0; varint::VARINT_BYTES_MAX];
        let count = varint::encode(frame_bytes, &mut bytes).expect("ten bytes hold any varint");
        Self { bytes, count }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.count]
    }
}

#[cfg(test)]
mod tests {
    use futures::executor::block_on;
    use futures::io::Cursor;

    use super::{FrameFault, GROWTH_BYTES, Prefix, io, read_frame};

    fn read(bytes: &[u8], bytes_max: usize) -> Result<Vec<u8>, FrameFault> {
        block_on(read_frame(&mut Cursor::new(&bytes[1..]), bytes[0], bytes_max))
    }

    #[test]
    fn frames_of_every_length_up_to_the_limit() {
        for length in [0, 1, 127, 128, GROWTH_BYTES - 1, GROWTH_BYTES, GROWTH_BYTES + 1, 5 * GROWTH_BYTES + 3] {
            let body: Vec<u8> = (0..length).map(|at| at as u8).collect();
            let wire = [Prefix::of(length as u64).bytes(), &body, b"behind"].concat();
            assert_eq!(read(&wire, length).expect("within the limit"), body);
            if length > 0 {
                assert!(matches!(read(&wire, length - 1), Err(FrameFault::TooLong { .. })), "{length}");
                let cut = read(&wire[..wire.len() - 7], length).expect_err("the last byte of the frame is missing");
                assert!(matches!(cut, FrameFault::Stream(error) if error.kind() == io::ErrorKind::UnexpectedEof));
            }
        }
    }

    #[test]
    fn lengths_that_are_none() {
        for wire in [&[0x80, 0x00][..], &[0x81, 0x80, 0x00], &[0xff, 0xff, 0x00]] {
            assert!(matches!(read(wire, 1 << 20), Err(FrameFault::Prefix)), "{wire:02x?}");
        }
        for wire in [&[0xff; 11][..], &[0xff, 0xff, 0xff, 0xff, 0x0f]] {
            assert!(matches!(read(wire, 1 << 20), Err(FrameFault::TooLong { .. })), "{wire:02x?}");
        }
    }
}
