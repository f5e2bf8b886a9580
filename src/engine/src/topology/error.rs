//! Why a topology is refused, and how to mend it.

/// A graph that cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TopologyError {
    /// Two stages, workers or ends share a name.
    #[error("the name \"{name}\" is used twice; number lanes, as in \"{name}:0\" and \"{name}:1\"")]
    DuplicateName {
        /// The name.
        name: String,
    },
    /// A link leaves by a port the stage does not have.
    #[error("stage \"{stage}\" has no port \"{port}\"; its ports are: {ports}")]
    UnknownPort {
        /// The stage.
        stage: String,
        /// The port asked for.
        port: String,
        /// The ports it has.
        ports: String,
    },
    /// Nobody consumes what leaves by a port.
    #[error("port \"{port}\" of stage \"{stage}\" leads nowhere; link it, or discard it on purpose")]
    PortWithoutConsumer {
        /// The stage.
        stage: String,
        /// The port.
        port: &'static str,
    },
    /// Nothing leads to a stage.
    #[error("stage \"{stage}\" has no input; link a stage or a source to it")]
    StageWithoutInput {
        /// The stage.
        stage: String,
    },
    /// A capacity that a ring cannot have.
    #[error(
        "link \"{link}\" has capacity {capacity}; use a power of two from {capacity_min} (8 batches at least) to {capacity_max}"
    )]
    Capacity {
        /// The link.
        link: String,
        /// The capacity asked for.
        capacity: usize,
        /// The smallest this link can have.
        capacity_min: usize,
        /// The largest any link can have.
        capacity_max: usize,
    },
    /// Reliable links in a circle wait for each other for ever.
    #[error("reliable links form a cycle: {path}; make one of them drop-newest or take it out")]
    ReliableCycle {
        /// The stages in the circle, in order.
        path: String,
    },
    /// Workers that never yield would starve each other.
    #[error(
        "waiting by spin needs a core for each worker: {workers} workers, {cores} cores; wait balanced, or use fewer workers"
    )]
    SpinWithoutCores {
        /// Workers in the topology.
        workers: usize,
        /// Cores this process may use.
        cores: usize,
    },
    /// The system refused a thread.
    #[error("cannot start worker \"{worker}\": {reason}")]
    Thread {
        /// The worker.
        worker: String,
        /// The system's reason.
        reason: String,
    },
}
