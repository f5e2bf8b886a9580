//! What a form of a chunk under way must do, and the workload that all get.

use bytes::Bytes;
use levada_chunk::outgoing::Outgoing;
use levada_wire::autonomi::{CHUNK_BYTES_MAX, ChunkBody, ChunkMessage, PutRequest};

use super::error::ChunkBenchError;

/// Bytes of the payment proof that goes with every chunk: about that of a quote from each of five peers.
const PROOF_BYTES: usize = 40_000;

/// Chunks of one size to some recipients.
#[derive(Debug, Clone, Copy)]
pub struct Workload {
    /// Chunks in all.
    pub chunks: u64,
    /// Bytes of each.
    pub chunk_bytes: usize,
    /// Chunks under way at once.
    pub in_flight: usize,
    /// Recipients of each.
    pub recipients: usize,
}

impl Workload {
    /// One small chunk, to compare forms by.
    pub(super) const SMALL: Self = Self { chunks: 1, chunk_bytes: 300_000, in_flight: 1, recipients: 2 };

    /// As many of the largest chunks as `bytes` are.
    pub fn new(bytes: u64, in_flight: usize, recipients: usize) -> Self {
        let chunks = bytes.div_ceil(CHUNK_BYTES_MAX as u64).max(1);
        Self { chunks, chunk_bytes: CHUNK_BYTES_MAX, in_flight, recipients }
    }

    /// Writes the content of a chunk.
    pub fn fill(&self, number: u64, content: &mut [u8]) {
        content.fill(number as u8);
        let front = content.len().min(size_of::<u64>());
        content[..front].copy_from_slice(&number.to_le_bytes()[..front]);
    }

    /// The address that a chunk is sent with. No form hashes: all would have to, once.
    pub fn address(&self, number: u64) -> [u8; 32] {
        let mut address = [7; 32];
        address[..8].copy_from_slice(&number.to_le_bytes());
        address
    }

    /// The payment proof.
    pub fn proof() -> &'static [u8] {
        static PROOF: [u8; PROOF_BYTES] = [0xa5; PROOF_BYTES];
        &PROOF
    }
}

/// A message to one recipient.
#[derive(Debug)]
pub enum Message {
    /// An encoding of its own, and what it was made from, which the request keeps until it is answered.
    Own {
        /// The encoding.
        encoded: Vec<u8>,
        /// A copy of the content.
        request: Option<Vec<u8>>,
    },
    /// An encoding that others share.
    Shared(Bytes),
    /// References.
    Parts(Outgoing),
}

impl Message {
    /// The encoding in the pieces in which it is written.
    pub fn pieces(&self) -> [Bytes; 3] {
        match self {
            Self::Own { .. } => [Bytes::new(), Bytes::new(), Bytes::new()],
            Self::Shared(whole) => [whole.clone(), Bytes::new(), Bytes::new()],
            Self::Parts(outgoing) => outgoing.without_length(),
        }
    }

    /// Bytes of the encoding.
    pub fn len(&self) -> usize {
        match self {
            Self::Own { encoded, .. } => encoded.len(),
            Self::Shared(whole) => whole.len(),
            Self::Parts(outgoing) => outgoing.message_bytes(),
        }
    }

    /// It has no byte.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The whole encoding, copied.
    fn to_vec(&self) -> Vec<u8> {
        match self {
            Self::Own { encoded, .. } => encoded.clone(),
            _ => self.pieces().concat(),
        }
    }
}

/// A chunk under way: the messages to all its recipients, and what must live as long as they.
pub struct Flight {
    /// One per recipient.
    pub messages: Vec<Message>,
    /// The content where the form keeps it beside the messages.
    pub content: Option<Bytes>,
}

/// One way to send chunks.
pub trait Form {
    /// Its name in errors.
    fn name(&self) -> &'static str;

    /// Makes a chunk's content and the messages to all its recipients.
    ///
    /// # Errors
    /// [`ChunkBenchError`].
    fn fly(&mut self, workload: &Workload, number: u64) -> Result<Flight, ChunkBenchError>;

    /// Bytes of slots lent out now, and of the whole arena.
    fn slot_bytes(&self) -> (u64, u64) {
        (0, 0)
    }
}

/// Compares the form's messages with the codec's, byte by byte.
pub(super) fn check(form: &mut dyn Form) -> Result<(), ChunkBenchError> {
    let workload = Workload::SMALL;
    let mut content = vec![0; workload.chunk_bytes];
    workload.fill(0, &mut content);
    let address = workload.address(0);
    let request = PutRequest { address: &address, content: &content, payment_proof: Some(Workload::proof()) };
    let flight = form.fly(&workload, 0)?;
    let is_same = flight.messages.iter().all(|message| {
        let message = message.to_vec();
        let request_id = levada_wire::varint::decode(&message).map_or(0, |(id, _)| id);
        let mut expected = vec![0; message.len()];
        let written = ChunkMessage { request_id, body: ChunkBody::PutRequest(request) }.encode_into(&mut expected);
        written == Ok(message.len()) && expected == message
    });
    let all = flight.messages.len() == workload.recipients;
    if is_same && all { Ok(()) } else { Err(ChunkBenchError::Different { form: form.name().to_owned() }) }
}
