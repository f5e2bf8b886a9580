//! The bytes of a relay stream, taken apart as they come: no socket, no slot, no memory beyond one control entry.
//!
//! Control entries and subscriptions are gathered, because they are walked as a whole; the data of a message is not. When it begins, its
//! length has been checked, and the caller is asked for a slot to read it into. The reader asks for nothing that it does not need, so
//! data need not lie anywhere but in its slot.

mod fault;

use super::RpcLimits;
use crate::varint;

pub use fault::StreamFault;

/// A control entry keeps at most this much memory for the next one.
const KEPT_BYTES_MAX: usize = 4_096;
/// Ten groups of seven bits hold 64.
const VARINT_SHIFT_MAX: u32 = 63;

/// Fields of the RPC message (libp2p pubsub).
mod rpc {
    pub(super) const SUBSCRIPTION: u64 = 1;
    pub(super) const PUBLISH: u64 = 2;
    pub(super) const CONTROL: u64 = 3;
}

/// Fields of a published message. All but these two are of signed messages, which Waku forbids.
mod message {
    pub(super) const DATA: u64 = 2;
    pub(super) const TOPIC: u64 = 4;
    pub(super) const FORBIDDEN: [u64; 4] = [1, 3, 5, 6];
}

/// How much of a frame is taken.
#[derive(Clone, Copy, Debug)]
pub struct FrameLimits {
    /// Bytes of a frame without its length.
    pub frame_bytes_max: u32,
    /// Bytes of a message; longer ones are stepped over.
    pub data_bytes_max: u32,
    /// Bytes of a subscription or of a control message.
    pub control_bytes_max: u32,
    /// Bytes of the name of a topic.
    pub topic_bytes_max: u32,
}

impl FrameLimits {
    /// What the walk over a gathered entry allows: what fits, because the router has budgets of its own.
    pub fn of_entry(&self) -> RpcLimits {
        let bytes = self.control_bytes_max + 16;
        RpcLimits { frame_bytes_max: bytes, topic_bytes_max: bytes, ..RpcLimits::default() }
    }
}

/// What the reader needs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// At most so many bytes, given to [`FrameReader::feed`].
    Bytes(usize),
    /// A slot for so many bytes, then [`FrameReader::has_slot`].
    Slot(usize),
    /// The bytes of the slot from `at` to `end`; [`FrameReader::has_read`] tells how many came.
    Data {
        /// Where the next byte goes.
        at: usize,
        /// How long the data is.
        end: usize,
    },
    /// [`FrameReader::entry`] is complete.
    Entry,
    /// [`FrameReader::message`] is complete.
    Message,
}

/// A message whose last field has come. Its data is in the slot that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Publication<'a> {
    /// The name as it came, perhaps empty or no UTF-8.
    pub topic: &'a [u8],
    /// Bytes of the data.
    pub data_bytes: usize,
    /// Whether it is over the limit, and so was stepped over.
    pub is_too_large: bool,
    /// Whether it has none of the fields of a signed message.
    pub is_anonymous: bool,
}

/// Which message a field belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Rpc,
    Message,
}

#[derive(Clone, Copy, Debug)]
enum State {
    FrameLength,
    Key(Level),
    /// The length of a field.
    Length(Level, u64),
    /// A number that nobody needs.
    Number(Level),
    Skip(Level, u32),
    Entry(u32),
    Topic(u32),
    AwaitsSlot(u32),
    Data {
        at: u32,
        end: u32,
    },
    EntryReady,
    MessageReady,
}

/// The state between two reads.
#[derive(Debug)]
pub struct FrameReader {
    limits: FrameLimits,
    state: State,
    /// The number that is being read, and the place of its next seven bits.
    number: (u64, u32),
    frame_left: u32,
    message_left: u32,
    entry: Vec<u8>,
    topic: Vec<u8>,
    data: Option<u32>,
    has_topic: bool,
    is_anonymous: bool,
}

impl FrameReader {
    /// A reader at the beginning of a stream.
    pub fn new(limits: FrameLimits) -> Self {
        Self {
            limits,
            state: State::FrameLength,
            number: (0, 0),
            frame_left: 0,
            message_left: 0,
            entry: Vec::new(),
            topic: Vec::new(),
            data: None,
            has_topic: false,
            is_anonymous: true,
        }
    }

