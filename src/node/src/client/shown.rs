//! A message as it is printed.

use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use levada_wire::hash::Digest;
use levada_wire::waku::message::MessageSpans;
use serde::Serialize;

use super::say;

/// A message, with the names of nwaku's REST interface.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    message_hash: String,
    pubsub_topic: &'a str,
    content_topic: &'a str,
    payload: String,
    version: u32,
    timestamp: i64,
    #[serde(skip_serializing_if = "String::is_empty")]
    meta: String,
}

/// Prints a message as a line: of JSON, or its hash, time, topics and payload, whose control characters are escaped.
pub(super) fn message(
    hash: &Digest,
    pubsub_topic: &str,
    data: &[u8],
    spans: &MessageSpans,
    is_json: bool,
) -> io::Result<()> {
    let message = spans.view(data);
    let message_hash = hash_text(hash);
    if is_json {
        let line = Line {
            message_hash,
            pubsub_topic,
            content_topic: message.content_topic,
            payload: STANDARD.encode(message.payload),
            version: message.version,
            timestamp: message.timestamp,
            meta: STANDARD.encode(message.meta),
        };
        return say(&serde_json::to_string(&line)?);
    }
    let (timestamp, content_topic) = (message.timestamp, message.content_topic);
    // What a message names is its sender's choice, and must not write to a terminal what it likes.
    let content_topic = content_topic.escape_debug();
    say(&format!("{message_hash} {timestamp} {pubsub_topic} {content_topic} {}", payload_text(message.payload)))
}

/// Prints the hash of a message whose content was not asked for.
pub(super) fn hash_alone(hash: &Digest, is_json: bool) -> io::Result<()> {
    let text = hash_text(hash);
    say(&if is_json { serde_json::json!({ "messageHash": text }).to_string() } else { text })
}

/// A hash as nwaku writes it.
pub(super) fn hash_text(hash: &Digest) -> String {
    format!("0x{}", hex::encode(hash))
}

/// Text between quotes, or hexadecimal digits for what is none; cut to a line's length.
fn payload_text(payload: &[u8]) -> String {
    let cut = |text: String| match text.char_indices().nth(PAYLOAD_CHARS_MAX) {
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], payload.len()),
        None => text,
    };
    match std::str::from_utf8(payload) {
        Ok(text) => cut(format!("{text:?}")),
        Err(_) => cut(format!("0x{}", hex::encode(&payload[..payload.len().min(PAYLOAD_CHARS_MAX)]))),
    }
}

/// Longer payloads are for json.
const PAYLOAD_CHARS_MAX: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_stay_one_line_and_say_when_they_are_cut() {
        assert_eq!(payload_text(b"a\n\x1b[2J"), "\"a\\n\\u{1b}[2J\"");
        assert_eq!(payload_text(&[0xff, 0]), "0xff00");
        let long = payload_text("é".repeat(1_000).as_bytes());
        assert!(long.ends_with("… (2000 bytes)") && long.chars().count() < 230, "{long}");
        assert!(payload_text(&[0xff; 1_000]).ends_with("… (1000 bytes)"));
    }
}
