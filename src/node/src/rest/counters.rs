//! What the REST API counts of itself, for the metrics.

use axum::http::StatusCode;
use levada_engine::Counter;

/// Requests answered, whatever the answer was.
pub static REQUESTS: Counter = Counter::new();

/// Requests refused because they were wrong in themselves: status 4xx.
pub static REFUSED: Counter = Counter::new();

/// Requests that the node could not serve: status 5xx.
pub static FAILED: Counter = Counter::new();

/// Counts an answer.
pub(super) fn count(status: StatusCode) {
    REQUESTS.add(1);
    if status.is_client_error() {
        REFUSED.add(1);
    } else if status.is_server_error() {
        FAILED.add(1);
    }
}
