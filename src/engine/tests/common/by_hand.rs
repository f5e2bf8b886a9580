//! What the tests share that turn a topology by hand.

use levada_engine::{LinkConfig, Policy, Sink, Source, Waker};

use crate::common::numbered;

/// Tells nobody.
pub fn silent() -> Waker {
    Waker::from_callback(|| ())
}

/// The smallest link.
pub fn config(policy: Policy) -> LinkConfig {
    LinkConfig { capacity: 256, policy }
}

/// Pushes an envelope for each number.
pub fn push_all(source: &Source<u64>, numbers: impl IntoIterator<Item = u64>) {
    numbers.into_iter().for_each(|number| source.push(numbered(source.arena(), number)).unwrap());
}

/// Takes what the sink holds.
pub fn pop_all(sink: &mut Sink<u64>) -> Vec<u64> {
    std::iter::from_fn(|| sink.pop()).map(|held| held.record()).collect()
}
