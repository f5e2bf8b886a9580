//! `validate`: an ordered list of validators; the first that does not accept decides.
//!
//! Cost: what the validators cost; the ones here look at the record only. It stands before `message_hash`, so that a
//! rejected message is never hashed.

use levada_engine::{BatchLimit, Counter, Stage};
use levada_wire::waku::{RejectReason, Verdict, WakuRecord};

use crate::{Messages, Ports};

/// One rule that a message must satisfy.
pub trait Validator: Send {
    /// [`RejectReason::None`] accepts. `payload` is the encoded message that the record's spans point into.
    fn check(&self, payload: &[u8], record: &WakuRecord) -> RejectReason;
}

/// The message was decoded: a topology without `decode` in front would be caught here.
#[derive(Debug, Default)]
pub struct WellFormed;

impl Validator for WellFormed {
    fn check(&self, _payload: &[u8], record: &WakuRecord) -> RejectReason {
        if record.decoded { RejectReason::None } else { RejectReason::Malformed }
    }
}

/// The encoded message is no larger than the network allows (64/WAKU2-NETWORK: 150 KiB by default).
#[derive(Debug)]
pub struct Size {
    /// Largest encoded message, in bytes.
    pub message_bytes_max: usize,
}

impl Validator for Size {
    fn check(&self, payload: &[u8], _record: &WakuRecord) -> RejectReason {
        if payload.len() <= self.message_bytes_max { RejectReason::None } else { RejectReason::TooLarge }
    }
}

/// Messages by outcome, shared by all lanes.
#[derive(Debug, Default)]
pub struct ValidateCounters {
    /// Messages every validator accepted.
    pub accepted: Counter,
    /// Messages that some validator refused.
    pub rejected: Counter,
    /// Messages on protected shards with a good signature.
    pub signed: Counter,
    /// Messages on protected shards without one.
    pub unsigned: Counter,
}

/// Runs the validators in order.
pub struct Validate {
    validators: Vec<Box<dyn Validator>>,
    counters: std::sync::Arc<ValidateCounters>,
}

impl Validate {
    /// A lane that asks `validators` in this order.
    pub fn new(validators: Vec<Box<dyn Validator>>, counters: std::sync::Arc<ValidateCounters>) -> Self {
        Self { validators, counters }
    }

    /// The rules of every Waku relay node: well-formed, and within the size limit.
    pub fn standard(message_bytes_max: usize, counters: std::sync::Arc<ValidateCounters>) -> Self {
        Self::new(vec![Box::new(WellFormed), Box::new(Size { message_bytes_max })], counters)
    }

    /// The same with a rule behind the others.
    pub fn and(mut self, rule: impl Validator + 'static) -> Self {
        self.validators.push(Box::new(rule));
        self
    }
}

const ACCEPTED: usize = 0;
const REJECTED: usize = 1;

impl Stage<WakuRecord> for Validate {
    fn ports(&self) -> &'static [&'static str] {
        &["accepted", "rejected"]
    }

    fn batch_limit(&self) -> BatchLimit {
        crate::HEADERS_ONLY
    }

    fn process(&mut self, batch: &mut Messages<'_>, ports: &mut Ports<'_>) {
        for mut envelope in batch {
            let (data, seen) = (envelope.payload(), envelope.record());
            let mut objections = self.validators.iter().map(|validator| validator.check(data, seen));
            let objection = objections.find(|reason| *reason != RejectReason::None);
            let record = crate::record(&mut envelope);
            if let Some(reason) = objection {
                self.counters.rejected.add(1);
                (record.verdict, record.reject_reason) = (Verdict::Reject, reason);
                ports.send(REJECTED, envelope);
            } else {
                self.counters.accepted.add(1);
                record.verdict = Verdict::Accept;
                ports.send(ACCEPTED, envelope);
            }
        }
    }
}
