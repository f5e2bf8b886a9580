//! The peer: frames as its codec writes them or any bytes, and what it can tell of what it hears.

use levada_wire::mux::{Body, Codec, Frame, Greeting, Header, StreamId};

use crate::transport::by_hand::{Bench, header};

/// So many streams and bytes are enough for every state.
const STREAMS_MAX: usize = 100;
const SENT_BYTES_MAX: usize = 1 << 20;

/// What one stream has carried, as the peer knows it.
pub(super) struct Way {
    /// As the connection that is tested calls it.
    id: StreamId,
    pub(super) sent: usize,
    pub(super) heard: usize,
    /// What the peer may still send, and be sent.
    window: usize,
    credit: usize,
    has_finished: bool,
    is_finished_there: bool,
    /// One side or the other has given the stream up.
    pub(super) is_reset: bool,
}

/// The two directions of a stream.
pub(super) const TO_US: u8 = 0;
pub(super) const FROM_US: u8 = 0x80;

impl Way {
    fn new<C: Codec>(id: StreamId) -> Self {
        let window = C::WINDOW_BYTES.map_or(usize::MAX, |bytes| bytes as usize);
        Self {
            id,
            sent: 0,
            heard: 0,
            window,
            credit: window,
            has_finished: false,
            is_finished_there: false,
            is_reset: false,
        }
    }
}

/// What the stream carries in one direction from its byte `at` on.
pub(super) fn carried(id: StreamId, direction: u8, at: usize) -> impl Iterator<Item = u8> {
    let name = (id.number as u8).wrapping_mul(29) ^ u8::from(id.is_ours) << 6 ^ direction;
    (at..).map(move |at| (at as u8).wrapping_mul(3) ^ (at >> 8) as u8 ^ name)
}

/// What the connection that is tested is connected to.
pub(super) struct Peer<C> {
    codec: C,
    ways: Vec<Way>,
    sent: usize,
    /// Has broken a rule, or may have.
    is_wild: bool,
    /// What was heard and is no whole frame.
    rest: Vec<u8>,
}

impl<C: Codec> Peer<C> {
    pub(super) fn new(codec: C) -> Self {
        Self { codec, ways: Vec::new(), sent: 0, is_wild: false, rest: Vec::new() }
    }

    pub(super) fn is_wild(&self) -> bool {
        self.is_wild
    }

    /// All bytes that it has sent.
    pub(super) fn sent(&self) -> usize {
        self.sent
    }

    pub(super) fn way(&self, id: StreamId) -> Option<&Way> {
        self.ways.iter().find(|way| way.id == id)
    }

    pub(super) fn send_raw(&mut self, bytes: &[u8], bench: &mut Bench<C>) {
        self.is_wild |= !bytes.is_empty();
        self.sent += bytes.len();
        bench.send(bytes);
    }

    /// Sends a frame of the kind `what`, on the stream `which` if it is about one that exists.
    pub(super) fn send_frame(&mut self, what: u8, which: usize, amount: usize, bench: &mut Bench<C>) {
        if what == 0 && self.ways.len() < STREAMS_MAX {
            let Some(id) = self.codec.next_id() else { return };
            self.ways.push(Way::new::<C>(flipped(id)));
            return self.data(self.ways.len() - 1, Greeting { opens: true, accepts: false }, amount, bench);
        }
        let known = Greeting { opens: false, accepts: false };
        let about = which % self.ways.len().max(1);
        let Some(way) = self.ways.get_mut(about) else { return };
        let id = flipped(way.id);
        let frame = match what {
            0 | 1 => return self.data(about, known, amount, bench),
            2 => return self.data(about, known, amount * 4_096, bench),
            3 => {
                way.credit = way.credit.saturating_add(amount * 16_384);
                Header::Credit(id, known, amount as u32 * 16_384)
            }
            4 if way.has_finished => return,
            4 => {
                way.has_finished = true;
                Header::Finish(id, known)
            }
            5 => {
                (way.is_reset, way.has_finished) = (true, true);
                Header::Reset(id)
            }
            6 => Header::Pong(amount as u32),
            _ => Header::GoAway(0),
        };
        let frame = header(&self.codec, frame);
        self.sent += frame.len();
        bench.send(&frame);
    }

    /// Sends what is next on a stream, as far as its window goes; nothing behind its end.
    fn data(&mut self, about: usize, greeting: Greeting, bytes: usize, bench: &mut Bench<C>) {
        let way = &mut self.ways[about];
        if way.has_finished {
            return;
        }
        let bytes = bytes.min(way.window).min(SENT_BYTES_MAX.saturating_sub(self.sent));
        let mut frame = header(&self.codec, Header::Data(flipped(way.id), greeting, bytes as u32));
        frame.extend(carried(way.id, TO_US, way.sent).take(bytes));
        way.sent += bytes;
        way.window -= if C::WINDOW_BYTES.is_some() { bytes } else { 0 };
        self.sent += frame.len();
        bench.send(&frame);
    }

    /// Takes `bytes` apart, which are frames or the beginning of one, whatever was sent.
    pub(super) fn hear(&mut self, bytes: &[u8]) {
        self.rest.extend_from_slice(bytes);
        let rest = std::mem::take(&mut self.rest);
        let mut at = 0;
        loop {
            match self.codec.decode(&rest[at..]) {
                Ok(Some((frame, bytes))) => {
                    let behind = &rest[at + bytes..];
                    let body = match frame {
                        Frame::Stream { body: Body::Data(body) | Body::Ignored(body), .. } => body as usize,
                        _ => 0,
                    };
                    let Some(body) = behind.get(..body) else { break };
                    at += bytes + body.len();
                    self.hear_frame(frame, body);
                }
                Ok(None) => break,
                Err(fault) => panic!("we broke a rule: {fault}"),
            }
        }
        self.rest = rest[at..].to_vec();
    }

    fn hear_frame(&mut self, frame: Frame, bytes: &[u8]) {
        let Frame::Stream { id, opens, body, finishes, resets } = frame else { return };
        let id = flipped(id);
        if opens {
            assert!(self.way(id).is_none() || self.is_wild, "{id:?} is opened twice");
            self.ways.push(Way::new::<C>(id));
        }
        let is_wild = self.is_wild;
        let Some(way) = self.ways.iter_mut().find(|way| way.id == id) else {
            assert!(is_wild, "{id:?} is spoken of, which nobody has opened");
            return;
        };
        way.is_reset |= resets;
        if is_wild {
            return;
        }
        assert!(!way.is_finished_there || bytes.is_empty(), "{id:?} goes on behind its end");
        way.is_finished_there |= finishes;
        match body {
            Body::Credit(bytes) => way.window = way.window.saturating_add(bytes as usize),
            Body::Ignored(_) => {}
            Body::Data(_) => {
                assert!(bytes.len() <= way.credit, "{id:?} sends {} bytes and may send {}", bytes.len(), way.credit);
                way.credit -= if C::WINDOW_BYTES.is_some() { bytes.len() } else { 0 };
                let is_next = bytes.iter().copied().eq(carried(id, FROM_US, way.heard).take(bytes.len()));
                assert!(is_next, "{id:?} sends what is not next on it");
                way.heard += bytes.len();
            }
        }
    }

    /// Nothing is cut on a connection that has not ended.
    pub(super) fn check_whole(&self) {
        assert!(self.rest.is_empty(), "a frame is cut: {:?}", &self.rest[..self.rest.len().min(32)]);
    }
}

/// The stream as the other side calls it.
fn flipped(id: StreamId) -> StreamId {
    StreamId { is_ours: !id.is_ours, ..id }
}
