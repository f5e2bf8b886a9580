//! Why a macro benchmark gave no figures.

/// A benchmark that could not be run, or whose figures would be void.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MacroError {
    /// An option outside of its bounds.
    #[error("--{option}={given} is not possible here; use {min} to {max}")]
    Option {
        /// The option.
        option: &'static str,
        /// Its value.
        given: usize,
        /// The least.
        min: usize,
        /// The most.
        max: usize,
    },
    /// The system refused a thread, a process, a socket or a pipe.
    #[error("the system refuses what the benchmark needs: {0}")]
    System(#[from] std::io::Error),
    /// A node could not do what it was told.
    #[error("a node of the benchmark failed: {0}")]
    Node(String),
    /// A node ended without a word.
    #[error("a node of the benchmark has ended; what it said last stands above")]
    Ended,
    /// What came through is not what was published.
    #[error(
        "receiver {receiver} handled {handled} of {messages} messages, and the sum over them is {work:016x} instead of {expected:016x}; \
         the measurement is void"
    )]
    Work {
        /// Which receiver.
        receiver: usize,
        /// Messages it handled.
        handled: u64,
        /// Messages published.
        messages: usize,
        /// The sum over those handled.
        work: u64,
        /// The sum over those published.
        expected: u64,
    },
}
