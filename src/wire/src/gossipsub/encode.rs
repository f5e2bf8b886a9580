//! The RPC frames this node writes. A publish frame is written before the payload: header, topic, and then the slot's bytes.
//!
//! Each function appends one whole RPC body, without its length prefix, to a buffer. Some protobuf readers keep only the
//! last control message of a frame, so a buffer must not take two of [`graft`], [`prune`], [`ihave`], [`iwant`] and
//! [`idontwant`]; several [`subscribe`] calls may share one.

use bytes::{BufMut, BytesMut};

use super::{control_field, message_field, rpc_field, subscription_field};
use crate::error::EncodeError;
use crate::hash::Digest;
use crate::varint::{self, VARINT_BYTES_MAX};

/// Bytes of the longest publish header, its length prefix and the topic field not counted in: three lengths of up to 32 bits and two keys.
pub const PUBLISH_HEADER_BYTES_MAX: usize = 17;

/// What stands in front of the data of a frame that publishes one message, but for the field of the topic, which lies in the middle. It
/// depends on lengths alone, so that one header serves every peer.
///
/// The topic comes before the data, though its number is the higher one: so nothing follows the data, and a transport that makes a
/// record of every slice has one record less to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublishHeader {
    bytes: [u8; PUBLISH_HEADER_BYTES_MAX],
    prefix_len: u8,
    /// Where the field of the topic belongs.
    topic_at: u8,
    len: u8,
}

impl PublishHeader {
    /// The header for `data_bytes` bytes of data on `topic`: what it consists of is to be followed by the data.
    ///
    /// # Errors
    /// [`EncodeError::TooLong`] if the frame would be over `u32::MAX` bytes.
    pub fn new(topic: &str, data_bytes: usize) -> Result<Self, EncodeError> {
        let too_long = |bytes| EncodeError::TooLong { bytes, bytes_max: u32::MAX as usize };
        let names_and_data = topic.len().saturating_add(data_bytes);
        // Checked before the sums below, which then stay far from overflow.
        u32::try_from(names_and_data).map_err(|_| too_long(names_and_data))?;
        let message_bytes = field_len(data_bytes) as u64 + field_len(topic.len()) as u64;
        let rpc_bytes = 1 + varint::len(message_bytes) as u64 + message_bytes;
        u32::try_from(rpc_bytes).map_err(|_| too_long(names_and_data))?;

        let mut header = Self { bytes: [0; PUBLISH_HEADER_BYTES_MAX], prefix_len: 0, topic_at: 0, len: 0 };
        header.push(rpc_bytes);
        header.prefix_len = header.len;
        header.push(key(rpc_field::PUBLISH));
        header.push(message_bytes);
        header.topic_at = header.len;
        header.push(key(message_field::DATA));
        header.push(data_bytes as u64);
        Ok(header)
    }

    fn push(&mut self, value: u64) {
        let rest = self.bytes.get_mut(usize::from(self.len)..).unwrap_or_default();
        let written = varint::encode(value, rest);
        self.len += written.expect("three 32-bit varints and two keys fit the header") as u8;
    }

    fn part(&self, from: u8, to: u8) -> &[u8] {
        self.bytes.get(usize::from(from)..usize::from(to)).unwrap_or_default()
    }

    /// What stands before the field of the topic, with the frame's length prefix, as it goes on a stream.
    pub fn framed(&self) -> &[u8] {
        self.part(0, self.topic_at)
    }

    /// What stands before the field of the topic without the length prefix, for a transport that writes its own.
    pub fn bare(&self) -> &[u8] {
        self.part(self.prefix_len, self.topic_at)
    }

    /// What stands between the field of the topic and the data.
    pub fn before_data(&self) -> &[u8] {
        self.part(self.topic_at, self.len)
    }
}

/// Appends the field of the topic of a publish frame. It is the same for every message of a topic.
pub fn publish_topic(topic: &str, out: &mut BytesMut) {
    put_bytes(message_field::TOPIC, topic.as_bytes(), out);
}

/// Appends a subscription to `topic`, or an unsubscription.
pub fn subscribe(topic: &str, subscribe: bool, out: &mut BytesMut) {
    put_head(rpc_field::SUBSCRIPTION, 2 + field_len(topic.len()), out);
    put_number(subscription_field::SUBSCRIBE, u64::from(subscribe), out);
    put_bytes(subscription_field::TOPIC, topic.as_bytes(), out);
}

/// Appends a GRAFT for `topic`.
pub fn graft(topic: &str, out: &mut BytesMut) {
    put_control(control_field::GRAFT, field_len(topic.len()), out);
    put_bytes(control_field::TOPIC, topic.as_bytes(), out);
}

/// Appends a PRUNE for `topic`, with the seconds that the peer must wait before it grafts again.
pub fn prune(topic: &str, backoff_s: Option<u64>, out: &mut BytesMut) {
    let backoff_len = backoff_s.map_or(0, |seconds| 1 + varint::len(seconds));
    put_control(control_field::PRUNE, field_len(topic.len()) + backoff_len, out);
    put_bytes(control_field::TOPIC, topic.as_bytes(), out);
    if let Some(seconds) = backoff_s {
        put_number(control_field::PRUNE_BACKOFF, seconds, out);
    }
}

/// Appends an IHAVE: the node has these messages of `topic`.
pub fn ihave(topic: &str, ids: &[Digest], out: &mut BytesMut) {
    put_control(control_field::IHAVE, field_len(topic.len()) + ids_len(ids), out);
    put_bytes(control_field::TOPIC, topic.as_bytes(), out);
    put_ids(control_field::IHAVE_ID, ids, out);
}

/// Appends an IWANT: the node wants these messages.
pub fn iwant(ids: &[Digest], out: &mut BytesMut) {
    put_control(control_field::IWANT, ids_len(ids), out);
    put_ids(control_field::WANT_ID, ids, out);
}

/// Appends an IDONTWANT: the node needs these messages no more (gossipsub 1.2).
pub fn idontwant(ids: &[Digest], out: &mut BytesMut) {
    put_control(control_field::IDONTWANT, ids_len(ids), out);
    put_ids(control_field::WANT_ID, ids, out);
}

/// The key of a length-delimited field; every field number here is below 16, so that a key takes one byte.
const fn key(number: u32) -> u64 {
    (number as u64) << 3 | 2
}

fn field_len(value_len: usize) -> usize {
    1 + varint::len(value_len as u64) + value_len
}

fn ids_len(ids: &[Digest]) -> usize {
    ids.len() * field_len(size_of::<Digest>())
}

fn put_control(entry: u32, entry_len: usize, out: &mut BytesMut) {
    put_head(rpc_field::CONTROL, field_len(entry_len), out);
    put_head(entry, entry_len, out);
}

fn put_ids(number: u32, ids: &[Digest], out: &mut BytesMut) {
    ids.iter().for_each(|id| put_bytes(number, id, out));
}

fn put_bytes(number: u32, value: &[u8], out: &mut BytesMut) {
    put_head(number, value.len(), out);
    out.put_slice(value);
}

fn put_head(number: u32, value_len: usize, out: &mut BytesMut) {
    put_varint(key(number), out);
    put_varint(value_len as u64, out);
}

fn put_number(number: u32, value: u64, out: &mut BytesMut) {
    put_varint(u64::from(number) << 3, out);
    put_varint(value, out);
}

fn put_varint(value: u64, out: &mut BytesMut) {
    let mut bytes = [0; VARINT_BYTES_MAX];
    let written = varint::encode(value, &mut bytes).unwrap_or_default();
    out.put_slice(bytes.get(..written).unwrap_or_default());
}
