//! What a Levada node can do with a message, one stage a file. This listing is the list.
//!
//! A message goes `id_hash → seen → decode → validate → message_hash → relay → trace → filter → event → backlog →
//! archive → sync → answer`; a topology may leave stages out or place them on other workers. Every stage takes the envelope
//! and passes it on; none copies or decodes a payload again.

#![forbid(unsafe_code)]

pub mod answer;
pub mod archive;
pub mod backlog;
pub mod decode;
pub mod event;
pub mod filter;
mod hash_unit;
pub mod id_hash;
pub mod message_hash;
pub mod relay;
pub mod seen;
pub mod shelves;
pub mod signed;
pub mod sync;
pub mod trace;
pub mod validate;

pub use hash_unit::HashUnit;

use levada_engine::{Batch, BatchLimit, Outputs};
use levada_wire::waku::WakuRecord;

/// A batch of Waku messages.
pub type Messages<'a> = Batch<'a, WakuRecord>;

/// Where a stage sends Waku messages.
pub type Ports<'a> = Outputs<'a, WakuRecord>;

/// How much a stage takes that looks at records and field headers only: as much as the hash stage wants to find waiting,
/// however large the payloads.
const HEADERS_ONLY: BatchLimit = BatchLimit { envelopes: levada_wire::hash::WINDOW, payload_bytes: usize::MAX };

/// Nanoseconds since the Unix epoch by the system's clock; 0 if it stands before that.
pub fn unix_ns() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
}

/// The record of an envelope that this stage alone holds.
///
/// Stages up to `relay` are on a linear path: the only handle is the one in hand.
fn record<'e>(envelope: &'e mut levada_engine::Envelope<'_, WakuRecord>) -> &'e mut WakuRecord {
    envelope.record_mut().expect("before the relay stage an envelope has one handle")
}
