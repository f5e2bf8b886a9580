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

    /// Memory that is kept from others.
    fn kept_bytes(&self) -> usize {
        match self {
            Self::Slot(slot) => slot.slot_bytes(),
            Self::Bytes(bytes) => bytes.len(),
        }
    }
}

/// One frame: what stands in front of the data, the data, and what stands behind it.
#[derive(Clone, Debug)]
pub(crate) struct Outgoing {
    header: PublishHeader,
    payload: Payload,
    /// The topic, the same bytes for all messages on it.
    trailer: Bytes,
}

impl Outgoing {
    pub(crate) fn new(header: PublishHeader, payload: Payload, trailer: Bytes) -> Self {
        Self { header, payload, trailer }
    }

    /// The bytes on the wire, in order.
    pub(crate) fn parts(&self) -> [&[u8]; 3] {
        [self.header.framed(), self.payload.bytes(), &self.trailer]
    }

    /// What a queue is charged for it.
    pub(crate) fn kept_bytes(&self) -> usize {
        self.payload.kept_bytes() + self.trailer.len()
    }
}
