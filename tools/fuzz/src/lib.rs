//! What targets share. The inputs of those that read protobuf are changed as messages, not as bytes.

pub mod mutate;
pub mod mux;
mod random;
pub mod shapes;
pub mod transport;
pub mod tree;
#[expect(dead_code, reason = "no target reads a socket")]
#[path = "../../../src/net/src/witness.rs"]
mod witness;
mod workers;
