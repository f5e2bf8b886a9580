//! The protobuf field walk that all walkers share: keys and values in order, offsets only, nothing copied.
//!
//! The rules are those of nwaku's reader: unknown fields are stepped over, a field number outside the valid range, a group
//! or an undefined wire type fails the whole message, and a varint has at most ten bytes.

use crate::Span;
use crate::error::{VarintError, WireError};
use crate::varint;

const FIELD_NUMBER_MAX: u64 = (1 << 29) - 1;

/// One field: its number and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    /// 1 to 2^29 - 1.
    pub(crate) number: u32,
    /// The value, or where it lies.
    pub(crate) value: Value,
}

/// A field's value by wire type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// Wire type 0.
    Varint(u64),
    /// Wire type 2: where its bytes lie, counted from the start of the walked buffer.
    Bytes(Span),
    /// Wire types 1 and 5, which no message of this crate uses: stepped over.
    Fixed,
}

/// A cursor over the fields of one message.
#[derive(Clone, Debug)]
pub(crate) struct Walk<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Walk<'a> {
    /// A walk over all of `bytes`, which the caller has checked to be at most `u32::MAX` long.
    #[inline]
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// A walk over the embedded message at `span`, whose spans still count from the start of `bytes`.
    #[inline]
    pub(crate) fn within(bytes: &'a [u8], span: Span) -> Self {
        Self { bytes: bytes.get(..span.end()).unwrap_or_default(), at: span.start as usize }
    }

    /// The next field; `None` at the end.
    ///
    /// Inlined by force, with what it calls: results in memory instead of registers cost a message's walk 40 of 100 ns.
    #[inline(always)]
    pub(crate) fn next_field(&mut self) -> Result<Option<Field>, WireError> {
        if self.at >= self.bytes.len() {
            return Ok(None);
        }
        let offset = self.at as u32;
        let key = self.varint(offset)?;
        let number = key >> 3;
        if number == 0 || number > FIELD_NUMBER_MAX {
            return Err(WireError::FieldNumber { offset });
        }
        let value = match key & 7 {
            0 => Value::Varint(self.varint(offset)?),
            2 => {
                let len = self.varint(offset)?;
                Value::Bytes(self.step(len, offset)?)
            }
            1 => self.step(8, offset).map(|_| Value::Fixed)?,
            5 => self.step(4, offset).map(|_| Value::Fixed)?,
            3 | 4 => return Err(WireError::Group { offset }),
            _ => return Err(WireError::WireType { offset }),
        };
        Ok(Some(Field { number: number as u32, value }))
    }

    #[inline(always)]
    fn varint(&mut self, offset: u32) -> Result<u64, WireError> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let (value, len) = varint::decode(rest).map_err(|error| match error {
            VarintError::Truncated => WireError::Truncated { offset },
            VarintError::TooLong => WireError::VarintTooLong { offset },
        })?;
        self.at += len;
        Ok(value)
    }

    #[inline(always)]
    fn step(&mut self, len: u64, offset: u32) -> Result<Span, WireError> {
        let rest = self.bytes.len() - self.at;
        if len > rest as u64 {
            return Err(WireError::Truncated { offset });
        }
        let start = self.at;
        self.at += len as usize;
        Ok(Span::between(start, self.at))
    }
}

#[cfg(test)]
mod tests {
    use super::{Field, Value, Walk};
    use crate::Span;
    use crate::error::WireError;

    fn first(bytes: &[u8]) -> Result<Option<Field>, WireError> {
        Walk::new(bytes).next_field()
    }

    #[test]
    fn every_wire_type() {
        let bytes = [0x08, 0x96, 0x01, 0x12, 0x02, 7, 7, 0x19, 1, 2, 3, 4, 5, 6, 7, 8, 0x25, 1, 2, 3, 4];
        let mut walk = Walk::new(&bytes);
        let expected = [Value::Varint(150), Value::Bytes(Span { start: 5, len: 2 }), Value::Fixed, Value::Fixed];
        for (index, value) in expected.into_iter().enumerate() {
            assert_eq!(walk.next_field(), Ok(Some(Field { number: index as u32 + 1, value })));
        }
        assert_eq!(walk.next_field(), Ok(None));
        assert_eq!(walk.next_field(), Ok(None));
    }

    #[test]
    fn broken_keys_and_values() {
        assert_eq!(first(&[]), Ok(None));
        assert_eq!(first(&[0x00, 0x00]), Err(WireError::FieldNumber { offset: 0 }));
        assert_eq!(first(&[0x0b]), Err(WireError::Group { offset: 0 }));
        assert_eq!(first(&[0x0c]), Err(WireError::Group { offset: 0 }));
        assert_eq!(first(&[0x0e, 0x00]), Err(WireError::WireType { offset: 0 }));
        assert_eq!(first(&[0x0f, 0x00]), Err(WireError::WireType { offset: 0 }));
        assert_eq!(first(&[0x08]), Err(WireError::Truncated { offset: 0 }));
        assert_eq!(first(&[0x80]), Err(WireError::Truncated { offset: 0 }));
        assert_eq!(first(&[0x09, 0, 0, 0, 0, 0, 0, 0]), Err(WireError::Truncated { offset: 0 }));
        assert_eq!(first(&[0x0d, 0, 0, 0]), Err(WireError::Truncated { offset: 0 }));
        assert_eq!(first(&[0x0a, 0x02, 0x00]), Err(WireError::Truncated { offset: 0 }));
        let endless = [&[0x08][..], &[0xff; 10]].concat();
        assert_eq!(first(&endless), Err(WireError::VarintTooLong { offset: 0 }));
        let length_of_u64_max = [&[0x0a][..], &[0xff; 9], &[0x01]].concat();
        assert_eq!(first(&length_of_u64_max), Err(WireError::Truncated { offset: 0 }));
    }

    #[test]
    fn field_number_limits() {
        let largest = Field { number: (1 << 29) - 1, value: Value::Varint(0) };
        assert_eq!(first(&[0xf8, 0xff, 0xff, 0xff, 0x0f, 0x00]), Ok(Some(largest)));
        assert_eq!(first(&[0x80, 0x80, 0x80, 0x80, 0x10, 0x00]), Err(WireError::FieldNumber { offset: 0 }));
    }

    #[test]
    fn an_embedded_walk_counts_from_the_outer_start() {
        let bytes = [0x0a, 0x03, 0x12, 0x01, 0x2a, 0x08, 0x01];
        let mut walk = Walk::within(&bytes, Span { start: 2, len: 3 });
        let inner = Field { number: 2, value: Value::Bytes(Span { start: 4, len: 1 }) };
        assert_eq!(walk.next_field(), Ok(Some(inner)));
        assert_eq!(walk.next_field(), Ok(None));
    }
}
