//! What a peer did instead of what it was asked, by name.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use levada_wire::autonomi::ProtocolError;

use crate::aimd::Sample;
use crate::transport::TransportError;

/// Kinds of fault; the names are those in logs and counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FaultKind {
    /// No connection came about.
    Unreachable,
    /// The connection ended before the answer.
    Disconnected,
    /// The peer took no bytes.
    Stalled,
    /// The peer did not answer in time.
    TimedOut,
    /// What it sent does not decode.
    Malformed,
    /// It answered something else than what it was asked.
    UnexpectedAnswer,
    /// It says that it stored or sent another chunk than the one asked for, or its content is another.
    WrongAddress,
    /// It does not have the chunk.
    NotFound,
    /// It wants a payment proof.
    PaymentRequired,
    /// It could not encode its answer.
    SerializationFailed,
    /// It could not decode the request.
    DeserializationFailed,
    /// The message is over its limit.
    MessageTooLarge,
    /// The chunk is over its limit.
    ChunkTooLarge,
    /// It computed another address.
    AddressMismatch,
    /// It could not store or read.
    StorageFailed,
    /// It does not accept the payment proof.
    PaymentFailed,
    /// It could not make a quote.
    QuoteFailed,
    /// Something else failed on its side.
    Internal,
    /// It needs newer payment rules.
    ClientUpdateRequired,
    /// It has older payment rules.
    StorerUpdateRequired,
    /// An error that did not exist when this was written.
    Other,
}

impl FaultKind {
    /// The name in logs and counts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unreachable => "unreachable",
            Self::Disconnected => "disconnected",
            Self::Stalled => "stalled",
            Self::TimedOut => "timed_out",
            Self::Malformed => "malformed",
            Self::UnexpectedAnswer => "unexpected_answer",
            Self::WrongAddress => "wrong_address",
            Self::NotFound => "not_found",
            Self::PaymentRequired => "payment_required",
            Self::SerializationFailed => "serialization_failed",
            Self::DeserializationFailed => "deserialization_failed",
            Self::MessageTooLarge => "message_too_large",
            Self::ChunkTooLarge => "chunk_too_large",
            Self::AddressMismatch => "address_mismatch",
            Self::StorageFailed => "storage_failed",
            Self::PaymentFailed => "payment_failed",
            Self::QuoteFailed => "quote_failed",
            Self::Internal => "internal",
            Self::ClientUpdateRequired => "client_update_required",
            Self::StorerUpdateRequired => "storer_update_required",
            Self::Other => "other",
        }
    }

    /// What the controller of concurrency makes of it; nothing where the peer is well and does not want the chunk.
    pub const fn sample(self) -> Option<Sample> {
        match self {
            Self::TimedOut | Self::Stalled => Some(Sample::Timeout),
            Self::Unreachable
            | Self::Disconnected
            | Self::Malformed
            | Self::UnexpectedAnswer
            | Self::StorageFailed
            | Self::Internal => Some(Sample::Failure),
            _ => None,
        }
    }

    /// Whether the peer itself is to be asked last for a while.
    pub const fn is_of_peer(self) -> bool {
        self.sample().is_some() || matches!(self, Self::WrongAddress)
    }
}

/// A fault, with the words that explain it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {words}", kind.name())]
pub struct Fault {
    /// Its kind.
    pub kind: FaultKind,
    /// Words of ours, or of the peer: at most [`WORDS_MAX`] characters, without control characters.
    pub words: String,
}

/// Characters of a peer's words that are kept.
pub const WORDS_MAX: usize = 200;

impl Fault {
    /// A fault in words of anybody's.
    pub fn new(kind: FaultKind, words: &str) -> Self {
        let printable = |c: char| if c.is_control() { ' ' } else { c };
        Self { kind, words: words.chars().take(WORDS_MAX).map(printable).collect() }
    }

    /// What an error in an answer is.
    pub fn of_protocol(error: &ProtocolError<'_>) -> Self {
        let kind = match error {
            ProtocolError::SerializationFailed(_) => FaultKind::SerializationFailed,
            ProtocolError::DeserializationFailed(_) => FaultKind::DeserializationFailed,
            ProtocolError::MessageTooLarge { .. } => FaultKind::MessageTooLarge,
            ProtocolError::ChunkTooLarge { .. } => FaultKind::ChunkTooLarge,
            ProtocolError::AddressMismatch { .. } => FaultKind::AddressMismatch,
            ProtocolError::StorageFailed(_) => FaultKind::StorageFailed,
            ProtocolError::PaymentFailed(_) => FaultKind::PaymentFailed,
            ProtocolError::QuoteFailed(_) => FaultKind::QuoteFailed,
            ProtocolError::Internal(_) => FaultKind::Internal,
            ProtocolError::ClientUpdateRequired { .. } => FaultKind::ClientUpdateRequired,
            ProtocolError::StorerUpdateRequired { .. } => FaultKind::StorerUpdateRequired,
            _ => FaultKind::Other,
        };
        Self::new(kind, &error.to_string())
    }

    /// What the end of a connection is to who waits for an answer.
    pub fn of_transport(error: &TransportError) -> Self {
        let kind = match error {
            TransportError::Stalled => FaultKind::Stalled,
            TransportError::TooLong { .. } => FaultKind::Malformed,
            TransportError::TooSlow => FaultKind::TimedOut,
            _ => FaultKind::Disconnected,
        };
        Self::new(kind, &error.to_string())
    }
}

/// How often each kind of fault occurred, by peer.
#[derive(Debug, Default)]
pub struct Faults(Mutex<BTreeMap<(String, FaultKind), u64>>);

impl Faults {
    /// Counts a fault of `peer`, and names it in the log.
    pub fn count(&self, peer: &impl fmt::Display, fault: &Fault) {
        let peer = peer.to_string();
        tracing::warn!(peer, fault = fault.kind.name(), words = fault.words, "a peer failed");
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry((peer, fault.kind)).or_default() += 1;
    }

    /// All counts: peer, kind, how often.
    pub fn counts(&self) -> Vec<(String, FaultKind, u64)> {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.iter().map(|((peer, kind), count)| (peer.clone(), *kind, *count)).collect()
    }

    /// How often a kind occurred, at all peers.
    pub fn of_kind(&self, kind: FaultKind) -> u64 {
        self.counts().iter().filter(|(_, counted, _)| *counted == kind).map(|(_, _, count)| count).sum()
    }
}
