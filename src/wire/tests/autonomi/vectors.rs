//! Every vector that ant-protocol 5.0.1 wrote, in both directions: fields to bytes, and bytes to fields.
//!
//! Vectors of large messages record the length, both ends and BLAKE3 of the encoding; the fields follow from a rule.

use serde_json::Value;

use crate::compare::{compare, encoded};
use crate::mirror::{
    ByteString, ChunkGetResponse, ChunkMessage, ChunkMessageBody, ChunkPutRequest, ChunkQuoteResponse, decode,
};
use crate::view::view;

const FILES: [&str; 6] = [
    include_str!("../vectors/ant-put-request.json"),
    include_str!("../vectors/ant-put-response.json"),
    include_str!("../vectors/ant-get-request.json"),
    include_str!("../vectors/ant-get-response.json"),
    include_str!("../vectors/ant-quote.json"),
    include_str!("../vectors/ant-pointer.json"),
];

/// All vectors of all files.
pub fn vectors() -> Vec<Value> {
    let parse = |file| serde_json::from_str::<Value>(file).expect("the vectors are JSON");
    FILES.into_iter().flat_map(|file| parse(file)["cases"].as_array().expect("a list").clone()).collect()
}

/// The encodings that are recorded whole.
pub fn recorded() -> Vec<(String, Vec<u8>)> {
    let named = |vector: &Value| (text(&vector["name"]).to_owned(), vector["encoded"]["hex"].as_str().map(unhex));
    vectors().iter().map(named).filter_map(|(name, bytes)| Some((name, bytes?))).collect()
}

#[test]
fn every_recorded_message_decodes_to_its_fields_and_encodes_back() {
    let mut recorded = 0;
    for vector in vectors() {
        let name = text(&vector["name"]);
        let Some(bytes) = vector["encoded"]["hex"].as_str().map(unhex) else { continue };
        assert_eq!(Some(bytes.len() as u64), vector["encoded"]["len"].as_u64(), "{name}");
        let message = compare(&bytes, &name).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(encoded(&view(&message), &name), bytes, "{name}");
        assert_eq!(message.request_id.to_string(), text(&vector["request_id"]), "{name}");
        check_fields(&message.body, &vector["fields"], name);
        recorded += 1;
    }
    assert_eq!(recorded, 94, "vectors recorded whole");
}

#[test]
fn every_large_message_encodes_from_its_fields_and_decodes_back() {
    let mut large = 0;
    for vector in vectors() {
        let name = text(&vector["name"]);
        let Some(message) = large_message(&vector) else { continue };
        let bytes = encoded(&view(&message), &name);
        let expected = &vector["encoded"];
        assert_eq!(Some(bytes.len() as u64), expected["len"].as_u64(), "{name}");
        let (head, tail) = (unhex(text(&expected["head_hex"])), unhex(text(&expected["tail_hex"])));
        assert!(bytes.starts_with(&head) && bytes.ends_with(&tail), "{name}");
        assert_eq!(blake3::hash(&bytes).to_hex().as_str(), text(&expected["blake3"]), "{name}");
        assert_eq!(levada_wire::autonomi::decode(&bytes), Ok(view(&message)), "{name}");
        large += 1;
    }
    assert_eq!(large, 36, "vectors recorded by hash");
    assert_eq!(vectors().len(), 130);
}

/// The message of a vector that is recorded by hash, made of its fields alone.
fn large_message(vector: &Value) -> Option<ChunkMessage> {
    vector["encoded"]["blake3"].as_str()?;
    let fields = &vector["fields"];
    let content = fields["content_len"].as_u64().map(|len| by_rule(len as usize));
    let body = match content {
        Some(content) if vector["name"] == format!("success-{}", content.len()) => {
            ChunkMessageBody::GetResponse(ChunkGetResponse::Success { address: address(&fields["address"]), content })
        }
        Some(content) => ChunkMessageBody::PutRequest(ChunkPutRequest {
            address: address(&fields["address"]),
            content: ByteString(content),
            payment_proof: fields["payment_proof"]["len"].as_u64().map(|len| proof_by_rule(len as usize)),
        }),
        None => ChunkMessageBody::QuoteResponse(ChunkQuoteResponse::Success {
            quote: message_pack_quote(&fields["quote"]),
            already_stored: fields["already_stored"] == true,
            commitment: None,
        }),
    };
    Some(ChunkMessage { request_id: text(&vector["request_id"]).parse().expect("a number"), body })
}

