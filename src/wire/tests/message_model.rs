//! The WakuMessage walk against a prost-derived struct, on random, re-ordered, extended and mutated messages.
//!
//! 10^5 inputs by default, 10^7 with `LEVADA_DEEP=1`. Each proptest case derives a family of inputs from one message, so
//! that most of the time goes into decoding, not into generating.

mod random;

use levada_wire::error::{DecodeError, WireError};
use levada_wire::waku::message::{META_BYTES_MAX, Message, MessageSpans, decode};
use proptest::option;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use prost::Message as _;
use prost::encoding::{WireType, decode_key, decode_varint, encode_key, encode_varint};
use random::SplitMix;

const INPUTS_PER_CASE: u32 = 50;

/// The message as prost reads it. Version and ephemeral are 64 bits wide here, so that the 32-bit rule can be checked.
#[derive(Clone, PartialEq, prost::Message)]
struct Reference {
    #[prost(bytes = "vec", optional, tag = "1")]
    payload: Option<Vec<u8>>,
    #[prost(string, optional, tag = "2")]
    content_topic: Option<String>,
    #[prost(uint64, optional, tag = "3")]
    version: Option<u64>,
    #[prost(sint64, optional, tag = "10")]
    timestamp: Option<i64>,
    #[prost(bytes = "vec", optional, tag = "11")]
    meta: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "21")]
    proof: Option<Vec<u8>>,
    #[prost(uint64, optional, tag = "31")]
    ephemeral: Option<u64>,
}

/// One field of a message, key included, as prost's own varint functions delimit it.
#[derive(Clone)]
struct Chunk {
    number: u32,
    wire_type: WireType,
    bytes: Vec<u8>,
}

impl Chunk {
    fn varint(number: u32, value: u64) -> Self {
        let mut bytes = Vec::new();
        encode_key(number, WireType::Varint, &mut bytes);
        encode_varint(value, &mut bytes);
        Self { number, wire_type: WireType::Varint, bytes }
    }

    /// The value of a chunk that [`split`] found to be a varint.
    fn value(&self) -> u64 {
        let mut rest = &self.bytes[..];
        decode_key(&mut rest).expect("split read this key");
        decode_varint(&mut rest).expect("split read this varint")
    }
}

/// Cuts a message into its fields; `None` if it is not a sequence of fields without groups.
fn split(data: &[u8]) -> Option<Vec<Chunk>> {
    let (mut rest, mut chunks) = (data, Vec::new());
    while !rest.is_empty() {
        let start = rest;
        let (number, wire_type) = decode_key(&mut rest).ok()?;
        let value_len = match wire_type {
            WireType::Varint => decode_varint(&mut rest).map(|_| 0).ok()?,
            WireType::SixtyFourBit => 8,
            WireType::ThirtyTwoBit => 4,
            WireType::LengthDelimited => decode_varint(&mut rest).ok()?,
            WireType::StartGroup | WireType::EndGroup => return None,
        };
        rest = rest.get(usize::try_from(value_len).ok()?..)?;
        chunks.push(Chunk { number, wire_type, bytes: start[..start.len() - rest.len()].to_vec() });
    }
    Some(chunks)
}

fn wire_type_of(number: u32) -> Option<WireType> {
    match number {
        1 | 2 | 11 | 21 => Some(WireType::LengthDelimited),
        3 | 10 | 31 => Some(WireType::Varint),
        _ => None,
    }
}

/// What the rules of 14/WAKU2-MESSAGE make of `data`, by way of prost; `None` if the message must be refused.
///
/// prost is stricter in two ways, so what offends it is taken out first: known fields of another wire type, and content
/// topics that a later one replaces. prost is laxer in the others: groups, absent fields, the limit on meta, 32-bit numbers.
fn expected(data: &[u8]) -> Option<Reference> {
    let mut chunks = split(data)?;
    chunks.retain(|chunk| wire_type_of(chunk.number).is_none_or(|wire_type| wire_type == chunk.wire_type));
    let narrow = |chunk: &Chunk| !matches!(chunk.number, 3 | 31) || u32::try_from(chunk.value()).is_ok();
    if !chunks.iter().all(narrow) {
        return None;
    }
    let last_topic = chunks.iter().rposition(|chunk| chunk.number == 2);
    let kept = chunks.iter().enumerate().filter(|(index, chunk)| chunk.number != 2 || Some(*index) == last_topic);
    let bytes: Vec<u8> = kept.flat_map(|(_, chunk)| chunk.bytes.iter().copied()).collect();
    let reference = Reference::decode(&bytes[..]).ok()?;
    let complete = reference.payload.is_some() && reference.content_topic.is_some();
    (complete && reference.meta.as_ref().is_none_or(|meta| meta.len() <= META_BYTES_MAX)).then_some(reference)
}

