//! What a panic in a stage may cost: the answer to the one request that it came on. The request is refused and goes on to `reply`,
//! so that its bytes leave the account of `admit`, its connection may ask again, and the peer knows.

use std::panic::{AssertUnwindSafe, catch_unwind};

use levada_engine::Counter;

use super::record::{Outcome, Refusal};

/// Panics in the stages of a node, a payment verifier's too.
pub static STAGE_PANICS: Counter = Counter::new();

/// What `work` comes to; if it panics, a refusal. The panic's words are where the process writes them.
pub(super) fn shielded<T>(work: impl FnOnce() -> T) -> Result<T, Outcome> {
    // Stages keep no state from one message to the next but counters; a verifier answers for its own.
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| {
        STAGE_PANICS.add(1);
        Outcome::PutRefused(Refusal::Panicked)
    })
}
