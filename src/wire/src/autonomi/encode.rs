//! The encoder: each message's fields in order, once, as parts; the contiguous form is the parts in one buffer.

use bytes::{BufMut, BytesMut};

use super::message::{ChunkBody, ChunkMessage, MerkleCandidateQuoteRequest, PutRequest, QuoteRequest};
use super::numbers::{body, error, get, pointer_put, put, quote};
use super::parts::Parts;
use super::response::{
    GetResponse, MerkleCandidateQuoteResponse, PointerGetResponse, PointerPutResponse, ProtocolError, PutResponse,
    QuoteResponse,
};
use crate::error::EncodeError;

impl<'a> ChunkMessage<'a> {
    /// The message in parts, ready to be sent. Lengths are not limited here: a receiver refuses what is over its limits.
    pub fn parts(&self) -> Parts<'a> {
        let mut parts = Parts::new();
        parts.number(self.request_id);
        self.body.write(&mut parts);
        parts
    }

    /// Bytes of the encoding.
    pub fn encoded_len(&self) -> usize {
        self.parts().encoded_len()
    }

    /// Encodes into the front of `out`, which copies the content; returns the bytes written, which are
    /// [`encoded_len`](Self::encoded_len).
    ///
    /// # Errors
    /// [`EncodeError::BufferTooSmall`] if `out` does not hold it. `out` is unchanged then.
    pub fn encode_into(&self, out: &mut [u8]) -> Result<usize, EncodeError> {
        let parts = self.parts();
        let needed_bytes = parts.encoded_len();
        let available_bytes = out.len();
        let room = out.get_mut(..needed_bytes).ok_or(EncodeError::BufferTooSmall { needed_bytes, available_bytes })?;
        parts.slices().into_iter().fold(room, |room, part| {
            let (front, rest) = room.split_at_mut(part.len());
            front.copy_from_slice(part);
            rest
        });
        Ok(needed_bytes)
    }
}

/// Appends what stands behind the content of a PutRequest: the payment proof with its length, or that there is none. It
/// is the same for every recipient of a chunk, who then gets [`Parts::header`], the content and this.
pub fn put_trailer(payment_proof: Option<&[u8]>, out: &mut BytesMut) {
    let mut parts = Parts::new();
    parts.option_bytes(payment_proof);
    parts.slices().into_iter().for_each(|part| out.put_slice(part));
}

impl<'a> ChunkBody<'a> {
    fn write(&self, parts: &mut Parts<'a>) {
        parts.number(u64::from(self.number()));
        match *self {
            Self::PutRequest(request) => request.write(parts),
            Self::PutResponse(response) => response.write(parts),
            Self::GetRequest { address } | Self::PointerGetRequest { address } => parts.address(address),
            Self::GetResponse(response) => response.write(parts),
            Self::QuoteRequest(request) => request.write(parts),
            Self::QuoteResponse(response) => response.write(parts),
            Self::MerkleCandidateQuoteRequest(request) => request.write(parts),
            Self::MerkleCandidateQuoteResponse(response) => response.write(parts),
            Self::QuoteRequestV2 { request, settlement_version } => {
                request.write(parts);
                parts.number(u64::from(settlement_version));
            }
            Self::MerkleCandidateQuoteRequestV2 { request, settlement_version } => {
                request.write(parts);
                parts.number(u64::from(settlement_version));
            }
            Self::PointerPutRequest { record, payment_proof } => {
                parts.bytes(record);
                parts.option_bytes(payment_proof);
            }
            Self::PointerPutResponse(response) => response.write(parts),
            Self::PointerGetResponse(response) => response.write(parts),
        }
    }

    fn number(&self) -> u32 {
        match self {
            Self::PutRequest(_) => body::PUT_REQUEST,
            Self::PutResponse(_) => body::PUT_RESPONSE,
            Self::GetRequest { .. } => body::GET_REQUEST,
            Self::GetResponse(_) => body::GET_RESPONSE,
            Self::QuoteRequest(_) => body::QUOTE_REQUEST,
            Self::QuoteResponse(_) => body::QUOTE_RESPONSE,
            Self::MerkleCandidateQuoteRequest(_) => body::MERKLE_CANDIDATE_QUOTE_REQUEST,
            Self::MerkleCandidateQuoteResponse(_) => body::MERKLE_CANDIDATE_QUOTE_RESPONSE,
            Self::QuoteRequestV2 { .. } => body::QUOTE_REQUEST_V2,
            Self::MerkleCandidateQuoteRequestV2 { .. } => body::MERKLE_CANDIDATE_QUOTE_REQUEST_V2,
            Self::PointerPutRequest { .. } => body::POINTER_PUT_REQUEST,
            Self::PointerPutResponse(_) => body::POINTER_PUT_RESPONSE,
            Self::PointerGetRequest { .. } => body::POINTER_GET_REQUEST,
            Self::PointerGetResponse(_) => body::POINTER_GET_RESPONSE,
        }
    }
}

impl<'a> PutRequest<'a> {
    fn write(&self, parts: &mut Parts<'a>) {
        parts.address(self.address);
        parts.bytes(self.content);
        parts.option_bytes(self.payment_proof);
    }
}

/// The address is lent in both requests for a price, or the numbers behind it would make the header too long.
impl<'a> QuoteRequest<'a> {
    fn write(&self, parts: &mut Parts<'a>) {
        parts.lend(self.address);
        parts.number(self.data_size);
        parts.number(u64::from(self.data_type));
    }
}

