//! The walk over a received RPC frame: one item at a time, spans only, nothing copied or allocated.

use super::{RpcLimits, control_field, message_field, rpc_field, subscription_field};
use crate::Span;
use crate::error::RpcError;
use crate::proto::{Value, Walk};

/// One entry of an RPC frame. Spans point into the frame. Topics are as received, perhaps empty or not UTF-8: such a topic
/// equals none that the node knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RpcItem {
    /// The peer subscribes to a topic or leaves it.
    Subscription {
        /// Whether it subscribes; absent on the wire means that it leaves.
        subscribe: bool,
        /// The topic's name.
        topic: Span,
    },
    /// A published message.
    Publish(Publication),
    /// The peer has these messages.
    IHave {
        /// The topic's name.
        topic: Span,
        /// What it has.
        ids: MessageIds,
    },
    /// The peer wants these messages.
    IWant {
        /// What it wants.
        ids: MessageIds,
    },
    /// The peer adds this node to its mesh.
    Graft {
        /// The topic's name.
        topic: Span,
    },
    /// The peer removes this node from its mesh.
    Prune {
        /// The topic's name.
        topic: Span,
        /// Seconds to wait before grafting again, if the peer says.
        backoff_s: Option<u64>,
    },
    /// The peer does not want these messages (gossipsub 1.2).
    IDontWant {
        /// What it does not want.
        ids: MessageIds,
    },
}

/// A published message of an RPC frame: where its data lies, and which fields it has that Waku forbids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Publication {
    /// The encoded WakuMessage, empty if absent.
    pub data: Span,
    /// The pubsub topic's name, empty if absent.
    pub topic: Span,
    /// A sender is named.
    pub from: bool,
    /// A sequence number is given.
    pub seqno: bool,
    /// The message is signed.
    pub signature: bool,
    /// A public key is given.
    pub key: bool,
}

impl Publication {
    /// Whether the message carries data and topic alone, as the StrictNoSign policy of 11/WAKU2-RELAY demands.
    pub fn is_anonymous(&self) -> bool {
        !(self.from || self.seqno || self.signature || self.key)
    }
}

/// The message ids of a control entry; read them with [`MessageIds::of`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageIds {
    entry: Span,
    field: u32,
    /// How many there are.
    pub count: u32,
}

impl MessageIds {
    /// The ids, as slices of `frame`, the frame they were found in. With another frame they are meaningless; it never
    /// panics.
    pub fn of(self, frame: &[u8]) -> impl Iterator<Item = &[u8]> {
        let mut fields = Walk::within(frame, self.entry);
        std::iter::from_fn(move || {
            loop {
                let field = fields.next_field().ok()??;
                if let Value::Bytes(id) = field.value
                    && field.number == self.field
                {
                    return Some(id.of(frame));
                }
            }
        })
    }
}

/// The items of one frame, in order. After an error it ends: nothing behind a broken place can be trusted.
#[derive(Clone, Debug)]
pub struct RpcWalk<'a> {
    frame: &'a [u8],
    fields: Walk<'a>,
    /// The control message that the walk is inside of, if any.
    control: Option<Walk<'a>>,
    /// What the frame may still hold.
    left: RpcLimits,
    limits: RpcLimits,
    ended: bool,
}

impl<'a> RpcWalk<'a> {
    /// A walk over `frame`, an RPC body without its length prefix.
    ///
    /// # Errors
    /// [`RpcError::TooLong`] if the frame is over its limit.
    pub fn new(frame: &'a [u8], limits: RpcLimits) -> Result<Self, RpcError> {
        match u32::try_from(frame.len()) {
            Ok(bytes) if bytes <= limits.frame_bytes_max => {}
            _ => return Err(RpcError::TooLong { bytes: frame.len(), bytes_max: limits.frame_bytes_max }),
        }
        Ok(Self { frame, fields: Walk::new(frame), control: None, left: limits, limits, ended: false })
    }

    fn next_item(&mut self) -> Result<Option<RpcItem>, RpcError> {
        loop {
            if let Some(control) = &mut self.control {
                match control.next_field()? {
                    None => self.control = None,
                    Some(field) => {
                        if let Value::Bytes(span) = field.value
                            && let Some(item) = self.control_entry(field.number, span)?
                        {
                            return Ok(Some(item));
                        }
                    }
                }
                continue;
            }
            let Some(field) = self.fields.next_field()? else { return Ok(None) };
            match (field.number, field.value) {
                (rpc_field::SUBSCRIPTION, Value::Bytes(span)) => return self.subscription(span).map(Some),
                (rpc_field::PUBLISH, Value::Bytes(span)) => return self.publication(span).map(Some),
                (rpc_field::CONTROL, Value::Bytes(span)) => self.control = Some(Walk::within(self.frame, span)),
                _ => {}
            }
        }
    }

