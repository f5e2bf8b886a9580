//! The limits of a node of the network, and the checks that its handlers make after a message is decoded.

use super::error::LimitError;

/// Bytes of the longest message that is decoded, whatever it holds. Source: ant-protocol 5.0.1, `MAX_WIRE_MESSAGE_SIZE`.
pub const MESSAGE_BYTES_MAX: usize = 5 * 1_024 * 1_024;

/// The protocol's name, which an outer frame begins with. Source: ant-protocol 5.0.1, `CHUNK_PROTOCOL_ID`.
pub const PROTOCOL: &str = "autonomi.ant.chunk.v1";

/// Bytes of the longest outer frame that is decoded: the longest message, and 16 KiB for sender, key and signature, which
/// take 5.4 kB.
pub const FRAME_BYTES_MAX: usize = MESSAGE_BYTES_MAX + 16 * 1_024;

/// Bytes of the largest chunk. Source: ant-protocol 5.0.1, `MAX_CHUNK_SIZE`.
pub const CHUNK_BYTES_MAX: usize = 4 * 1_024 * 1_024;

/// Bytes of the shortest payment proof that a node looks into. Source: ant-node 0.23, payment verifier.
pub const PROOF_BYTES_MIN: usize = 32;

/// Bytes of the longest payment proof that a node looks into. Source: ant-node 0.23, payment verifier.
pub const PROOF_BYTES_MAX: usize = 512 * 1_024;

/// Bytes of the longest commitment that comes with a quote. Source: ant-protocol 5.0.1, `MAX_COMMITMENT_SIDECAR_BYTES`.
pub const COMMITMENT_BYTES_MAX: usize = 8 * 1_024;

/// Checks the size of a chunk. A node does this first with a PutRequest's content, before it hashes it, and with the data
/// size that a request for a quote names; it answers [`ChunkTooLarge`](super::ProtocolError::ChunkTooLarge).
///
/// # Errors
/// [`LimitError::Chunk`] above [`CHUNK_BYTES_MAX`].
pub fn check_chunk(bytes: u64) -> Result<(), LimitError> {
    if bytes > CHUNK_BYTES_MAX as u64 { Err(LimitError::Chunk { bytes }) } else { Ok(()) }
}

/// Checks the size of a payment proof. A node does this before it parses the proof, after it has hashed the content and
/// looked for the chunk in its storage, and only if it has not seen the payment before; it answers
/// [`PaymentFailed`](super::ProtocolError::PaymentFailed).
///
/// # Errors
/// [`LimitError::Proof`] below [`PROOF_BYTES_MIN`] and above [`PROOF_BYTES_MAX`].
pub fn check_proof(payment_proof: &[u8]) -> Result<(), LimitError> {
    let bytes = payment_proof.len();
    if (PROOF_BYTES_MIN..=PROOF_BYTES_MAX).contains(&bytes) { Ok(()) } else { Err(LimitError::Proof { bytes }) }
}

/// Checks the size of a commitment. A client does this before it parses what came with a quote; a node does it with each
/// commitment within a payment proof, and passes over one that is too long.
///
/// # Errors
/// [`LimitError::Commitment`] above [`COMMITMENT_BYTES_MAX`].
pub fn check_commitment(commitment: &[u8]) -> Result<(), LimitError> {
    let bytes = commitment.len();
    if bytes > COMMITMENT_BYTES_MAX { Err(LimitError::Commitment { bytes }) } else { Ok(()) }
}