/// A quote as the network signs it: eight values in MessagePack, where byte vectors are arrays of numbers.
fn message_pack_quote(fields: &Value) -> Vec<u8> {
    let array = |bytes: &[u8]| {
        let mut out = [&[0xdc][..], &(bytes.len() as u16).to_be_bytes()].concat();
        for &byte in bytes {
            out.extend((byte >= 0x80).then_some(0xcc));
            out.push(byte);
        }
        out
    };
    let number = |name: &str| fields[name].as_u64().expect("a number");
    let mut price = [0; 32];
    price[16..].copy_from_slice(&text(&fields["price"]).parse::<u128>().expect("a number").to_be_bytes());
    let quote = [
        &[0x98][..],
        &array(&address(&fields["content"])),
        &[0x92, 0xce],
        &(number("timestamp_secs") as u32).to_be_bytes(),
        &[0xce],
        &(number("timestamp_nanos") as u32).to_be_bytes(),
        &[0xc4, 32],
        &price,
        &[0xc4, 20],
        &[0x42; 20],
        &array(&by_rule(number("pub_key_len") as usize)),
        &array(&by_rule(number("signature_len") as usize)),
        &[number("committed_key_count") as u8],
        &array(&address(&fields["commitment_pin"])),
    ]
    .concat();
    assert_eq!(blake3::hash(&quote).to_hex().as_str(), text(&fields["msgpack"]["blake3"]));
    quote
}

/// Finds each field that the vector names among those decoded, by its name.
fn check_fields(body: &ChunkMessageBody, expected: &Value, name: &str) {
    let decoded = serde_json::to_value(body).expect("a tree");
    for (key, expected) in expected.as_object().expect("fields") {
        let field = |key: &str| find(&decoded, key).unwrap_or_else(|| panic!("{name} has no {key}"));
        match key.as_str() {
            "address" | "state_id" => assert_eq!(bytes_of(field(key)), address(expected), "{name} {key}"),
            "content_len" => {
                let content = by_rule(expected.as_u64().expect("a length") as usize);
                assert_eq!(bytes_of(field("content")), content, "{name}");
            }
            "payment_proof" => {
                let proof = expected["len"].as_u64().map(|len| proof_by_rule(len as usize));
                assert_eq!(optional_bytes_of(field(key)), proof, "{name}");
            }
            "error" | "debug" => {
                let debug = error_of(body);
                let name_of_error = debug.split(['(', ' ']).next();
                assert_eq!(Some(text(expected)), if key == "debug" { Some(&*debug) } else { name_of_error }, "{name}");
            }
            // ant-protocol's own sentence about the error above.
            "display" => {}
            key if key.ends_with("_hex") => {
                let field = field(key.trim_end_matches("_hex"));
                assert_eq!(bytes_of(field), unhex(text(expected)), "{name} {key}");
            }
            key => assert_eq!(field(key), expected, "{name} {key}"),
        }
    }
}

/// The error that an answer carries, printed.
fn error_of(body: &ChunkMessageBody) -> String {
    let debug = format!("{body:?}");
    let (_, error) = debug.split_once("(Error(").expect("an answer that carries an error");
    error.strip_suffix("))").expect("two wrappers").to_owned()
}

fn find<'a>(tree: &'a Value, key: &str) -> Option<&'a Value> {
    let branches = tree.as_object()?;
    branches.get(key).or_else(|| branches.values().find_map(|branch| find(branch, key)))
}

fn bytes_of(tree: &Value) -> Vec<u8> {
    let numbers = tree.as_array().expect("a list of bytes").iter();
    numbers.map(|number| number.as_u64().expect("a byte") as u8).collect()
}

fn optional_bytes_of(tree: &Value) -> Option<Vec<u8>> {
    (!tree.is_null()).then(|| bytes_of(tree))
}

/// 32 bytes, spelt out or as `11 x32`.
fn address(value: &Value) -> [u8; 32] {
    let spelt = match text(value).strip_suffix(" x32") {
        Some(byte) => byte.repeat(32),
        None => text(value).to_owned(),
    };
    unhex(&spelt).try_into().expect("32 bytes")
}

/// The bytes that the vectors fill long fields with.
fn by_rule(len: usize) -> Vec<u8> {
    (0..len).map(|index| ((index * 167 + 13) % 251) as u8).collect()
}

/// The same for a payment proof, whose first byte tells its kind.
fn proof_by_rule(len: usize) -> Vec<u8> {
    let mut proof = by_rule(len);
    proof.iter_mut().take(1).for_each(|tag| *tag = 1);
    proof
}

fn unhex(text: &str) -> Vec<u8> {
    hex::decode(text).expect("a vector is hex")
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

/// The reference alone reads the vectors too, or it would be no reference.
#[test]
fn the_reference_reads_every_recorded_message() {
    for (name, bytes) in recorded() {
        let message = decode(&bytes).unwrap_or_else(|error| panic!("{name}: {error:?}"));
        assert_eq!(crate::mirror::encode(&message), bytes, "{name}");
    }
}
