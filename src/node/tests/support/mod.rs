//! What the tests of the real binary share: starting it, speaking HTTP to it, and the messages to publish.

pub mod held;
pub mod http;
pub mod message;
pub mod metrics;
pub mod node;
pub mod port;
pub mod random;
pub mod store;
