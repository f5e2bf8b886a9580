//! The secure channel: Noise XX with libp2p's identity payload, then records of our own making.
//!
//! The handshake is `snow`'s; what follows is not, because its interface takes separate input and output slices, which costs a
//! copy of every byte in each direction. Here a record is gathered, sealed, sent, received, opened and parsed in one place each:
//!
//! | bytes of a payload | copies |
//! |---|---|
//! | writer's slice to record buffer | 1; none with feature `openssl`, which seals on the way |
//! | sealing, opening | in place |
//! | record buffer to reader's slice | 1 |
//!
//! A connection owns two buffers, one per direction, that grow to their bound with the first large record and stay: steady state
//! allocates nothing. Nothing of a record is looked at before the whole of it has been verified.
//!
//! Sources: the Noise Protocol Framework, revision 34; libp2p specifications, `noise/README.md` and
//! `connections/inlined-muxer-negotiation.md`.

mod aead;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod handshake;
mod opener;
mod sealer;
mod secure;

#[cfg(test)]
mod tests;

pub(crate) use handshake::{NoiseKeys, handshake};
pub(crate) use sealer::PLAIN_BYTES_MAX;
pub(crate) use secure::Secure;

/// The protocol name that multistream-select agrees on before the handshake.
pub(crate) const PROTOCOL: &str = "/noise";
