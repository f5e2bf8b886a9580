//! What targets share. The inputs of those that read protobuf are changed as messages, not as bytes.

pub mod mutate;
pub mod mux;
mod random;
pub mod shapes;
pub mod tree;
