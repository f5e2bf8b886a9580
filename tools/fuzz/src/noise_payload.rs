//! The payload of Noise's handshake messages beside prost.
#![no_main]

use fuzz::mutate::mutate;
use fuzz::shapes::NOISE_PAYLOAD;
use levada_wire::noise::{Payload, encode};
use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use prost::Message;

#[derive(Clone, PartialEq, prost::Message)]
struct Reference {
    #[prost(bytes = "vec", tag = "1")]
    identity_key: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    signature: Vec<u8>,
    #[prost(bytes = "vec", tag = "4")]
    extensions: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Extensions {
    #[prost(bytes = "vec", repeated, tag = "2")]
    muxers: Vec<Vec<u8>>,
}

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutate(data, size, max_size, seed, NOISE_PAYLOAD)
});

fuzz_target!(|data: &[u8]| {
    let reference = Reference::decode(data).and_then(|payload| {
        let extensions = Extensions::decode(&payload.extensions[..])?;
        Ok((payload, extensions))
    });
    match (Payload::decode(data), reference) {
        (Ok(payload), Ok((reference, extensions))) => {
            assert_eq!(payload.identity_key, reference.identity_key);
            assert_eq!(payload.signature, reference.signature);
            assert!(payload.muxers().eq(extensions.muxers.iter().map(Vec::as_slice)));
            let names: Option<Vec<&str>> = payload.muxers().map(|name| str::from_utf8(name).ok()).collect();
            if let Some(names) = names {
                let again = encode(payload.identity_key, payload.signature, &names);
                let again = Payload::decode(&again).expect("our own payload");
                assert_eq!((again.identity_key, again.signature), (payload.identity_key, payload.signature));
                assert!(again.muxers().eq(payload.muxers()));
            }
        }
        (Ok(payload), Err(error)) => {
            // A field of another wire type, or with a number out of range, is passed over like an unknown one.
            let text = error.to_string();
            let is_known = ["invalid wire type: ", "invalid key value: ", "invalid tag value: "];
            assert!(is_known.iter().any(|known| text.contains(known)), "{payload:?}: {text}");
        }
        (Err(_), Ok((reference, _))) => {
            // Groups, which prost steps over, are in no message of ours.
            assert!(has_group(data) || has_group(&reference.extensions), "prost reads {reference:?}");
        }
        (Err(_), Err(_)) => {}
    }
});

/// Whether one of the fields of a message is a group.
fn has_group(data: &[u8]) -> bool {
    let mut buffer = data;
    while !buffer.is_empty() {
        let Ok((_, wire_type)) = prost::encoding::decode_key(&mut buffer) else { return false };
        if wire_type == prost::encoding::WireType::StartGroup {
            return true;
        }
        let context = prost::encoding::DecodeContext::default();
        if prost::encoding::skip_field(wire_type, 1, &mut buffer, context).is_err() {
            return false;
        }
    }
    false
}
