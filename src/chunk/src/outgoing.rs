//! A message ready to be sent: encoded once as header, content and trailer, for any number of recipients.
//!
//! Header and trailer are a few bytes and what belongs to them alone (payment proof, signature); the content lies in its
//! slot. A recipient costs a reference.

use bytes::{BufMut, Bytes, BytesMut};
use levada_engine::Held;
use levada_wire::autonomi::{Address, ChunkBody, ChunkMessage, PutRequest};

use crate::signature::Signer;
use crate::stages::{ChunkRecord, with_answer};

/// Bytes of the length in front of a message on a TCP connection.
pub(crate) const LENGTH_BYTES: usize = 4;

/// An encoded message.
#[derive(Clone, Debug)]
pub struct Outgoing {
    /// The length as TCP wants it, then the message up to the content.
    front: Bytes,
    content: Bytes,
    trailer: Bytes,
}

impl Outgoing {
    /// A request to store `content`, which has this `address`.
    pub fn put(
        request_id: u64,
        address: &Address,
        content: Bytes,
        payment_proof: Option<&[u8]>,
        signer: Option<&Signer>,
    ) -> Self {
        let request = PutRequest { address, content: &content, payment_proof };
        let message = ChunkMessage { request_id, body: ChunkBody::PutRequest(request) };
        Self::encode(&message, content.clone(), signer)
    }

    /// A message that holds no chunk.
    pub fn small(message: &ChunkMessage<'_>, signer: Option<&Signer>) -> Self {
        Self::encode(message, Bytes::new(), signer)
    }

    /// The answer to a request, which carries the chunk by reference if there is one.
    pub fn answer(held: Held<ChunkRecord>) -> Self {
        let record = held.record();
        let payload = held.into_bytes();
        let content = payload.slice_ref(record.content.of(&payload));
        with_answer(&payload, &record, |message| Self::encode(message, content.clone(), None))
    }

    /// `content` is the message's, or empty.
    fn encode(message: &ChunkMessage<'_>, content: Bytes, signer: Option<&Signer>) -> Self {
        let parts = message.parts();
        // What is no chunk is copied to the header: an address or a few words.
        let is_chunk = !content.is_empty() && std::ptr::eq(parts.content(), &content[..]);
        let (copied, content) = if is_chunk { (&[][..], content) } else { (parts.content(), Bytes::new()) };
        let (head, tail) = match signer {
            Some(signer) => signer.frame(&[parts.header(), copied, &content, parts.joint(), parts.trailer()]),
            None => (Vec::new(), Vec::new()),
        };
        let bytes = head.len() + parts.encoded_len() + tail.len();
        let mut front = BytesMut::with_capacity(LENGTH_BYTES + head.len() + parts.header().len() + copied.len());
        front.put_u32(u32::try_from(bytes).unwrap_or(u32::MAX));
        [&head[..], parts.header(), copied].into_iter().for_each(|part| front.put_slice(part));
        let mut trailer = BytesMut::with_capacity(parts.joint().len() + parts.trailer().len() + tail.len());
        [parts.joint(), parts.trailer(), &tail].into_iter().for_each(|part| trailer.put_slice(part));
        Self { front: front.freeze(), content, trailer: trailer.freeze() }
    }

    /// What a TCP connection carries: the length as a big-endian `u32`, then the message.
    pub fn with_length(&self) -> [Bytes; 3] {
        [self.front.clone(), self.content.clone(), self.trailer.clone()]
    }

    /// The message alone, for a stream that ends with it.
    pub fn without_length(&self) -> [Bytes; 3] {
        [self.front.slice(LENGTH_BYTES..), self.content.clone(), self.trailer.clone()]
    }

    /// Bytes of the message.
    pub fn message_bytes(&self) -> usize {
        self.front.len() - LENGTH_BYTES + self.content.len() + self.trailer.len()
    }
}

#[cfg(test)]
mod tests {
    use levada_wire::autonomi::{GetResponse, decode, decode_frame};

    use super::*;
    use crate::stages::address_of;

    #[test]
    fn parts_make_the_encoding_and_the_content_is_lent() {
        let content = Bytes::from(vec![3; 5_000]);
        let address = address_of(&content);
        for payment_proof in [None, Some(&[4; 100][..])] {
            let request = PutRequest { address: &address, content: &content, payment_proof };
            let message = ChunkMessage { request_id: 9, body: ChunkBody::PutRequest(request) };
            let mut whole = vec![0; message.encoded_len()];
            message.encode_into(&mut whole).unwrap();
            let outgoing = Outgoing::put(9, &address, content.clone(), payment_proof, None);
            assert_eq!(outgoing.without_length().concat(), whole);
            assert_eq!(outgoing.message_bytes(), whole.len());
            let length = (whole.len() as u32).to_be_bytes();
            assert_eq!(outgoing.with_length().concat(), [&length[..], &whole].concat());
            assert_eq!(outgoing.without_length()[1].as_ptr(), content.as_ptr());
        }
    }

    #[test]
    fn a_message_without_a_chunk_is_whole_too() {
        let body = ChunkBody::GetResponse(GetResponse::NotFound { address: &[1; 32] });
        let message = ChunkMessage { request_id: 1, body };
        let sent = Outgoing::small(&message, None).without_length().concat();
        assert_eq!(decode(&sent), Ok(message));
        let signer = Signer::from_seed(&[1; 32]);
        let framed = Outgoing::small(&message, Some(&signer)).without_length().concat();
        assert_eq!(decode(decode_frame(&framed).unwrap().data), Ok(message));
    }
}
