//! What the REST API counts of itself, for the metrics.

use levada_engine::Counter;

/// Requests answered, whatever the answer was.
pub static REQUESTS: Counter = Counter::new();

/// Requests refused because they were wrong in themselves: status 4xx.
pub static REFUSED: Counter = Counter::new();

/// Requests that the node could not serve: status 5xx.
pub static FAILED: Counter = Counter::new();
