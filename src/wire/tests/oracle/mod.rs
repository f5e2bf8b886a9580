//! The WakuMessage walk beside a prost-derived struct: for the model test, and for the fuzzer.

use levada_wire::error::{DecodeError, WireError};
use levada_wire::waku::message::{META_BYTES_MAX, Message, MessageSpans, decode};
use prost::Message as _;
use prost::encoding::{WireType, decode_key, decode_varint};

/// The message as prost reads it. Version and ephemeral are 64 bits wide here, so that the 32-bit rule can be checked.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Reference {
    #[prost(bytes = "vec", optional, tag = "1")]
    pub payload: Option<Vec<u8>>,
    #[prost(string, optional, tag = "2")]
    pub content_topic: Option<String>,
    #[prost(uint64, optional, tag = "3")]
    pub version: Option<u64>,
    #[prost(sint64, optional, tag = "10")]
    pub timestamp: Option<i64>,
    #[prost(bytes = "vec", optional, tag = "11")]
    pub meta: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "21")]
    pub proof: Option<Vec<u8>>,
    #[prost(uint64, optional, tag = "31")]
    pub ephemeral: Option<u64>,
}

/// One field of a message, key included, as prost's own varint functions delimit it.
#[derive(Clone)]
pub struct Chunk {
    pub number: u32,
    pub wire_type: WireType,
    pub bytes: Vec<u8>,
}

impl Chunk {
    /// The value of a chunk that [`split`] found to be a varint.
    fn value(&self) -> u64 {
        let mut rest = &self.bytes[..];
        decode_key(&mut rest).expect("split read this key");
        decode_varint(&mut rest).expect("split read this varint")
    }
}

/// Cuts a message into its fields; `None` if it is not a sequence of fields without groups.
pub fn split(data: &[u8]) -> Option<Vec<Chunk>> {
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
pub fn compare(data: &[u8]) {
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
