//! Mirrors of the network's client types, encoded by `postcard` as it does: the content a `Vec`, as it was, and `Bytes`, as it
//! is since ant-protocol 2.1.0.

use bytes::Bytes;
use levada_engine::count_copy;
use serde::Serialize;

use super::error::ChunkBenchError;
use super::form::{Flight, Form, Message, Workload};

/// The client's ChunkMessage.
#[derive(Serialize)]
struct ChunkMessage<C> {
    request_id: u64,
    body: ChunkMessageBody<C>,
}

/// Its first variant, which is all that is sent here.
#[derive(Serialize)]
enum ChunkMessageBody<C> {
    PutRequest(ChunkPutRequest<C>),
}

#[derive(Serialize)]
struct ChunkPutRequest<C> {
    address: [u8; 32],
    content: C,
    payment_proof: Option<Vec<u8>>,
}

impl<C: Serialize> ChunkMessage<C> {
    fn new(request_id: u64, workload: &Workload, number: u64, content: C) -> Self {
        let (address, payment_proof) = (workload.address(number), Some(Workload::proof().to_vec()));
        Self { request_id, body: ChunkMessageBody::PutRequest(ChunkPutRequest { address, content, payment_proof }) }
    }

    /// Into a buffer that grows as it is written.
    fn encode(&self, content_bytes: usize) -> Result<Vec<u8>, ChunkBenchError> {
        let encoded = postcard::to_allocvec(self).map_err(|error| ChunkBenchError::Mirror(error.to_string()))?;
        count_copy(content_bytes);
        Ok(encoded)
    }
}

fn filled(workload: &Workload, number: u64) -> Vec<u8> {
    let mut content = vec![0; workload.chunk_bytes];
    workload.fill(number, &mut content);
    content
}

/// The client before: the content copied into each recipient's request, and encoded byte by byte.
pub struct AsVec;

impl Form for AsVec {
    fn name(&self) -> &'static str {
        "vec"
    }

    fn fly(&mut self, workload: &Workload, number: u64) -> Result<Flight, ChunkBenchError> {
        let content = filled(workload, number);
        let mut messages = Vec::with_capacity(workload.recipients);
        for recipient in 0..workload.recipients as u64 {
            let copy = content.clone();
            count_copy(copy.len());
            let message = ChunkMessage::new(recipient, workload, number, copy);
            let encoded = message.encode(content.len())?;
            let ChunkMessageBody::PutRequest(request) = message.body;
            messages.push(Message::Own { encoded, request: Some(request.content) });
        }
        Ok(Flight { messages, content: Some(Bytes::from(content)) })
    }
}

/// The client since: one content, encoded for each recipient.
pub struct AsBytes;

impl Form for AsBytes {
    fn name(&self) -> &'static str {
        "bytes"
    }

    fn fly(&mut self, workload: &Workload, number: u64) -> Result<Flight, ChunkBenchError> {
        let content = Bytes::from(filled(workload, number));
        let mut messages = Vec::with_capacity(workload.recipients);
        for recipient in 0..workload.recipients as u64 {
            let encoded = ChunkMessage::new(recipient, workload, number, content.clone()).encode(content.len())?;
            messages.push(Message::Own { encoded, request: None });
        }
        Ok(Flight { messages, content: Some(content) })
    }
}
