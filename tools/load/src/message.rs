//! The messages: each says its number and when it was sent at the front of its payload.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use levada_wire::waku::message::{Message, decode};

/// The pubsub topic of all.
pub const TOPIC: &str = "/waku/2/rs/0/0";

const NUMBER_BYTES: usize = 8;
/// Number and time.
const STAMP_BYTES: usize = 2 * NUMBER_BYTES;

/// The name of a content topic.
pub fn content_topic(number: u64) -> String {
    format!("/levada-load/1/topic-{number}/proto")
}

/// The time, in nanoseconds since the epoch.
pub fn unix_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    since.as_nanos() as u64
}

/// A message of now, encoded.
pub fn encode(number: u64, content_topic: &str, payload_bytes: usize) -> Bytes {
    let sent_ns = unix_ns();
    let mut payload = vec![b'.'; payload_bytes.max(STAMP_BYTES)];
    payload[..NUMBER_BYTES].copy_from_slice(&number.to_le_bytes());
    payload[NUMBER_BYTES..STAMP_BYTES].copy_from_slice(&sent_ns.to_le_bytes());
    let message = Message { payload: &payload, content_topic, timestamp: sent_ns as i64, ..Message::default() };
    let mut data = vec![0; message.encoded_len()];
    message.encode_into(&mut data).expect("the buffer has the length that was asked for");
    data.into()
}

/// Number and time of an encoded message; none if it is not one of ours.
pub fn stamp(data: &[u8]) -> Option<(u64, u64)> {
    let spans = decode(data).ok()?;
    let payload = spans.payload.of(data);
    let at = |from: usize| Some(u64::from_le_bytes(payload.get(from..from + NUMBER_BYTES)?.try_into().ok()?));
    Some((at(0)?, at(NUMBER_BYTES)?))
}
