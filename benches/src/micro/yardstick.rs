//! The yardstick: a bare loop of the `sha2` crate over the same slots, on one core, between the rounds.
//!
//! One SHA-256 pass per message is what the path cannot avoid; how near it comes to this loop is its quality.

use std::hint::black_box;
use std::time::Instant;

use sha2::{Digest, Sha256};

use crate::bound::on_first_core;
use crate::micro::round::Message;

/// What the loop took.
#[derive(Debug, Clone, Copy)]
pub struct Yardstick {
    /// Wall time in nanoseconds.
    pub wall_ns: u64,
    /// Bytes hashed.
    pub bytes: u64,
}

/// Hashes every message once, in the order of the round, on the core the path's first worker runs on.
pub fn hash_all(messages: &mut [Message]) -> Yardstick {
    messages.sort_by_key(|message| message.record().ticket);
    let messages = &*messages;
    on_first_core(|| hash_in_order(messages))
}

#[expect(clippy::disallowed_methods, reason = "the yardstick must not count as work of the path")]
fn hash_in_order(messages: &[Message]) -> Yardstick {
    let started = Instant::now();
    let mut bytes = 0;
    for message in messages {
        black_box(Sha256::digest(message.payload()));
        bytes += message.payload().len() as u64;
    }
    Yardstick { wall_ns: started.elapsed().as_nanos() as u64, bytes }
}
