//! A cursor over the values of one message, with the rules of the `postcard` format.

use super::error::ChunkDecodeError;
use super::message::Address;
use crate::error::VarintError;
use crate::varint;

/// Bytes of the longest varint of 32 bits.
const VARINT_U32_BYTES_MAX: usize = 5;

/// Reads values one behind the other. Each lends from the message; an error names the byte where its value starts.
#[derive(Clone, Debug)]
pub(super) struct Reader<'a> {
    data: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// A cursor at the start of `data`, which the caller has checked to be at most `u32::MAX` long.
    pub(super) fn new(data: &'a [u8]) -> Self {
        Self { data, at: 0 }
    }

    /// Where the next value starts.
    pub(super) fn offset(&self) -> u32 {
        self.at as u32
    }

    /// A number of 64 bits.
    pub(super) fn u64(&mut self) -> Result<u64, ChunkDecodeError> {
        let offset = self.offset();
        let (value, len) = varint::decode(self.rest()).map_err(|error| match error {
            VarintError::Truncated => ChunkDecodeError::Truncated { offset },
            VarintError::TooLong => ChunkDecodeError::VarintTooLong { offset, bits: 64 },
        })?;
        self.at += len;
        Ok(value)
    }

    /// A number of 32 bits, or a variant's. It has fewer bytes than one of 64 bits may have, its padding included.
    pub(super) fn u32(&mut self) -> Result<u32, ChunkDecodeError> {
        let offset = self.offset();
        let rest = self.rest();
        let too_long = ChunkDecodeError::VarintTooLong { offset, bits: 32 };
        let Some(longest) = rest.get(..VARINT_U32_BYTES_MAX) else {
            // Fewer than five bytes hold 28 bits at most, so that the number either fits or is cut off.
            return self.u64().map(|value| value as u32);
        };
        let (value, len) = varint::decode(longest).map_err(|_| too_long)?;
        self.at += len;
        u32::try_from(value).map_err(|_| too_long)
    }

    /// An address, or another value of 32 bytes.
    pub(super) fn address(&mut self) -> Result<&'a Address, ChunkDecodeError> {
        let address = self.rest().first_chunk().ok_or(ChunkDecodeError::Truncated { offset: self.offset() })?;
        self.at += address.len();
        Ok(address)
    }

    /// Bytes behind their length. A length beyond the message is an error, whatever its size.
    pub(super) fn bytes(&mut self) -> Result<&'a [u8], ChunkDecodeError> {
        let truncated = ChunkDecodeError::Truncated { offset: self.offset() };
        let len = usize::try_from(self.u64()?).map_err(|_| truncated)?;
        let bytes = self.rest().get(..len).ok_or(truncated)?;
        self.at += len;
        Ok(bytes)
    }

    /// Text behind its length.
    pub(super) fn text(&mut self) -> Result<&'a str, ChunkDecodeError> {
        let offset = self.offset();
        std::str::from_utf8(self.bytes()?).map_err(|_| ChunkDecodeError::NotUtf8 { offset })
    }

    /// Bytes that may be absent.
    pub(super) fn option_bytes(&mut self) -> Result<Option<&'a [u8]>, ChunkDecodeError> {
        let offset = self.offset();
        match self.byte()? {
            0 => Ok(None),
            1 => self.bytes().map(Some),
            byte => Err(ChunkDecodeError::Option { byte, offset }),
        }
    }

    /// A truth value.
    pub(super) fn flag(&mut self) -> Result<bool, ChunkDecodeError> {
        let offset = self.offset();
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            byte => Err(ChunkDecodeError::Flag { byte, offset }),
        }
    }

    fn byte(&mut self) -> Result<u8, ChunkDecodeError> {
        let byte = *self.rest().first().ok_or(ChunkDecodeError::Truncated { offset: self.offset() })?;
        self.at += 1;
        Ok(byte)
    }

    fn rest(&self) -> &'a [u8] {
        self.data.get(self.at..).unwrap_or_default()
    }
}
