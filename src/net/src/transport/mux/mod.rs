//! Many streams on one secure connection, for yamux and mplex alike; the protocols differ in their
//! [`Codec`](levada_wire::mux::Codec) only.
//!
//! ```text
//!  socket → record buffer ─ header parsed in place ─┬─ reader is there: copied to its slice          (1 copy)
//!                                                   └─ it is not: kept for it, within the window     (2 copies, counted)
//!  writer's slices → header and bytes gathered in the record buffer → sealed in place → socket       (1 copy)
//! ```
//!
//! One lock guards a connection. Whoever polls, the task of the connection or the reader of a stream, works through what has come;
//! the socket always knows the waker of the connection's task, so that no stream that is dropped can take a wake-up with it. When
//! bytes are next for a stream whose reader has not come, the reader is woken and the bytes stay in the record for one turn of the
//! connection's task; only then are they moved out of the way.
//!
//! Fairness: what is gathered for the socket is bounded, and writers that found it full are woken in the order in which they came.
//!
//! Memory of a connection, whatever the peer sends: two buffers of the record layer, [`limits::WAITING_BYTES_MAX`] for readers, and
//! the state of [`limits::STREAMS_MAX`] streams of each side.

mod connection;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
pub(crate) mod limits;
mod muxer;
mod reading;
mod stream;
mod substream;
mod writing;

#[cfg(test)]
pub(crate) mod tests;

pub(crate) use muxer::Muxer;
#[cfg(any(test, fuzzing))]
pub(crate) use substream::Substream;
