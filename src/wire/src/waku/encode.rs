//! The WakuMessage encoder (14/WAKU2-MESSAGE).
//!
//! It writes all seven fields in order, also those at their defaults, as nwaku does: nwaku takes payload and content topic
//! for required, and one byte string per message gives one gossipsub id.

use crate::error::EncodeError;
use crate::varint;
use crate::waku::message::{
    CONTENT_TOPIC, EPHEMERAL, META, META_BYTES_MAX, Message, PAYLOAD, PROOF, TIMESTAMP, VERSION, zigzag,
};

impl Message<'_> {
    /// Bytes of the encoding.
    pub fn encoded_len(&self) -> usize {
        bytes_field_len(PAYLOAD, self.payload)
            + bytes_field_len(CONTENT_TOPIC, self.content_topic.as_bytes())
            + varint_field_len(VERSION, u64::from(self.version))
            + varint_field_len(TIMESTAMP, zigzag(self.timestamp))
            + bytes_field_len(META, self.meta)
            + bytes_field_len(PROOF, self.proof)
            + varint_field_len(EPHEMERAL, u64::from(self.ephemeral))
    }

    /// Encodes into the front of `out` without allocating; returns the bytes written, which are
    /// [`encoded_len`](Self::encoded_len).
    ///
    /// # Errors
    /// [`EncodeError::MetaTooLong`] if meta is over 64 bytes, [`EncodeError::TooLong`] if the encoding is over `u32::MAX`
    /// bytes, [`EncodeError::BufferTooSmall`] if `out` does not hold it. `out` is unchanged then.
    pub fn encode_into(&self, out: &mut [u8]) -> Result<usize, EncodeError> {
        if self.meta.len() > META_BYTES_MAX {
            return Err(EncodeError::MetaTooLong { bytes: self.meta.len() });
        }
        let needed_bytes = self.encoded_len();
        if u32::try_from(needed_bytes).is_err() {
            return Err(EncodeError::TooLong { bytes: needed_bytes, bytes_max: u32::MAX as usize });
        }
        let available_bytes = out.len();
        if available_bytes < needed_bytes {
            return Err(EncodeError::BufferTooSmall { needed_bytes, available_bytes });
        }
        let written = self.write(Pen { out, at: 0 });
        written.ok_or(EncodeError::BufferTooSmall { needed_bytes, available_bytes })
    }

    fn write(&self, mut pen: Pen<'_>) -> Option<usize> {
        pen.bytes_field(PAYLOAD, self.payload)?;
        pen.bytes_field(CONTENT_TOPIC, self.content_topic.as_bytes())?;
        pen.varint_field(VERSION, u64::from(self.version))?;
        pen.varint_field(TIMESTAMP, zigzag(self.timestamp))?;
        pen.bytes_field(META, self.meta)?;
        pen.bytes_field(PROOF, self.proof)?;
        pen.varint_field(EPHEMERAL, u64::from(self.ephemeral))?;
        Some(pen.at)
    }
}

/// Writes fields one behind the other; `None` when the buffer ends.
struct Pen<'a> {
    out: &'a mut [u8],
    at: usize,
}

impl Pen<'_> {
    fn varint(&mut self, value: u64) -> Option<()> {
        self.at += varint::encode(value, self.out.get_mut(self.at..)?)?;
        Some(())
    }

    fn varint_field(&mut self, number: u32, value: u64) -> Option<()> {
        self.varint(key(number, WIRE_TYPE_VARINT))?;
        self.varint(value)
    }

    fn bytes_field(&mut self, number: u32, value: &[u8]) -> Option<()> {
        self.varint(key(number, WIRE_TYPE_BYTES))?;
        self.varint(value.len() as u64)?;
        let end = self.at + value.len();
        self.out.get_mut(self.at..end)?.copy_from_slice(value);
        self.at = end;
        Some(())
    }
}

const WIRE_TYPE_VARINT: u64 = 0;
const WIRE_TYPE_BYTES: u64 = 2;

const fn key(number: u32, wire_type: u64) -> u64 {
    (number as u64) << 3 | wire_type
}

fn varint_field_len(number: u32, value: u64) -> usize {
    varint::len(key(number, WIRE_TYPE_VARINT)) + varint::len(value)
}

fn bytes_field_len(number: u32, value: &[u8]) -> usize {
    varint::len(key(number, WIRE_TYPE_BYTES)) + varint::len(value.len() as u64) + value.len()
}