    /// What it needs to go on.
    #[inline]
    pub fn need(&self) -> Need {
        match self.state {
            State::FrameLength | State::Key(_) | State::Length(..) | State::Number(_) => Need::Bytes(1),
            State::Skip(_, left) | State::Entry(left) | State::Topic(left) => Need::Bytes(left as usize),
            State::AwaitsSlot(bytes) => Need::Slot(bytes as usize),
            State::Data { at, end } => Need::Data { at: at as usize, end: end as usize },
            State::EntryReady => Need::Entry,
            State::MessageReady => Need::Message,
        }
    }

    /// The gathered field, as an RPC of its own.
    pub fn entry(&self) -> &[u8] {
        &self.entry
    }

    /// Goes on after [`Need::Entry`].
    pub fn entry_done(&mut self) {
        self.entry.clear();
        self.entry.shrink_to(KEPT_BYTES_MAX);
        self.state = State::Key(Level::Rpc);
        self.settle();
    }

    /// The message that is complete, after [`Need::Message`].
    pub fn message(&self) -> Publication<'_> {
        let bytes = self.data.unwrap_or_default();
        Publication {
            topic: &self.topic,
            data_bytes: bytes as usize,
            is_too_large: bytes > self.limits.data_bytes_max,
            is_anonymous: self.is_anonymous,
        }
    }

    /// Goes on after [`Need::Message`].
    pub fn message_done(&mut self) {
        self.topic.clear();
        (self.data, self.has_topic, self.is_anonymous) = (None, false, true);
        self.state = State::Key(Level::Rpc);
        self.settle();
    }

    /// Goes on after [`Need::Slot`].
    pub fn has_slot(&mut self) {
        if let State::AwaitsSlot(bytes) = self.state {
            self.state = State::Data { at: 0, end: bytes };
            self.settle();
        }
    }

    /// So many bytes of the data have come.
    pub fn has_read(&mut self, bytes: usize) {
        if let State::Data { at, end } = self.state {
            let bytes = (bytes as u32).min(end - at);
            self.take(Level::Message, bytes);
            self.state = State::Data { at: at + bytes, end };
            self.settle();
        }
    }

    /// Takes bytes, as many as were asked for or fewer.
    ///
    /// # Errors
    /// [`StreamFault`]: the stream is of no use any more.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), StreamFault> {
        match self.state {
            State::FrameLength | State::Key(_) | State::Length(..) | State::Number(_) => {
                bytes.iter().try_for_each(|byte| self.digit(*byte))
            }
            State::Skip(level, left) => self.pass(level, left, bytes.len(), |left| State::Skip(level, left)),
            State::Entry(left) => {
                self.entry.extend_from_slice(bytes);
                self.pass(Level::Rpc, left, bytes.len(), State::Entry)
            }
            State::Topic(left) => {
                self.topic.extend_from_slice(bytes);
                self.pass(Level::Message, left, bytes.len(), State::Topic)
            }
            State::AwaitsSlot(_) | State::Data { .. } | State::EntryReady | State::MessageReady => Ok(()),
        }
    }

    fn pass(&mut self, level: Level, left: u32, bytes: usize, next: impl Fn(u32) -> State) -> Result<(), StreamFault> {
        let bytes = u32::try_from(bytes).map_err(|_| StreamFault::Overrun)?;
        let left = left.checked_sub(bytes).ok_or(StreamFault::Overrun)?;
        self.take(level, bytes);
        self.state = next(left);
        self.settle();
        Ok(())
    }

    fn take(&mut self, level: Level, bytes: u32) {
        self.frame_left = self.frame_left.saturating_sub(bytes);
        if level == Level::Message {
            self.message_left = self.message_left.saturating_sub(bytes);
        }
    }

    /// What is left of the message that a field is in.
    fn left(&self, level: Level) -> u32 {
        match level {
            Level::Rpc => self.frame_left,
            Level::Message => self.message_left,
        }
    }

    /// One byte of a number.
    fn digit(&mut self, byte: u8) -> Result<(), StreamFault> {
        let level = match self.state {
            State::Key(level) | State::Length(level, _) | State::Number(level) => Some(level),
            _ => None,
        };
        if let Some(level) = level {
            if self.left(level) == 0 {
                return Err(StreamFault::Overrun);
            }
            self.take(level, 1);
        }
        let (value, shift) = self.number;
        if shift > VARINT_SHIFT_MAX || (shift == VARINT_SHIFT_MAX && byte > 1) {
            return Err(StreamFault::Varint);
        }
        let value = value | u64::from(byte & 0x7f) << shift;
        if byte & 0x80 != 0 {
            self.number = (value, shift + 7);
            return Ok(());
        }
        self.number = (0, 0);
        self.number_complete(value)?;
        self.settle();
        Ok(())
    }

    fn number_complete(&mut self, value: u64) -> Result<(), StreamFault> {
        self.state = match self.state {
            State::FrameLength => {
                let bytes_max = self.limits.frame_bytes_max;
                self.frame_left =
                    narrow(value, bytes_max, |bytes, bytes_max| StreamFault::FrameTooLong { bytes, bytes_max })?;
                State::Key(Level::Rpc)
            }
            State::Key(level) => match (value & 7, value >> 3) {
                (_, 0) => return Err(StreamFault::WireType),
                (0, _) => State::Number(level),
                (1, _) => self.fixed(level, 8)?,
                (2, field) => State::Length(level, field),
                (5, _) => self.fixed(level, 4)?,
                _ => return Err(StreamFault::WireType),
            },
            State::Length(level, field) => {
                let bytes =
                    u32::try_from(value).ok().filter(|bytes| *bytes <= self.left(level)).ok_or(StreamFault::Overrun)?;
                match level {
                    Level::Rpc => self.rpc_field(field, bytes)?,
                    Level::Message => self.message_field(field, bytes)?,
                }
            }
            State::Number(level) => State::Key(level),
            other => other,
        };
        Ok(())
    }

    fn fixed(&self, level: Level, bytes: u32) -> Result<State, StreamFault> {
        if self.left(level) < bytes { Err(StreamFault::Overrun) } else { Ok(State::Skip(level, bytes)) }
    }

    fn rpc_field(&mut self, field: u64, bytes: u32) -> Result<State, StreamFault> {
        match field {
            rpc::PUBLISH => {
                self.message_left = bytes;
                Ok(State::Key(Level::Message))
            }
            rpc::SUBSCRIPTION | rpc::CONTROL => {
                let bytes_max = self.limits.control_bytes_max;
                narrow(bytes.into(), bytes_max, |bytes, bytes_max| StreamFault::ControlTooLong { bytes, bytes_max })?;
                // The walk expects the field with its key and its length.
                self.entry.push((field as u8) << 3 | 2);
                push_varint(bytes, &mut self.entry);
                Ok(State::Entry(bytes))
            }
            _ => Ok(State::Skip(Level::Rpc, bytes)),
        }
    }

    fn message_field(&mut self, field: u64, bytes: u32) -> Result<State, StreamFault> {
        match field {
            message::DATA => {
                if self.data.replace(bytes).is_some() {
                    return Err(StreamFault::Twice);
                }
                let fits = bytes <= self.limits.data_bytes_max;
                Ok(if fits { State::AwaitsSlot(bytes) } else { State::Skip(Level::Message, bytes) })
            }
            message::TOPIC => {
                if std::mem::replace(&mut self.has_topic, true) {
                    return Err(StreamFault::Twice);
                }
                let bytes_max = self.limits.topic_bytes_max;
                let too_long = |bytes, bytes_max| StreamFault::TopicTooLong { bytes, bytes_max };
                narrow(bytes.into(), bytes_max, too_long).map(State::Topic)
            }
            _ => {
                self.is_anonymous &= !message::FORBIDDEN.contains(&field);
                Ok(State::Skip(Level::Message, bytes))
            }
        }
    }

    /// Steps over the ends of fields, messages and frames.
    fn settle(&mut self) {
        loop {
            self.state = match self.state {
                State::Skip(level, 0) => State::Key(level),
                State::Entry(0) => State::EntryReady,
                State::Topic(0) => State::Key(Level::Message),
                State::Data { at, end } if at == end => State::Key(Level::Message),
                State::Key(Level::Rpc) if self.frame_left == 0 && self.number == (0, 0) => State::FrameLength,
                // A message without data has an empty one, and needs a slot as well.
                State::Key(Level::Message) if self.message_left == 0 && self.number == (0, 0) => match self.data {
                    None => {
                        self.data = Some(0);
                        State::AwaitsSlot(0)
                    }
                    Some(_) => State::MessageReady,
                },
                _ => return,
            };
        }
    }
}

fn narrow(value: u64, value_max: u32, fault: impl Fn(u64, u32) -> StreamFault) -> Result<u32, StreamFault> {
    u32::try_from(value).ok().filter(|value| *value <= value_max).ok_or(fault(value, value_max))
}

fn push_varint(value: u32, out: &mut Vec<u8>) {
    let mut bytes = [0; varint::VARINT_BYTES_MAX];
    let written = varint::encode(value.into(), &mut bytes).unwrap_or_default();
    out.extend_from_slice(&bytes[..written]);
}

#[cfg(test)]
mod tests;
