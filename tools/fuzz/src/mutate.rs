//! The mutator of the targets that read protobuf. An input is the message itself, so that what fails can be sent as it is; it is
//! changed as a tree, and now and then as plain bytes.

use libfuzzer_sys::fuzzer_mutate;

use crate::random::Random;
use crate::tree::{Kind, Part, Shape, Value, encode, parse, put_varint};

/// Bytes by which one change may lengthen a field.
const GROWTH_BYTES_MAX: usize = 16;

/// A field number that no shape has.
const UNKNOWN: u32 = 99;

/// Changes the first `size` bytes of `data` to at most `max_size` others, and returns how many.
pub fn mutate(data: &mut [u8], size: usize, max_size: usize, seed: u32, shape: Shape) -> usize {
    let mut random = Random::new(seed);
    if random.one_in(8) {
        return fuzzer_mutate(data, size, max_size);
    }
    let mut parts = parse(&data[..size], shape);
    for _ in 0..=random.below(4) {
        change(&mut parts, shape, &mut random);
    }
    let mut message = Vec::with_capacity(max_size);
    encode(&parts, &mut message);
    if random.one_in(32) {
        message.truncate(random.below(message.len() + 1));
    }
    message.truncate(max_size);
    data[..message.len()].copy_from_slice(&message);
    message.len()
}

/// Makes one change to a message: to a field that it has, or to which fields those are.
fn change(parts: &mut Vec<Part>, shape: Shape, random: &mut Random) {
    if !parts.is_empty() && !random.one_in(4) {
        let index = random.below(parts.len());
        return change_part(&mut parts[index], random);
    }
    let at = random.below(parts.len() + 1);
    if at == parts.len() || random.one_in(2) {
        let part = if random.one_in(8) { unknown(shape, random) } else { known(shape, random) };
        return parts.insert(at, part);
    }
    match random.below(8) {
        0..2 => drop(parts.remove(at)),
        2..4 => parts.swap(at, 0),
        4 => parts[at] = broken(&parts[at], random),
        5 => {
            let many = vec![parts[at].clone(); random.below(20)];
            parts.splice(at..at, many);
        }
        _ => parts.insert(at, parts[at].clone()),
    }
}

fn change_part(part: &mut Part, random: &mut Random) {
    match part {
        Part::Raw(bytes) => change_bytes(bytes),
        Part::Field { padding, .. } if random.one_in(32) => *padding = random.below(11),
        Part::Field { number, .. } if random.one_in(32) => *number = random.below(8) as u32,
        Part::Field { value, .. } => change_value(value, random),
    }
}

fn change_value(value: &mut Value, random: &mut Random) {
    match value {
        Value::Number(number) => *number = changed(*number, random),
        Value::Fixed32(bytes) => *bytes = (random.number() as u32).to_le_bytes(),
        Value::Fixed64(bytes) => *bytes = random.number().to_le_bytes(),
        Value::Bytes(bytes) => change_bytes(bytes),
        Value::Message(shape, parts) => change(parts, shape, random),
    }
}

/// Any number of up to 64 bits: small ones as often as all others.
fn any_number(random: &mut Random) -> u64 {
    let bits = if random.one_in(2) { 8 } else { 1 + random.below(64) };
    random.number() >> (64 - bits)
}

/// A number near this one, near a power of two, any, or what libFuzzer makes of it, which tries what the target compared with.
fn changed(number: u64, random: &mut Random) -> u64 {
    match random.below(5) {
        0 => number.wrapping_add(random.below(9) as u64).wrapping_sub(4),
        1 => (1_u64 << random.below(64)).wrapping_sub(random.below(2) as u64),
        2 => any_number(random),
        _ => {
            let mut bytes = number.to_le_bytes();
            let size = fuzzer_mutate(&mut bytes, 8, 8);
            bytes[size..].fill(0);
            u64::from_le_bytes(bytes)
        }
    }
}

fn change_bytes(bytes: &mut Vec<u8>) {
    let size = bytes.len();
    bytes.resize(size + GROWTH_BYTES_MAX, 0);
    let size = fuzzer_mutate(bytes, size, size + GROWTH_BYTES_MAX);
    bytes.truncate(size);
}

/// A field that the shape knows, of the right kind.
fn known(shape: Shape, random: &mut Random) -> Part {
    let (number, kind) = shape[random.below(shape.len())];
    let value = match kind {
        Kind::Number => Value::Number(any_number(random)),
        Kind::Bytes => Value::Bytes(text(random)),
        Kind::Message(inner) => {
            let parts = (0..random.below(4)).map(|_| known(inner, random)).collect();
            Value::Message(inner, parts)
        }
    };
    Part::Field { number, value, padding: 0 }
}

/// A field that the shape does not know, or knows as another kind; or the key of a group, a wire type that does not exist, or a
/// number out of range.
fn unknown(shape: Shape, random: &mut Random) -> Part {
    let number = if random.one_in(2) { UNKNOWN } else { shape[random.below(shape.len())].0 };
    let value = match random.below(5) {
        0 => Value::Number(any_number(random)),
        1 => Value::Fixed32([0; 4]),
        2 => Value::Fixed64([0; 8]),
        3 => Value::Bytes(text(random)),
        _ => {
            let number = [0, u64::from(number), 1 << 29][random.below(3)];
            let mut key = Vec::new();
            put_varint(number << 3 | random.below(8) as u64, random.below(3), &mut key);
            return Part::Raw(key);
        }
    };
    Part::Field { number, value, padding: 0 }
}

/// A few printable bytes.
fn text(random: &mut Random) -> Vec<u8> {
    (0..random.below(40)).map(|_| b' ' + random.below(95) as u8).collect()
}

/// The bytes of a part, which then count as raw, with one of them changed or the last ones cut off. What encloses them stays whole.
fn broken(part: &Part, random: &mut Random) -> Part {
    let mut bytes = Vec::new();
    part.encode(&mut bytes);
    if random.one_in(2) {
        bytes.truncate(random.below(bytes.len() + 1));
    } else {
        // Key and length stand at the beginning.
        let end = bytes.len().min(4);
        if let Some(byte) = bytes[..end].get_mut(random.below(end.max(1))) {
            *byte = byte.wrapping_add(random.number() as u8);
        }
    }
    Part::Raw(bytes)
}
