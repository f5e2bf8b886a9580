//! What filter has done so far, as server and as client.

use levada_engine::{Counter, Histogram};

/// The counters of filter.
#[derive(Debug, Default)]
pub struct FilterCounters {
    /// Requests that were read, by kind: pings, subscriptions, their ends, and the ends of all.
    pub requests: [Counter; 4],
    /// How long they took, in the same order.
    pub request_durations: [Histogram; 4],
    /// Requests that could not be read.
    pub undecodable: Counter,
    /// Requests refused because of what they ask: status 400.
    pub bad_requests: Counter,
    /// Requests of peers without such a subscription: status 404.
    pub not_found: Counter,
    /// Requests refused for want of room: status 503.
    pub unavailable: Counter,
    /// Messages framed for their subscribers, each once.
    pub encoded: Counter,
    /// Pushes written whole.
    pub pushed: Counter,
    /// Bytes of those pushes, without their lengths.
    pub pushed_bytes: Counter,
    /// Pushes dropped because the subscriber's queue was full, or because it was the slowest when all queues together were.
    pub dropped: Counter,
    /// Pushes dropped because the subscriber could not be reached.
    pub unreachable: Counter,
    /// Pushes given up because the subscriber did not read for 20 s.
    pub timed_out: Counter,
    /// Messages too large for a push.
    pub too_large: Counter,
    /// Pushes received and handed to the message path.
    pub received: Counter,
    /// Push streams reset because their peer was not subscribed to.
    pub unexpected: Counter,
    /// Pushes received that were no push or too large, or on a topic that this node does not know.
    pub refused: Counter,
}