fn assert_same(spans: &MessageSpans, reference: &Reference, data: &[u8]) {
    let message = Message {
        payload: reference.payload.as_deref().expect("a decoded message has a payload"),
        content_topic: reference.content_topic.as_deref().expect("a decoded message has a content topic"),
        version: reference.version.unwrap_or(0) as u32,
        timestamp: reference.timestamp.unwrap_or(0),
        meta: reference.meta.as_deref().unwrap_or_default(),
        proof: reference.proof.as_deref().unwrap_or_default(),
        ephemeral: reference.ephemeral.unwrap_or(0) != 0,
    };
    assert_eq!(spans.view(data), message, "{data:02x?}");
    let present = spans.present;
    let presence = [present.version, present.timestamp, present.meta, present.proof, present.ephemeral];
    let in_reference = [
        reference.version.is_some(),
        reference.timestamp.is_some(),
        reference.meta.is_some(),
        reference.proof.is_some(),
        reference.ephemeral.is_some(),
    ];
    assert_eq!(presence, in_reference, "{data:02x?}");
}

/// The walk must give exactly what the rules give, and where it departs from bare prost the departure must be a known one.
fn compare(data: &[u8]) {
    let walked = decode(data);
    match (&walked, expected(data)) {
        (Ok(spans), Some(reference)) => assert_same(spans, &reference, data),
        (Err(_), None) => {}
        (walked, expected) => panic!("walk {walked:?}, rules {expected:?}, message {data:02x?}"),
    }
    match (walked, Reference::decode(data)) {
        (Ok(spans), Ok(reference)) => assert_same(&spans, &reference, data),
        (Err(error), Ok(_)) => {
            let stricter = matches!(
                error,
                DecodeError::Missing { .. }
                    | DecodeError::MetaTooLong { .. }
                    | DecodeError::ValueTooLarge { .. }
                    | DecodeError::Wire(WireError::Group { .. })
            );
            assert!(stricter, "prost reads what the walk refuses with {error:?}: {data:02x?}");
        }
        (Ok(_), Err(error)) => {
            let text = error.to_string();
            let laxer = text.contains("invalid wire type: ") || text.contains("invalid string value");
            assert!(laxer, "the walk reads what prost refuses with {text}: {data:02x?}");
        }
        (Err(_), Err(_)) => {}
    }
}

fn bytes(len_max: usize) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..=len_max)
}

/// Messages as senders write them, and a few that lack a required field or exceed a limit.
fn references() -> impl Strategy<Value = Reference> {
    let version = option::of(prop_oneof![Just(0), Just(1), any::<u32>().prop_map(u64::from), any::<u64>()]);
    let ephemeral = option::of(prop_oneof![Just(0), Just(1), Just(2), any::<u64>()]);
    let fields = (
        option::weighted(0.9, bytes(200)),
        option::weighted(0.9, "/[a-z]{1,8}/[0-9]/[a-zé]{1,6}/proto|"),
        version,
        option::of(any::<i64>()),
        option::of(bytes(META_BYTES_MAX + 2)),
        option::of(bytes(300)),
        ephemeral,
    );
    fields.prop_map(|(payload, content_topic, version, timestamp, meta, proof, ephemeral)| Reference {
        payload,
        content_topic,
        version,
        timestamp,
        meta,
        proof,
        ephemeral,
    })
}

