//! Random messages and mutations of them: decision, reason, fields and re-encoding agree with the reference.
//!
//! 10^5 inputs by default, 10^7 with `LEVADA_DEEP=1`.

use levada_wire::autonomi::ChunkDecodeError;

use crate::compare::{compare, encoded};
use crate::generate::{ERRORS, KINDS, error_of_kind, message};
use crate::mirror::{self, ChunkMessage, ChunkMessageBody, ChunkPutResponse};
use crate::mutate::mutated;
use crate::random::SplitMix;
use crate::view::view;

/// Inputs that are made of one message.
const INPUTS_PER_MESSAGE: u64 = 50;

#[test]
fn mutated_messages_agree_with_the_reference() {
    let inputs: u64 =
        if std::env::var_os("LEVADA_DEEP").is_some_and(|deep| deep == "1") { 10_000_000 } else { 100_000 };
    let mut seen = Seen::default();
    for seed in 0..inputs / INPUTS_PER_MESSAGE {
        let mut random = SplitMix(seed);
        let whole = mirror::encode(&message(seed as usize % KINDS, &mut random));
        seen.note(compare(&whole, &format_args!("seed {seed}, the message itself")));
        for input in 1..INPUTS_PER_MESSAGE {
            let data = mutated(&whole, &mut random);
            seen.note(compare(&data, &format_args!("seed {seed}, input {input}: {}", hex::encode(&data))));
        }
    }
    seen.assert_wide(inputs);
}

/// What the inputs came to, so that the test cannot pass without having tried everything.
#[derive(Default)]
struct Seen {
    accepted_by_kind: [u64; KINDS],
    refused_by_reason: [u64; 6],
}

impl Seen {
    fn note(&mut self, outcome: Result<ChunkMessage, ChunkDecodeError>) {
        match outcome {
            Ok(message) => self.accepted_by_kind[kind_of(&message)] += 1,
            Err(error) => self.refused_by_reason[reason_of(error)] += 1,
        }
    }

    fn assert_wide(&self, inputs: u64) {
        let (accepted, refused) = (&self.accepted_by_kind, &self.refused_by_reason);
        assert_eq!(accepted.iter().sum::<u64>() + refused.iter().sum::<u64>(), inputs);
        assert!(accepted.iter().sum::<u64>() > inputs / 4, "accepted {accepted:?}");
        assert!(refused.iter().sum::<u64>() > inputs / 4, "refused {refused:?}");
        assert!(accepted.iter().all(|&count| count > inputs / 100), "accepted {accepted:?}");
        assert!(refused.iter().all(|&count| count > inputs / 1_000), "refused {refused:?}");
    }
}

fn kind_of(message: &ChunkMessage) -> usize {
    let encoded = mirror::encode(message);
    let (_, id_len) = levada_wire::varint::decode(&encoded).expect("the request id");
    usize::from(encoded[id_len])
}

fn reason_of(error: ChunkDecodeError) -> usize {
    match error {
        ChunkDecodeError::Truncated { .. } => 0,
        ChunkDecodeError::VarintTooLong { .. } => 1,
        ChunkDecodeError::Variant { .. } => 2,
        ChunkDecodeError::Option { .. } => 3,
        ChunkDecodeError::Flag { .. } => 4,
        ChunkDecodeError::NotUtf8 { .. } => 5,
        error => panic!("no input is large enough for: {error}"),
    }
}

/// Every kind of message and every kind of error, many times, as this crate and as the reference encodes them.
#[test]
fn random_messages_encode_alike() {
    for seed in 0..4_200 {
        let mut random = SplitMix(seed);
        let message = message(seed as usize % KINDS, &mut random);
        let bytes = mirror::encode(&message);
        assert_eq!(encoded(&view(&message), &format_args!("seed {seed}")), bytes, "seed {seed}");
        assert_eq!(compare(&bytes, &format_args!("seed {seed}")), Ok(message), "seed {seed}");
    }
    for seed in 0..1_100 {
        let mut random = SplitMix(seed);
        let error = error_of_kind(seed as usize % ERRORS, &mut random);
        let body = ChunkMessageBody::PutResponse(ChunkPutResponse::Error(error));
        let message = ChunkMessage { request_id: random.next(), body };
        let bytes = mirror::encode(&message);
        assert_eq!(compare(&bytes, &format_args!("seed {seed}")), Ok(message), "seed {seed}");
    }
}

/// Bytes without any structure, which mutations never come to.
#[test]
fn random_bytes_agree_with_the_reference() {
    for seed in 0..20_000 {
        let mut random = SplitMix(seed);
        let mut data: Vec<u8> = (0..random.below(120)).map(|_| random.next() as u8).collect();
        // A known kind behind a short request id, or nearly all would end there.
        data.iter_mut().take(1).for_each(|id| *id &= 0x7f);
        data.iter_mut().skip(1).take(2).for_each(|number| *number %= 15);
        drop(compare(&data, &format_args!("seed {seed}: {}", hex::encode(&data))));
    }
}

/// Every number of a kind with every byte behind it, which is the number of an answer in half of the kinds, before rests
/// that suit some of them.
#[test]
fn every_kind_with_every_number_of_an_answer() {
    let rests = [&[0; 80][..], &[1; 80], &[4, b't', b'e', b'x', b't', 1, 1, 9], &[3, 4, 0xff, 0xfe, 0xfd, 0xfc], &[]];
    let mut accepted = 0;
    for (kind, answer) in (0..=0xff).flat_map(|kind| (0..=0xff).map(move |answer| (kind, answer))) {
        for rest in rests {
            let data = [&[5, kind, answer], rest].concat();
            let outcome = compare(&data, &format_args!("kind {kind}, answer {answer}, then {rest:02x?}"));
            // A kind or an answer above 127 starts a longer number, so that nothing below is certain for it.
            let known = kind < KINDS as u8 || kind >= 0x80;
            assert!(known || outcome.is_err(), "kind {kind} is unknown");
            accepted += u32::from(outcome.is_ok());
        }
    }
    assert!(accepted > 2_000, "accepted {accepted}");
}

/// The comparison can fail: a message that differs in one field, and one that is refused, are told apart.
#[test]
fn differences_are_seen() {
    let bytes = mirror::encode(&message(0, &mut SplitMix(1)));
    let message = mirror::decode(&bytes).expect("a message");
    for place in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[place] ^= 1;
        let same = levada_wire::autonomi::decode(&changed).is_ok_and(|changed| changed == view(&message));
        assert!(!same, "byte {place} belongs to some field");
    }
}
