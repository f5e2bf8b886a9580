//! yamux 1.0.0: headers of twelve bytes, and a window per stream and direction.
//!
//! ```text
//!  0         1      2       4           8         12
//!  │ version │ type │ flags │ stream id │ length  │      all big-endian; version is 0
//!              0 data            SYN 1  ACK 2  FIN 4  RST 8
//!              1 window update   length: how much the window grows
//!              2 ping            length: any value; SYN asks, ACK answers
//!              3 go away         length: 0 normal, 1 protocol error, 2 internal error
//! ```
//!
//! The side that dialled opens streams with odd numbers, the other one with even ones. A stream is announced, and an announced one
//! accepted, by a flag of its first frame. Source: `spec.md` of hashicorp/yamux, and libp2p specifications, `yamux/README.md`.

use super::{Body, Codec, Frame, Greeting, HEADER_BYTES_MAX, Header, MuxFault, StreamId};

#[cfg(test)]
mod tests;

/// The protocol name.
pub const PROTOCOL: &str = "/yamux/1.0.0";

const HEADER_BYTES: usize = 12;
/// Fixed by the specification; both sides start with it.
const WINDOW_BYTES: u32 = 256 * 1_024;

const DATA: u8 = 0;
const WINDOW_UPDATE: u8 = 1;
const PING: u8 = 2;
const GO_AWAY: u8 = 3;

const SYN: u16 = 1;
const ACK: u16 = 2;
const FIN: u16 = 4;
const RST: u16 = 8;

/// Headers of one connection.
pub struct Yamux {
    is_initiator: bool,
    /// `None` when the numbers are used up.
    next: Option<u32>,
}

impl Yamux {
    /// The side that dialled is the initiator.
    pub fn new(is_initiator: bool) -> Self {
        Self { is_initiator, next: Some(if is_initiator { 1 } else { 2 }) }
    }
}

impl Codec for Yamux {
    const NAME: &'static str = "yamux";
    const WINDOW_BYTES: Option<u32> = Some(WINDOW_BYTES);
    const READ_BYTES_MAX: usize = HEADER_BYTES;

    fn next_id(&mut self) -> Option<StreamId> {
        let number = self.next?;
        self.next = number.checked_add(2);
        Some(StreamId { number: number.into(), is_ours: true })
    }

    #[inline]
    fn decode(&self, bytes: &[u8]) -> Result<Option<(Frame, usize)>, MuxFault> {
        let Some(&[version, kind, f0, f1, s0, s1, s2, s3, l0, l1, l2, l3]) = bytes.first_chunk::<HEADER_BYTES>() else {
            return Ok(None);
        };
        let flags = u16::from_be_bytes([f0, f1]);
        let stream = u32::from_be_bytes([s0, s1, s2, s3]);
        let length = u32::from_be_bytes([l0, l1, l2, l3]);
        if version != 0 {
            return Err(violation("the version is not 0"));
        }
        let frame = match kind {
            DATA => self.of_stream(stream, flags, Body::Data(length))?,
            WINDOW_UPDATE => self.of_stream(stream, flags, Body::Credit(length))?,
            PING if flags & SYN != 0 => Frame::Ping(length),
            PING => Frame::Pong,
            GO_AWAY => Frame::GoAway(length),
            _ => return Err(violation("the type of a frame is unknown")),
        };
        Ok(Some((frame, HEADER_BYTES)))
    }

    #[inline]
    fn encode(&self, header: Header, out: &mut [u8; HEADER_BYTES_MAX]) -> usize {
        let (kind, flags, stream, length) = match header {
            Header::Data(id, greeting, bytes) => (DATA, greeting_flags(greeting), id.number, bytes),
            Header::Credit(id, greeting, bytes) => (WINDOW_UPDATE, greeting_flags(greeting), id.number, bytes),
            Header::Finish(id, greeting) => (DATA, greeting_flags(greeting) | FIN, id.number, 0),
            Header::Reset(id) => (DATA, RST, id.number, 0),
            Header::Pong(value) => (PING, ACK, 0, value),
            Header::GoAway(code) => (GO_AWAY, 0, 0, code),
        };
        out[0] = 0;
        out[1] = kind;
        out[2..4].copy_from_slice(&flags.to_be_bytes());
        // Numbers come from this codec, which makes 32 bits of them.
        out[4..8].copy_from_slice(&(stream as u32).to_be_bytes());
        out[8..HEADER_BYTES].copy_from_slice(&length.to_be_bytes());
        HEADER_BYTES
    }
}

impl Yamux {
    fn of_stream(&self, stream: u32, flags: u16, body: Body) -> Result<Frame, MuxFault> {
        if stream == 0 {
            return Err(violation("stream 0 carries data or credit"));
        }
        let id = StreamId { number: stream.into(), is_ours: (stream % 2 == 1) == self.is_initiator };
        let (opens, finishes, resets) = (flags & SYN != 0, flags & FIN != 0, flags & RST != 0);
        Ok(Frame::Stream { id, opens, body, finishes, resets })
    }
}

fn greeting_flags(greeting: Greeting) -> u16 {
    (if greeting.opens { SYN } else { 0 }) | (if greeting.accepts { ACK } else { 0 })
}

fn violation(rule: &'static str) -> MuxFault {
    MuxFault { muxer: Yamux::NAME, rule }
}
