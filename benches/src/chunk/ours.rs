//! Our forms: a chunk in a slot of an arena.

use std::sync::Arc;

use levada_chunk::outgoing::Outgoing;
use levada_chunk::stages::ChunkRecord;
use levada_engine::{Arena, ArenaConfig, ClassConfig, Unique, count_copy};
use levada_wire::autonomi::{ChunkBody, ChunkMessage, PutRequest};

use super::error::ChunkBenchError;
use super::form::{Flight, Form, Message, Workload};

/// Room for header and length fields around content and proof.
const FIELDS_BYTES: usize = 256;

/// An arena whose classes hold what they are made for, each `slots` times.
fn arena(classes: &[(usize, usize)]) -> Result<Arc<Arena<ChunkRecord>>, ChunkBenchError> {
    let class = |(bytes, slots): &(usize, usize)| ClassConfig {
        payload_bytes: bytes.next_multiple_of(4_096),
        slots: u32::try_from(*slots).unwrap_or(u32::MAX),
    };
    let classes = classes.iter().map(class).collect();
    Ok(Arena::new(&ArenaConfig { classes, huge_pages: true, prefault: false })?)
}

fn slot_bytes(arena: &Arena<ChunkRecord>) -> (u64, u64) {
    let in_use = arena.usage().map(|class| class.slots_in_use * class.payload_bytes as u64).sum();
    (in_use, arena.bytes() as u64)
}

fn content_in<'a>(
    arena: &'a Arena<ChunkRecord>,
    workload: &Workload,
    number: u64,
) -> Result<Unique<'a, ChunkRecord>, ChunkBenchError> {
    let mut slot = arena.claim(workload.chunk_bytes)?;
    workload.fill(number, &mut slot.payload_mut()[..workload.chunk_bytes]);
    slot.set_len(workload.chunk_bytes);
    Ok(slot)
}

/// Encoded once, in one piece, from one slot to another.
pub struct Shared(Arc<Arena<ChunkRecord>>);

impl Shared {
    pub fn new(workload: &Workload) -> Result<Self, ChunkBenchError> {
        let encoded_bytes = workload.chunk_bytes + Workload::proof().len() + FIELDS_BYTES;
        arena(&[(workload.chunk_bytes, 1), (encoded_bytes, workload.in_flight)]).map(Self)
    }
}

impl Form for Shared {
    fn name(&self) -> &'static str {
        "shared"
    }

    fn fly(&mut self, workload: &Workload, number: u64) -> Result<Flight, ChunkBenchError> {
        let content = content_in(&self.0, workload, number)?.share();
        let (address, payment_proof) = (workload.address(number), Some(Workload::proof()));
        let request = PutRequest { address: &address, content: content.payload(), payment_proof };
        let message = ChunkMessage { request_id: number, body: ChunkBody::PutRequest(request) };
        let bytes = message.encoded_len();
        let mut slot = self.0.claim(bytes)?;
        let written =
            message.encode_into(slot.payload_mut()).map_err(|error| ChunkBenchError::Mirror(error.to_string()))?;
        count_copy(content.payload().len());
        slot.set_len(written);
        let whole = slot.share().hold().into_bytes();
        let messages = (0..workload.recipients).map(|_| Message::Shared(whole.clone())).collect();
        Ok(Flight { messages, content: None })
    }

    fn slot_bytes(&self) -> (u64, u64) {
        slot_bytes(&self.0)
    }
}

/// What the uploader sends: header, content and trailer, where they lie.
pub struct Vectored(Arc<Arena<ChunkRecord>>);

impl Vectored {
    pub fn new(workload: &Workload) -> Result<Self, ChunkBenchError> {
        arena(&[(workload.chunk_bytes, workload.in_flight)]).map(Self)
    }
}

impl Form for Vectored {
    fn name(&self) -> &'static str {
        "vectored"
    }

    fn fly(&mut self, workload: &Workload, number: u64) -> Result<Flight, ChunkBenchError> {
        let content = content_in(&self.0, workload, number)?.share().hold().into_bytes();
        let outgoing = Outgoing::put(number, &workload.address(number), content, Some(Workload::proof()), None);
        let messages = (0..workload.recipients).map(|_| Message::Parts(outgoing.clone())).collect();
        Ok(Flight { messages, content: None })
    }

    fn slot_bytes(&self) -> (u64, u64) {
        slot_bytes(&self.0)
    }
}
