//! A message as it leaves: encoded once, and in the send queues of all peers and the message cache by references to its parts. A copy of
//! it is a few reference counts, so that nothing is allocated for a message that goes on.

use bytes::Bytes;
use levada_engine::Held;
use levada_wire::gossipsub::PublishHeader;
use levada_wire::waku::WakuRecord;

/// Where the data lies. It is never copied.
#[derive(Clone, Debug)]
pub(crate) enum Payload {
    /// In the slot it was received into.
    Slot(Held<WakuRecord>),
    /// Where its publisher keeps it, as in a slot.
    Bytes(Bytes),
}

impl Payload {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Slot(slot) => slot.payload(),
            Self::Bytes(bytes) => bytes,
        }
    }

    fn topic_number(&self) -> Option<u32> {
        match self {
            Self::Slot(slot) => Some(slot.record().topic),
            Self::Bytes(_) => None,
        }
    }

    /// Memory that is kept from others.
    fn kept_bytes(&self) -> usize {
        match self {
            Self::Slot(slot) => slot.slot_bytes(),
            Self::Bytes(bytes) => bytes.len(),
        }
    }
}

/// One frame: what stands in front of the data, the field of the topic in the middle of that, and the data.
#[derive(Clone, Debug)]
pub(crate) struct Outgoing {
    header: PublishHeader,
    /// The same bytes for all messages on the topic.
    topic_field: Bytes,
    /// What the receiver of inbound messages calls the topic.
    topic_number: Option<u32>,
    payload: Payload,
}

impl Outgoing {
    pub(crate) fn new(header: PublishHeader, topic_field: Bytes, payload: Payload) -> Self {
        Self { header, topic_field, topic_number: payload.topic_number(), payload }
    }

    /// The same message, whose payload does not tell the number of its topic.
    pub(crate) fn on_topic(self, topic_number: Option<u32>) -> Self {
        Self { topic_number, ..self }
    }

    pub(crate) fn topic_number(&self) -> Option<u32> {
        self.topic_number
    }

    /// What is written before the data, in order.
    pub(crate) fn head(&self) -> [&[u8]; 3] {
        [self.header.framed(), &self.topic_field, self.header.before_data()]
    }

    pub(crate) fn data(&self) -> &[u8] {
        self.payload.bytes()
    }

    /// What a queue is charged for it: the whole slot, however short the message is, because so much is kept from others.
    pub(crate) fn kept_bytes(&self) -> usize {
        self.payload.kept_bytes() + self.topic_field.len()
    }
}
