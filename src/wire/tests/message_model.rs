//! The WakuMessage walk against a prost-derived struct, on random, re-ordered, extended and mutated messages.
//!
//! 10^5 inputs by default, 10^7 with `LEVADA_DEEP=1`. Each proptest case derives a family of inputs from one message, so
//! that most of the time goes into decoding, not into generating.

mod oracle;
mod random;

use levada_wire::waku::message::{META_BYTES_MAX, decode};
use oracle::{Chunk, Reference, compare, split};
use proptest::option;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use prost::Message as _;
use prost::encoding::{WireType, encode_key, encode_varint};
use random::SplitMix;

const INPUTS_PER_CASE: u32 = 50;

/// A field that holds a varint.
fn varint(number: u32, value: u64) -> Chunk {
    let mut bytes = Vec::new();
    encode_key(number, WireType::Varint, &mut bytes);
    encode_varint(value, &mut bytes);
    Chunk { number, wire_type: WireType::Varint, bytes }
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
        chunks.push(varint(if random.below(2) == 0 { 3 } else { 31 }, random.next() >> random.below(64)));
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
    let inputs = if std::env::var_os("LEVADA_DEEP").is_some_and(|deep| deep == "1") { 10_000_000 } else { 100_000 };
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
