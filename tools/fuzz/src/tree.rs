//! A protobuf message as a tree of its fields. Lengths are written from what they enclose, so a tree may be changed anywhere and its
//! encoding stays whole; what is no field is kept as it is.

/// What is known of the fields of a message, by number.
pub type Shape = &'static [(u32, Kind)];

/// What a field of a shape holds.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Number,
    Bytes,
    Message(Shape),
}

/// A field, or bytes that are none.
#[derive(Clone, Debug)]
pub enum Part {
    Field {
        number: u32,
        value: Value,
        /// Bytes by which the varint of its value or length is longer than it need be.
        padding: usize,
    },
    Raw(Vec<u8>),
}

#[derive(Clone, Debug)]
pub enum Value {
    Number(u64),
    Fixed32([u8; 4]),
    Fixed64([u8; 8]),
    Bytes(Vec<u8>),
    Message(Shape, Vec<Part>),
}

/// Any bytes as a tree: from the first place on that is no field they are one raw part.
pub fn parse(data: &[u8], shape: Shape) -> Vec<Part> {
    let (mut rest, mut parts) = (data, Vec::new());
    while !rest.is_empty() {
        let mut behind = rest;
        let Some(part) = parse_field(&mut behind, shape) else {
            parts.push(Part::Raw(rest.to_vec()));
            break;
        };
        parts.push(part);
        rest = behind;
    }
    parts
}

/// The field at the beginning of `rest`, which then stands behind it.
fn parse_field(rest: &mut &[u8], shape: Shape) -> Option<Part> {
    let (key, 0) = take_varint(rest)? else { return None };
    let number = u32::try_from(key >> 3).ok()?;
    let (value, padding) = match key & 7 {
        0 => {
            let (value, padding) = take_varint(rest)?;
            (Value::Number(value), padding)
        }
        1 => (Value::Fixed64(*rest.split_off(..8)?.first_chunk()?), 0),
        5 => (Value::Fixed32(*rest.split_off(..4)?.first_chunk()?), 0),
        2 => {
            let (len, padding) = take_varint(rest)?;
            let bytes = rest.split_off(..usize::try_from(len).ok()?)?;
            let value = match kind_of(shape, number) {
                Some(Kind::Message(inner)) => Value::Message(inner, parse(bytes, inner)),
                _ => Value::Bytes(bytes.to_vec()),
            };
            (value, padding)
        }
        _ => return None,
    };
    Some(Part::Field { number, value, padding })
}

fn kind_of(shape: Shape, number: u32) -> Option<Kind> {
    shape.iter().find(|(known, _)| *known == number).map(|(_, kind)| *kind)
}

/// The varint at the beginning of `rest`, and by how many bytes it is longer than it need be.
fn take_varint(rest: &mut &[u8]) -> Option<(u64, usize)> {
    let mut value = 0;
    for index in 0..10 {
        let byte = *rest.split_off_first()?;
        value |= u64::from(byte & 0x7f).checked_shl(7 * index)?;
        if byte < 0x80 {
            return Some((value, index as usize + 1 - varint_len(value)));
        }
    }
    None
}

/// How many bytes the varint of `value` needs.
fn varint_len(value: u64) -> usize {
    (value | 1).ilog2() as usize / 7 + 1
}

/// Appends `value` as a varint with `padding` bytes more than it needs.
pub fn put_varint(value: u64, padding: usize, out: &mut Vec<u8>) {
    let last = varint_len(value) - 1 + padding;
    for index in 0..=last {
        let bits = value.checked_shr(7 * index as u32).unwrap_or(0) as u8 & 0x7f;
        out.push(if index == last { bits } else { bits | 0x80 });
    }
}

/// Appends the encoding of `parts`.
pub fn encode(parts: &[Part], out: &mut Vec<u8>) {
    parts.iter().for_each(|part| part.encode(out));
}

impl Part {
    /// Appends the encoding of this part.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let (number, value, padding) = match self {
            Self::Field { number, value, padding } => (u64::from(*number) << 3, value, *padding),
            Self::Raw(bytes) => return out.extend_from_slice(bytes),
        };
        match value {
            Value::Number(value) => {
                put_varint(number, 0, out);
                put_varint(*value, padding, out);
            }
            Value::Fixed64(bytes) => {
                put_varint(number | 1, 0, out);
                out.extend_from_slice(bytes);
            }
            Value::Fixed32(bytes) => {
                put_varint(number | 5, 0, out);
                out.extend_from_slice(bytes);
            }
            Value::Bytes(bytes) => {
                put_varint(number | 2, 0, out);
                put_varint(bytes.len() as u64, padding, out);
                out.extend_from_slice(bytes);
            }
            Value::Message(_, parts) => {
                let mut bytes = Vec::with_capacity(512);
                encode(parts, &mut bytes);
                put_varint(number | 2, 0, out);
                put_varint(bytes.len() as u64, padding, out);
                out.extend_from_slice(&bytes);
            }
        }
    }
}
