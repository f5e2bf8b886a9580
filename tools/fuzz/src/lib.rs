//! What the targets that read protobuf share: inputs are changed as messages, not as bytes.

pub mod mutate;
mod random;
pub mod tree;