impl<'a> MerkleCandidateQuoteRequest<'a> {
    fn write(&self, parts: &mut Parts<'a>) {
        parts.lend(self.address);
        parts.number(u64::from(self.data_type));
        parts.number(self.data_size);
        parts.number(self.merkle_payment_timestamp);
    }
}

impl<'a> PutResponse<'a> {
    fn write(&self, parts: &mut Parts<'a>) {
        match *self {
            Self::Success { address } => write_address(put::SUCCESS, address, parts),
            Self::AlreadyExists { address } => write_address(put::ALREADY_EXISTS, address, parts),
            Self::PaymentRequired { message } => write_text(put::PAYMENT_REQUIRED, message, parts),
            Self::Error(failure) => failure.write(put::ERROR, parts),
        }
    }
}

impl<'a> GetResponse<'a> {
    fn write(&self, parts: &mut Parts<'a>) {
        match *self {
            Self::Success { address, content } => {
                write_address(get::SUCCESS, address, parts);
                parts.bytes(content);
            }
            Self::NotFound { address } => write_address(get::NOT_FOUND, address, parts),
            Self::Error(failure) => failure.write(get::ERROR, parts),
        }
    }
}

impl<'a> QuoteResponse<'a> {
    fn write(&self, parts: &mut Parts<'a>) {
        match *self {
            Self::Success { quote, already_stored, commitment } => {
                parts.number(u64::from(quote::SUCCESS));
                parts.bytes(quote);
                parts.number(u64::from(already_stored));
                parts.option_bytes(commitment);
            }
            Self::Error(failure) => failure.write(quote::ERROR, parts),
        }
    }
}

impl<'a> MerkleCandidateQuoteResponse<'a> {
    fn write(&self, parts: &mut Parts<'a>) {
        match *self {
            Self::Success { candidate_node, commitment } => {
                parts.number(u64::from(quote::SUCCESS));
                parts.bytes(candidate_node);
                parts.option_bytes(commitment);
            }
            Self::Error(failure) => failure.write(quote::ERROR, parts),
        }
    }
}

impl<'a> PointerPutResponse<'a> {
    fn write(&self, parts: &mut Parts<'a>) {
        let (number, address, state_id) = match *self {
            Self::Success { address, state_id } => (pointer_put::SUCCESS, address, state_id),
            Self::Unchanged { address, state_id } => (pointer_put::UNCHANGED, address, state_id),
            Self::Stale { address, state_id } => (pointer_put::STALE, address, state_id),
            Self::PaymentRequired { message } => return write_text(pointer_put::PAYMENT_REQUIRED, message, parts),
            Self::Error(failure) => return failure.write(pointer_put::ERROR, parts),
        };
        write_address(number, address, parts);
        parts.lend(state_id);
    }
}

impl<'a> PointerGetResponse<'a> {
    fn write(&self, parts: &mut Parts<'a>) {
        match *self {
            Self::Success { record } => {
                parts.number(u64::from(get::SUCCESS));
                parts.bytes(record);
            }
            Self::NotFound { address } => write_address(get::NOT_FOUND, address, parts),
            Self::Error(failure) => failure.write(get::ERROR, parts),
        }
    }
}

impl<'a> ProtocolError<'a> {
    /// Writes the error behind `answer`, the number of the answer that carries it.
    fn write(&self, answer: u32, parts: &mut Parts<'a>) {
        parts.number(u64::from(answer));
        match *self {
            Self::SerializationFailed(text) => write_text(error::SERIALIZATION_FAILED, text, parts),
            Self::DeserializationFailed(text) => write_text(error::DESERIALIZATION_FAILED, text, parts),
            Self::MessageTooLarge { size, max_size } => {
                write_numbers(error::MESSAGE_TOO_LARGE, [size, max_size], parts);
            }
            Self::ChunkTooLarge { size, max_size } => write_numbers(error::CHUNK_TOO_LARGE, [size, max_size], parts),
            Self::AddressMismatch { expected, actual } => {
                write_address(error::ADDRESS_MISMATCH, expected, parts);
                parts.lend(actual);
            }
            Self::StorageFailed(text) => write_text(error::STORAGE_FAILED, text, parts),
            Self::PaymentFailed(text) => write_text(error::PAYMENT_FAILED, text, parts),
            Self::QuoteFailed(text) => write_text(error::QUOTE_FAILED, text, parts),
            Self::Internal(text) => write_text(error::INTERNAL, text, parts),
            Self::ClientUpdateRequired { client_settlement_version, min_settlement_version } => {
                let versions = [client_settlement_version, min_settlement_version];
                write_numbers(error::CLIENT_UPDATE_REQUIRED, versions.map(u64::from), parts);
            }
            Self::StorerUpdateRequired { client_settlement_version, node_settlement_version } => {
                let versions = [client_settlement_version, node_settlement_version];
                write_numbers(error::STORER_UPDATE_REQUIRED, versions.map(u64::from), parts);
            }
        }
    }
}

fn write_address(number: u32, address: &[u8; 32], parts: &mut Parts<'_>) {
    parts.number(u64::from(number));
    parts.address(address);
}

fn write_text<'a>(number: u32, text: &'a str, parts: &mut Parts<'a>) {
    parts.number(u64::from(number));
    parts.bytes(text.as_bytes());
}

fn write_numbers(number: u32, values: [u64; 2], parts: &mut Parts<'_>) {
    parts.number(u64::from(number));
    values.into_iter().for_each(|value| parts.number(value));
}
