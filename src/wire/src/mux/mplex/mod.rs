//! mplex 6.7.0: two varints in front of every message, and no flow control.
//!
//! The first varint is the stream's number times eight, plus what the message is; the second is the length of its body.
//!
//! | | opens | data | ends | resets |
//! |---|---|---|---|---|
//! | by the side that opened the stream | 0 | 2 | 4 | 6 |
//! | by the other side | | 1 | 3 | 5 |
//!
//! Each side numbers its own streams, so a number names two streams; who opened the one that is meant follows from the message.
//! Without flow control a peer can send faster than a reader reads; what happens then is for the owner of the connection to decide.
//! Source: libp2p specifications, `mplex/README.md`.

use super::{Body, Codec, Frame, Greeting, HEADER_BYTES_MAX, Header, MuxFault, StreamId};
use crate::error::VarintError;
use crate::varint;

#[cfg(test)]
mod tests;

/// The protocol name.
pub const PROTOCOL: &str = "/mplex/6.7.0";

/// The largest body that the specification allows.
const BODY_BYTES_MAX: u64 = 1_024 * 1_024;
/// A first varint of any 64 bits and a second one of [`BODY_BYTES_MAX`], padded up to five bytes.
const READ_BYTES_MAX: usize = 15;

const OPEN: u64 = 0;
/// The messages of the side that did not open the stream; one more is the same of the side that did.
const DATA: u64 = 1;
const END: u64 = 3;
const RESET: u64 = 5;

/// Messages of one connection.
#[derive(Default)]
pub struct Mplex {
    next: u64,
}

impl Codec for Mplex {
    const NAME: &'static str = "mplex";
    const WINDOW_BYTES: Option<u32> = None;
    const READ_BYTES_MAX: usize = READ_BYTES_MAX;

    fn next_id(&mut self) -> Option<StreamId> {
        let number = self.next;
        self.next += 1;
        Some(StreamId { number, is_ours: true })
    }

    #[inline]
    fn decode(&self, bytes: &[u8]) -> Result<Option<(Frame, usize)>, MuxFault> {
        // Whether a header is too long must not depend on how much came with it.
        let front = bytes.get(..READ_BYTES_MAX).unwrap_or(bytes);
        let read = match take_varint(front)? {
            Some((key, key_bytes)) => {
                take_varint(&front[key_bytes..])?.map(|(length, length_bytes)| (key, length, key_bytes + length_bytes))
            }
            None => None,
        };
        let Some((key, length, header_bytes)) = read else {
            return if front.len() < READ_BYTES_MAX { Ok(None) } else { Err(violation("a header does not end")) };
        };
        if length > BODY_BYTES_MAX {
            return Err(violation("a message is larger than 1 MiB"));
        }
        let (length, message) = (length as u32, key & 7);
        // Opening and the even messages come from the side that opened, so that stream is not ours.
        let id = StreamId { number: key >> 3, is_ours: message % 2 == 1 };
        let frame = |opens, body, finishes, resets| Frame::Stream { id, opens, body, finishes, resets };
        let frame = match message {
            // The body is a name, for people.
            OPEN => frame(true, Body::Ignored(length), false, false),
            1 | 2 => frame(false, Body::Data(length), false, false),
            3 | 4 => frame(false, Body::Ignored(length), true, false),
            5 | 6 => frame(false, Body::Ignored(length), false, true),
            _ => return Err(violation("the kind of a message is unknown")),
        };
        Ok(Some((frame, header_bytes)))
    }

    #[inline]
    fn encode(&self, header: Header, out: &mut [u8; HEADER_BYTES_MAX]) -> usize {
        match header {
            Header::Data(id, greeting, bytes) => {
                let opening = put_opening(id, greeting, out);
                opening + put(id, DATA, bytes, &mut out[opening..])
            }
            Header::Credit(id, greeting, _) => put_opening(id, greeting, out),
            Header::Finish(id, greeting) => {
                let opening = put_opening(id, greeting, out);
                opening + put(id, END, 0, &mut out[opening..])
            }
            Header::Reset(id) => put(id, RESET, 0, out),
            Header::Pong(_) | Header::GoAway(_) => 0,
        }
    }
}

/// Writes the message that opens a stream, if it is not open.
fn put_opening(id: StreamId, greeting: Greeting, out: &mut [u8]) -> usize {
    if greeting.opens { put_varints(id.number << 3 | OPEN, 0, out) } else { 0 }
}

fn put(id: StreamId, message: u64, body_bytes: u32, out: &mut [u8]) -> usize {
    put_varints(id.number << 3 | (message + u64::from(id.is_ours)), body_bytes.into(), out)
}

fn put_varints(key: u64, length: u64, out: &mut [u8]) -> usize {
    // Two varints have room in every header.
    let key_bytes = varint::encode(key, out).unwrap_or_default();
    key_bytes + varint::encode(length, &mut out[key_bytes..]).unwrap_or_default()
}

fn take_varint(bytes: &[u8]) -> Result<Option<(u64, usize)>, MuxFault> {
    match varint::decode(bytes) {
        Ok(found) => Ok(Some(found)),
        Err(VarintError::Truncated) => Ok(None),
        Err(_) => Err(violation("a varint is longer than 64 bits")),
    }
}

fn violation(rule: &'static str) -> MuxFault {
    MuxFault { muxer: Mplex::NAME, rule }
}
