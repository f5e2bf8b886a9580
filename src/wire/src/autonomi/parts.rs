//! A message as it is sent: a few bytes of its own around references to the payload.
//!
//! ```text
//!  header, inline          content, lent      joint, inline        trailer, lent
//!  id │ number │ fields …  chunk │ record …   option │ length …    payment proof │ commitment
//! ```
//!
//! Content and trailer stay where they are, so that any number of recipients share them; the rest is 96 bytes a recipient.
//! Parts that a message does not need are empty.

use crate::varint::{self, VARINT_BYTES_MAX};

/// Bytes of the longest header: what stands in front of the content.
///
/// The longest that occurs has 54: request id and length of ten bytes each, two variants of one, and an address.
pub const HEADER_BYTES_MAX: usize = 64;

/// Bytes between content and trailer. The most that occurs is 30: numbers of 5, 10, 10 and 5 bytes.
const JOINT_BYTES_MAX: usize = 32;

/// A message in parts, which make the encoding when they are sent one behind the other.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a> {
    header: Inline<HEADER_BYTES_MAX>,
    content: Option<&'a [u8]>,
    joint: Inline<JOINT_BYTES_MAX>,
    trailer: &'a [u8],
}

impl<'a> Parts<'a> {
    pub(super) fn new() -> Self {
        Self { header: Inline::new(), content: None, joint: Inline::new(), trailer: &[] }
    }

    /// What stands in front of the content, at most [`HEADER_BYTES_MAX`] bytes. Only here is anything that differs between
    /// the recipients of one chunk: the request id.
    pub fn header(&self) -> &[u8] {
        self.header.written()
    }

    /// The first field that is lent: a chunk, a record, a quote or a text; in a request for a price its address, where a message
    /// has two addresses the second.
    pub fn content(&self) -> &'a [u8] {
        self.content.unwrap_or_default()
    }

    /// What stands between content and trailer.
    pub fn joint(&self) -> &[u8] {
        self.joint.written()
    }

    /// The second long field, by reference: a payment proof or a commitment.
    pub fn trailer(&self) -> &'a [u8] {
        self.trailer
    }

    /// The parts in order, for a vectored write.
    pub fn slices(&self) -> [&[u8]; 4] {
        [self.header(), self.content(), self.joint(), self.trailer()]
    }

    /// Bytes of the whole encoding.
    pub fn encoded_len(&self) -> usize {
        self.slices().into_iter().fold(0, |sum, part| sum.saturating_add(part.len()))
    }

    /// Appends a number: to the header, or to the joint once there is content.
    pub(super) fn number(&mut self, value: u64) {
        match self.content {
            None => self.header.number(value),
            Some(_) => self.joint.number(value),
        }
    }

    /// Appends an address to the header.
    pub(super) fn address(&mut self, address: &[u8; 32]) {
        debug_assert!(self.content.is_none(), "an address behind the content is lent");
        self.header.push(address);
    }

    /// Lends bytes without a length: as content, then as trailer.
    pub(super) fn lend(&mut self, bytes: &'a [u8]) {
        match self.content {
            None => self.content = Some(bytes),
            Some(_) => self.trailer = bytes,
        }
    }

    /// Lends bytes behind their length.
    pub(super) fn bytes(&mut self, bytes: &'a [u8]) {
        self.number(bytes.len() as u64);
        self.lend(bytes);
    }

    /// Lends bytes that may be absent.
    pub(super) fn option_bytes(&mut self, bytes: Option<&'a [u8]>) {
        self.number(u64::from(bytes.is_some()));
        if let Some(bytes) = bytes {
            self.bytes(bytes);
        }
    }
}

/// A few bytes in place, with room for the longest that occurs.
#[derive(Clone, Copy, Debug)]
struct Inline<const BYTES_MAX: usize> {
    bytes: [u8; BYTES_MAX],
    len: u8,
}

impl<const BYTES_MAX: usize> Inline<BYTES_MAX> {
    fn new() -> Self {
        const { assert!(BYTES_MAX <= u8::MAX as usize, "a length of one byte") };
        Self { bytes: [0; BYTES_MAX], len: 0 }
    }

    fn written(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }

    fn number(&mut self, value: u64) {
        let mut bytes = [0; VARINT_BYTES_MAX];
        let written = varint::encode(value, &mut bytes).expect("ten bytes hold any varint");
        self.push(bytes.get(..written).unwrap_or_default());
    }

    fn push(&mut self, bytes: &[u8]) {
        let start = usize::from(self.len);
        let end = start + bytes.len();
        let room = self.bytes.get_mut(start..end).expect("the longest header and joint fit");
        room.copy_from_slice(bytes);
        self.len = end as u8;
    }
}
