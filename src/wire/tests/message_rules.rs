//! The rules of 14/WAKU2-MESSAGE as nwaku applies them, one by one, and the encoder's limits.

use levada_wire::error::{DecodeError, EncodeError, WireError};
use levada_wire::waku::message::{META_BYTES_MAX, Message, decode};

/// Payload `p` and content topic `t`, the shortest message with content.
const BASE: [u8; 6] = [0x0a, 1, b'p', 0x12, 1, b't'];

fn with(rest: &[u8]) -> Vec<u8> {
    [&BASE[..], rest].concat()
}

fn encoded(message: &Message<'_>) -> Vec<u8> {
    let mut out = vec![0; message.encoded_len()];
    assert_eq!(message.encode_into(&mut out), Ok(out.len()));
    out
}

#[test]
fn payload_and_content_topic_must_be_present_but_may_be_empty() {
    let payload = Err(DecodeError::Missing { field: "payload" });
    let content_topic = Err(DecodeError::Missing { field: "content_topic" });
    assert_eq!(decode(&[]), payload);
    assert_eq!(decode(&[0x12, 1, b't']), payload);
    assert_eq!(decode(&[0x0a, 1, b'p']), content_topic);
    // With the wrong wire type a field is as good as absent.
    assert_eq!(decode(&[0x08, 1, 0x12, 1, b't']), payload);
    assert_eq!(decode(&[0x0a, 1, b'p', 0x15, 1, 2, 3, 4]), content_topic);
    let empty = [0x0a, 0, 0x12, 0];
    assert_eq!(decode(&empty).map(|spans| spans.view(&empty)), Ok(Message::default()));
}

#[test]
fn the_last_of_repeated_fields_wins() {
    let data = with(&[
        0x0a, 1, b'q', 0x12, 0, 0x18, 1, 0x18, 2, 0x50, 2, 0x50, 4, 0x5a, 1, b'm', 0x5a, 0, 0xf8, 1, 1, 0xf8, 1, 0,
    ]);
    let expected = Message { payload: b"q", version: 2, timestamp: 2, ..Message::default() };
    let spans = decode(&data).expect("repeated fields are well-formed");
    assert_eq!(spans.view(&data), expected);
    assert!(spans.present.meta && spans.present.ephemeral);
}

#[test]
fn unknown_fields_and_other_wire_types_are_passed_over() {
    let unknown =
        [0x20, 5, 0x29, 1, 2, 3, 4, 5, 6, 7, 8, 0x32, 2, 9, 9, 0x3d, 1, 2, 3, 4, 0xf8, 0xff, 0xff, 0xff, 0x0f, 1];
    let wrong_types = [0x1a, 1, 7, 0x52, 0, 0x58, 9, 0xa8, 1, 3, 0xfa, 1, 1, 1, 0x08, 3, 0x10, 3];
    for rest in [&unknown[..], &wrong_types] {
        let data = with(rest);
        let spans = decode(&data).expect("only fields that do not count");
        assert_eq!(spans.view(&data), Message { payload: b"p", content_topic: "t", ..Message::default() });
        assert_eq!(spans.present, Default::default());
    }
}

#[test]
fn groups_fail_the_message_wherever_they_are() {
    let offset = BASE.len() as u32;
    for group in [&[0x0b][..], &[0x0c], &[0x23, 0x24], &[0xfb, 0x01]] {
        assert_eq!(decode(&with(group)), Err(WireError::Group { offset }.into()), "{group:02x?}");
    }
}

#[test]
fn meta_has_64_bytes_at_most() {
    let meta = |len: usize| [&[0x5a, len as u8][..], &vec![7; len]].concat();
    assert!(decode(&with(&meta(64))).is_ok());
    assert_eq!(decode(&with(&meta(65))), Err(DecodeError::MetaTooLong { bytes: 65 }));
    let replaced = [meta(65), meta(1)].concat();
    assert!(decode(&with(&replaced)).is_ok(), "only the last occurrence counts");
}

#[test]
fn scalars_at_their_limits() {
    let u32_max = [0x18, 0xff, 0xff, 0xff, 0xff, 0x0f];
    assert_eq!(decode(&with(&u32_max)).map(|spans| spans.version), Ok(u32::MAX));
    let above = [0x18, 0x80, 0x80, 0x80, 0x80, 0x10];
    assert_eq!(decode(&with(&above)), Err(DecodeError::ValueTooLarge { field: "version" }));
    let above = [0xf8, 1, 0x80, 0x80, 0x80, 0x80, 0x10];
    assert_eq!(decode(&with(&above)), Err(DecodeError::ValueTooLarge { field: "ephemeral" }));
    assert_eq!(decode(&with(&[0xf8, 1, 2])).map(|spans| spans.ephemeral), Ok(true));
    assert_eq!(decode(&with(&[0xf8, 1, 0x80, 0])).map(|spans| spans.ephemeral), Ok(false));
    let min = [0x50, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
    assert_eq!(decode(&with(&min)).map(|spans| spans.timestamp), Ok(i64::MIN));
    let overlong = [0x50, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02];
    assert_eq!(decode(&with(&overlong)), Err(WireError::VarintTooLong { offset: 6 }.into()));
}

#[test]
fn the_content_topic_is_text() {
    assert_eq!(decode(&[0x0a, 0, 0x12, 2, 0xc3, 0x28]), Err(DecodeError::ContentTopicNotUtf8 { offset: 4 }));
    let data = [0x0a, 0, 0x12, 2, 0xc3, 0xa9];
    assert_eq!(decode(&data).map(|spans| spans.view(&data).content_topic), Ok("é"));
}

#[test]
fn a_view_of_other_bytes_does_not_panic() {
    let spans = decode(&BASE).expect("a well-formed message");
    assert_eq!(spans.view(&[]), Message::default());
    assert_eq!(spans.view(&[0xff; 6]).content_topic, "");
}

#[test]
fn the_encoder_writes_every_field() {
    assert_eq!(encoded(&Message::default()), [0x0a, 0, 0x12, 0, 0x18, 0, 0x50, 0, 0x5a, 0, 0xaa, 1, 0, 0xf8, 1, 0]);
    let message = Message {
        payload: &[7; 300],
        content_topic: "/app/1/é/proto",
        version: u32::MAX,
        timestamp: i64::MIN,
        meta: &[8; META_BYTES_MAX],
        proof: &[9; 289],
        ephemeral: true,
    };
    let data = encoded(&message);
    assert_eq!(decode(&data).map(|spans| spans.view(&data)), Ok(message));
}

#[test]
fn the_encoder_refuses_what_cannot_travel() {
    let message = Message { payload: b"p", content_topic: "t", ..Message::default() };
    let needed_bytes = message.encoded_len();
    for available_bytes in 0..needed_bytes {
        let mut out = vec![0xee; available_bytes];
        let refused = EncodeError::BufferTooSmall { needed_bytes, available_bytes };
        assert_eq!(message.encode_into(&mut out), Err(refused));
        assert_eq!(out, vec![0xee; available_bytes], "a refused encoding leaves the buffer alone");
    }
    let mut out = [0xee; 64];
    assert_eq!(message.encode_into(&mut out), Ok(needed_bytes));
    assert!(out[needed_bytes..].iter().all(|&byte| byte == 0xee));
    let long_meta = Message { meta: &[0; META_BYTES_MAX + 1], ..message };
    assert_eq!(long_meta.encode_into(&mut [0; 200]), Err(EncodeError::MetaTooLong { bytes: 65 }));
}
