//! What happens to a chunk, one stage a file. This listing is the list.
//!
//! At a node a message goes `assemble → chunk_parse → admit → chunk_hash → policy → archive → reply`, and a request to fetch
//! `assemble → chunk_parse → fetch → reply`. Where a file is sent, its chunks go `assemble → chunk_hash → fanout`. The
//! content lies in one slot all the time.

mod admit;
mod archive;
mod assemble;
mod chunk_hash;
pub mod fanout;
mod fetch;
mod files;
mod parse;
mod policy;
mod record;
mod reply;
mod shield;

use levada_engine::{BatchLimit, Envelope};

pub use admit::{Admission, Admit};
pub use archive::{ChunkArchive, STORE_FAILURES};
pub use assemble::Assembly;
pub(crate) use assemble::attached;
pub use chunk_hash::{ADDRESS_MISMATCHES, CHUNK_HASHES, ChunkHash, address_of};
pub use fetch::{FETCH_FULL, Fetch};
pub use files::{ChunkFiles, DAMAGED, OpenError};
pub use parse::{ChunkParse, UNDECODABLE, UNSIGNED};
pub use policy::{AcceptAll, AllowList, PaymentVerifier, Policy, Verdict};
pub use record::{ChunkRecord, Outcome, Refusal};
pub use reply::{Replies, Reply, with_answer};
pub use shield::STAGE_PANICS;

/// How much a stage takes that looks at records and header bytes only, however large the payloads.
const HEADERS_ONLY: BatchLimit = BatchLimit { envelopes: 32, payload_bytes: usize::MAX };

/// The record of an envelope that this stage alone holds.
fn record_of<'e>(envelope: &'e mut Envelope<'_, ChunkRecord>) -> &'e mut ChunkRecord {
    envelope.record_mut().expect("on a chunk's path an envelope has one handle")
}
