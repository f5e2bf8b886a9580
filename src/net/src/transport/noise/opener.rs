//! The receiving half of the record layer: one buffer that the socket fills, where records are opened and read.

use std::ops::Range;

use super::aead::{Aead, Cipher, Nonces, TAG_BYTES};
use crate::transport::error::TransportError;
use crate::witness::{Step, note};

const PREFIX_BYTES: usize = 2;
const RECORD_BYTES_MAX: usize = PREFIX_BYTES + u16::MAX as usize;
/// A first read may end anywhere in a record that starts at most one record in; the length of the next one follows it.
const BUFFER_BYTES_MAX: usize = 2 * RECORD_BYTES_MAX + PREFIX_BYTES;
/// What a connection that carries only small records lives with.
const BUFFER_BYTES_MIN: usize = 4 * 1_024;

/// Ciphertext that has come, and the record that is open.
///
/// A read into the buffer ends, where that can be known, with the length of the next record: so the next record starts at the
/// front of the buffer and no ciphertext is moved while records are large.
pub(crate) struct Opener {
    cipher: Cipher,
    nonces: Nonces,
    buffer: Vec<u8>,
    /// The first byte that belongs to no opened record.
    start: usize,
    /// The end of what the socket gave.
    end: usize,
    /// What is left of the open record.
    plain: Range<usize>,
}

impl Opener {
    pub(crate) fn new(cipher: Cipher) -> Self {
        Self { cipher, nonces: Nonces::default(), buffer: Vec::new(), start: 0, end: 0, plain: 0..0 }
    }

    /// What is left of the open record; all of it has been verified.
    pub(crate) fn plain(&self) -> &[u8] {
        self.buffer.get(self.plain.clone()).unwrap_or_default()
    }

    /// The reader is done with `bytes` of [`Opener::plain`].
    pub(crate) fn consume(&mut self, bytes: usize) {
        self.plain.start = (self.plain.start + bytes).min(self.plain.end);
    }

    /// Whether a record has begun and not ended.
    pub(crate) fn is_inside_record(&self) -> bool {
        self.start < self.end
    }

    /// Opens the next record if all of it is there.
    ///
    /// # Errors
    ///
    /// [`TransportError::RecordBytes`] or [`TransportError::RecordRefused`]; the connection cannot be read on.
    pub(crate) fn open_next(&mut self) -> Result<bool, TransportError> {
        let Some(bytes) = self.record_bytes()? else { return Ok(false) };
        if self.end - self.start < PREFIX_BYTES + bytes {
            return Ok(false);
        }
        let at = self.start + PREFIX_BYTES;
        note(Step::Open);
        let nonce = self.nonces.next().ok_or(TransportError::NoncesSpent)?;
        let sealed = self.buffer.get_mut(at..at + bytes).ok_or(TransportError::RecordRefused)?;
        self.cipher.open(nonce, sealed).map_err(|_| TransportError::RecordRefused)?;
        self.start = at + bytes;
        self.plain = at..at + bytes - TAG_BYTES;
        Ok(true)
    }

    /// The bytes of the record at the front, without its length, once that is known.
    fn record_bytes(&self) -> Result<Option<usize>, TransportError> {
        let Some(prefix) = self.buffer.get(self.start..self.end).and_then(<[u8]>::first_chunk::<PREFIX_BYTES>) else {
            return Ok(None);
        };
        let bytes = usize::from(u16::from_be_bytes(*prefix));
        if bytes < TAG_BYTES { Err(TransportError::RecordBytes { bytes }) } else { Ok(Some(bytes)) }
    }

    /// Where the socket is to read to. Only when the open record is used up.
    pub(crate) fn space(&mut self) -> Result<&mut [u8], TransportError> {
        let record = self.record_bytes()?.map_or(PREFIX_BYTES, |bytes| PREFIX_BYTES + bytes);
        let is_large = record > BUFFER_BYTES_MIN / 2;
        if self.start == self.end || self.start + record + PREFIX_BYTES > self.buffer.len() {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
            self.plain = 0..0;
        }
        if self.buffer.len() < BUFFER_BYTES_MAX && (self.buffer.is_empty() || is_large) {
            self.buffer.resize(if is_large { BUFFER_BYTES_MAX } else { BUFFER_BYTES_MIN }, 0);
        }
        // Behind a large record only the next length is wanted; behind small ones whatever there is, up to a record's worth.
        let limit = self.start + if is_large { record + PREFIX_BYTES } else { RECORD_BYTES_MAX };
        let limit = limit.min(self.buffer.len());
        self.buffer.get_mut(self.end..limit).ok_or(TransportError::RecordRefused)
    }

    /// The socket has put `bytes` into [`Opener::space`].
    pub(crate) fn received(&mut self, bytes: usize) {
        self.end = (self.end + bytes).min(self.buffer.len());
    }
}
