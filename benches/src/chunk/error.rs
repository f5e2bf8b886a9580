//! Why a benchmark of chunks gave no figures.

use levada_engine::{ArenaError, ClaimError};

/// A benchmark that could not be run, or whose figures would be void.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChunkBenchError {
    /// The arena could not be made.
    #[error("cannot hold the chunks in memory: {0}; lower --in-flight")]
    Arena(#[from] ArenaError),
    /// A slot was missing.
    #[error("a form holds more chunks than may be in flight: {0}")]
    Claim(#[from] ClaimError),
    /// A form encodes something else.
    #[error("the form {form} encodes a chunk otherwise than the codec does, and the measurement is void")]
    Different {
        /// The form.
        form: String,
    },
    /// The mirrors are not in this build.
    #[error("the form {form} needs the client's mirror types; build with the feature mirrors, which is on by default")]
    NoMirrors {
        /// The form.
        form: &'static str,
    },
    /// A mirror could not encode.
    #[error("a mirror could not encode a message: {0}")]
    Mirror(String),
    /// The sink failed.
    #[error("the sink failed: {0}")]
    Sink(#[from] std::io::Error),
    /// A recipient did not get everything.
    #[error("the recipients got {got} of {sent} bytes, and the measurement is void")]
    Lost {
        /// Bytes received.
        got: u64,
        /// Bytes sent.
        sent: u64,
    },
}
