//! What one service has done so far.

use levada_engine::{Counter, Histogram};

use super::rate::RateLimit;

/// The counters of one protocol of requests and answers.
#[derive(Debug)]
pub struct ServiceCounters {
    /// The rate limit, if there is one.
    pub rate_limit: Option<RateLimit>,
    /// Requests answered.
    pub served: Counter,
    /// Requests refused by the rate limit.
    pub rejected: Counter,
    /// Requests whose frame was too long or had no valid length, and those that the service could not read.
    pub malformed: Counter,
    /// Streams given up because a request, its answer or the client took too long, or that broke in the middle.
    pub broken: Counter,
    /// Bytes of requests, without their lengths.
    pub bytes_in: Counter,
    /// Bytes of answers, without their lengths.
    pub bytes_out: Counter,
    /// How long requests took, from the first byte to the end of the answer.
    pub handling: Histogram,
    /// How long the service took for its answers.
    pub answering: Histogram,
    /// How long it took to write them.
    pub writing: Histogram,
}

impl ServiceCounters {
    pub(super) fn new(rate_limit: Option<RateLimit>) -> Self {
        Self {
            rate_limit,
            served: Counter::new(),
            rejected: Counter::new(),
            malformed: Counter::new(),
            broken: Counter::new(),
            bytes_in: Counter::new(),
            bytes_out: Counter::new(),
            handling: Histogram::default(),
            answering: Histogram::default(),
            writing: Histogram::default(),
        }
    }
}