    fn subscription(&mut self, span: Span) -> Result<RpcItem, RpcError> {
        take_one(&mut self.left.subscriptions_max, "subscriptions", self.limits.subscriptions_max)?;
        let (mut subscribe, mut topic) = (false, Span::default());
        let mut fields = Walk::within(self.frame, span);
        while let Some(field) = fields.next_field()? {
            match (field.number, field.value) {
                (subscription_field::SUBSCRIBE, Value::Varint(value)) => subscribe = value != 0,
                (subscription_field::TOPIC, Value::Bytes(name)) => topic = self.topic(name)?,
                _ => {}
            }
        }
        Ok(RpcItem::Subscription { subscribe, topic })
    }

    fn publication(&mut self, span: Span) -> Result<RpcItem, RpcError> {
        take_one(&mut self.left.messages_max, "messages", self.limits.messages_max)?;
        let mut publication = Publication::default();
        let mut fields = Walk::within(self.frame, span);
        while let Some(field) = fields.next_field()? {
            let Value::Bytes(value) = field.value else { continue };
            match field.number {
                message_field::DATA => publication.data = value,
                message_field::TOPIC => publication.topic = self.topic(value)?,
                message_field::FROM => publication.from = true,
                message_field::SEQNO => publication.seqno = true,
                message_field::SIGNATURE => publication.signature = true,
                message_field::KEY => publication.key = true,
                _ => {}
            }
        }
        Ok(RpcItem::Publish(publication))
    }

    fn control_entry(&mut self, number: u32, span: Span) -> Result<Option<RpcItem>, RpcError> {
        if !(control_field::IHAVE..=control_field::IDONTWANT).contains(&number) {
            return Ok(None);
        }
        take_one(&mut self.left.controls_max, "control entries", self.limits.controls_max)?;
        let item = match number {
            control_field::IHAVE => {
                let (topic, _) = self.topic_and_backoff(span)?;
                RpcItem::IHave { topic, ids: self.message_ids(span, control_field::IHAVE_ID)? }
            }
            control_field::IWANT => RpcItem::IWant { ids: self.message_ids(span, control_field::WANT_ID)? },
            control_field::GRAFT => RpcItem::Graft { topic: self.topic_and_backoff(span)?.0 },
            control_field::PRUNE => {
                let (topic, backoff_s) = self.topic_and_backoff(span)?;
                RpcItem::Prune { topic, backoff_s }
            }
            _ => RpcItem::IDontWant { ids: self.message_ids(span, control_field::WANT_ID)? },
        };
        Ok(Some(item))
    }

    /// The topic of an IHAVE, GRAFT or PRUNE, and the backoff of a PRUNE.
    fn topic_and_backoff(&self, span: Span) -> Result<(Span, Option<u64>), RpcError> {
        let (mut topic, mut backoff_s) = (Span::default(), None);
        let mut fields = Walk::within(self.frame, span);
        while let Some(field) = fields.next_field()? {
            match (field.number, field.value) {
                (control_field::TOPIC, Value::Bytes(name)) => topic = self.topic(name)?,
                (control_field::PRUNE_BACKOFF, Value::Varint(seconds)) => backoff_s = Some(seconds),
                _ => {}
            }
        }
        Ok((topic, backoff_s))
    }

    /// Checks and counts the ids of a control entry, so that reading them later cannot fail.
    fn message_ids(&mut self, entry: Span, id_field: u32) -> Result<MessageIds, RpcError> {
        let mut count = 0;
        let mut fields = Walk::within(self.frame, entry);
        while let Some(field) = fields.next_field()? {
            if field.number == id_field && matches!(field.value, Value::Bytes(_)) {
                take_one(&mut self.left.message_ids_max, "message ids", self.limits.message_ids_max)?;
                count += 1;
            }
        }
        Ok(MessageIds { entry, field: id_field, count })
    }

    fn topic(&self, name: Span) -> Result<Span, RpcError> {
        let bytes_max = self.limits.topic_bytes_max;
        if name.len > bytes_max {
            return Err(RpcError::TopicTooLong { bytes: name.len, offset: name.start, bytes_max });
        }
        Ok(name)
    }
}

impl Iterator for RpcWalk<'_> {
    type Item = Result<RpcItem, RpcError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let item = self.next_item().transpose();
        self.ended = !matches!(item, Some(Ok(_)));
        item
    }
}

impl std::iter::FusedIterator for RpcWalk<'_> {}

fn take_one(left: &mut u32, entries: &'static str, count_max: u32) -> Result<(), RpcError> {
    *left = left.checked_sub(1).ok_or(RpcError::TooMany { entries, count_max })?;
    Ok(())
}