/// A field that no message has, or a known field with another wire type, or a group.
fn stray(random: &mut SplitMix) -> Chunk {
    let number = [1, 2, 3, 4, 9, 10, 11, 12, 21, 31, 100, 20_000, (1 << 29) - 1][random.below(13)];
    let mut bytes = Vec::new();
    let wire_type =
        [WireType::Varint, WireType::LengthDelimited, WireType::SixtyFourBit, WireType::ThirtyTwoBit][random.below(4)];
    encode_key(number, wire_type, &mut bytes);
    match wire_type {
        WireType::Varint => encode_varint(random.next() >> random.below(64), &mut bytes),
        WireType::SixtyFourBit => bytes.extend(random.next().to_le_bytes()),
        WireType::ThirtyTwoBit => bytes.extend([0x0b; 4]),
        _ => {
            let len = random.below(80);
            encode_varint(len as u64, &mut bytes);
            bytes.extend((0..len).map(|_| random.next() as u8));
        }
    }
    if random.below(20) == 0 {
        encode_key(number, WireType::StartGroup, &mut bytes);
        encode_key(number, WireType::EndGroup, &mut bytes);
    }
    Chunk { number, wire_type, bytes }
}

/// Shuffles the fields, repeats one, inserts strays.
fn rearranged(chunks: &[Chunk], random: &mut SplitMix) -> Vec<u8> {
    let mut chunks = chunks.to_vec();
    for _ in 0..random.below(4) {
        let field = if random.below(3) == 0 && !chunks.is_empty() {
            chunks[random.below(chunks.len())].clone()
        } else {
            stray(random)
        };
        chunks.push(field);
    }
    if random.below(8) == 0 {
        chunks.push(Chunk::varint(if random.below(2) == 0 { 3 } else { 31 }, random.next() >> random.below(64)));
    }
    for index in (1..chunks.len()).rev() {
        chunks.swap(index, random.below(index + 1));
    }
    chunks.into_iter().flat_map(|chunk| chunk.bytes).collect()
}

/// Changes, inserts, removes or cuts a few bytes.
fn mutated(data: &[u8], random: &mut SplitMix) -> Vec<u8> {
    let mut data = data.to_vec();
    for _ in 0..=random.below(3) {
        // Half of the changes hit the first bytes, where keys and lengths are.
        let reach = if random.below(2) == 0 { data.len().min(8) } else { data.len() };
        let at = random.below(reach + 1);
        match random.below(4) {
            0 => data.insert(at, random.next() as u8),
            1 => data.truncate(at),
            2 if at < data.len() => drop(data.remove(at)),
            _ if at < data.len() => data[at] ^= 1 << random.below(8),
            _ => {}
        }
    }
    data
}

#[test]
fn the_walk_agrees_with_prost() {
    let inputs = if std::env::var_os("LEVADA_DEEP").is_some() { 10_000_000 } else { 100_000 };
    let config = Config { cases: inputs / INPUTS_PER_CASE, failure_persistence: None, ..Config::default() };
    let outcome = TestRunner::new(config).run(&(references(), any::<u64>()), |(reference, seed)| {
        let data = reference.encode_to_vec();
        compare(&data);
        let chunks = split(&data).expect("prost wrote these fields");
        let mut random = SplitMix(seed);
        for input in 1..INPUTS_PER_CASE {
            let rearranged = rearranged(&chunks, &mut random);
            compare(&if input % 2 == 0 { rearranged } else { mutated(&rearranged, &mut random) });
        }
        Ok(())
    });
    outcome.expect("the walk and prost agree");
}

/// The comparison itself can fail: each kind of departure from prost occurs and is told apart.
#[test]
fn the_known_departures_are_seen() {
    let wrong_wire_type = [0x0a, 0, 0x12, 0, 0x1a, 0];
    assert!(decode(&wrong_wire_type).is_ok() && Reference::decode(&wrong_wire_type[..]).is_err());
    let group = [0x0a, 0, 0x12, 0, 0x23, 0x24];
    assert!(decode(&group).is_err() && Reference::decode(&group[..]).is_ok());
    let replaced_topic = [0x0a, 0, 0x12, 1, 0xff, 0x12, 0];
    assert!(decode(&replaced_topic).is_ok() && Reference::decode(&replaced_topic[..]).is_err());
    for data in [&wrong_wire_type[..], &group, &replaced_topic, &[], &[0x0a, 0]] {
        compare(data);
    }
}
