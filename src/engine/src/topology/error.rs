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
    /// Two ports write into a link that was declared for one producer.
    #[error(
        "link \"{link}\" has two producers, \"{first}\" and \"{second}\", and its ring takes one; give each a link of its own to \
         \"{consumer}\", where they meet"
    )]
    TwoProducers {
        /// The link.
        link: String,
        /// Stage and port that came first.
        first: String,
        /// Stage and port that came second.
        second: String,
        /// The stage it leads to.
        consumer: String,
    },
    /// Nobody writes into a declared link.
    #[error("link \"{link}\" has no producer; name one by produce, or take the link out")]
    LinkWithoutProducer {
        /// The link.
        link: String,
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
    #[error("reliable links form a cycle: {path}; make one of them drop-newest or drop-oldest, or take it out")]
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
    /// A worker that never yields would starve the others on its core.
    #[error(
        "worker \"{worker}\" waits by spin on core {core}, which \"{other}\" shares; give it a core of its own, or wait balanced"
    )]
    SpinOnSharedCore {
        /// The worker that spins.
        worker: String,
        /// The core of both.
        core: usize,
        /// Another worker there.
        other: String,
    },
    /// The affinity names fewer places than there are pinned workers.
    #[error(
        "the affinity has {places} places for {workers} pinned workers; name more cores, or add \"f1\" for each that may float"
    )]
    AffinityTooShort {
        /// Pinned workers in the topology.
        workers: usize,
        /// Places in the affinity.
        places: usize,
    },
    /// The process may not run on a core that the affinity names.
    #[error(
        "worker \"{worker}\" is to run on core {core}, which is not in the affinity mask; use one of {allowed}, or \"auto\""
    )]
    CoreNotAllowed {
        /// The worker.
        worker: String,
        /// The core asked for.
        core: usize,
        /// The cores of the mask.
        allowed: String,
    },
    /// The control group does not pay for as many cores as the affinity names.
    #[error(
        "the affinity binds workers to cores {cores}, but the cgroup quota pays for {quota}; name fewer cores, or raise the quota"
    )]
    CoresBeyondQuota {
        /// The cores asked for.
        cores: String,
        /// How many the quota pays for.
        quota: usize,
    },
    /// A worker cannot be named so.
    #[error("the worker name {name:?} contains a NUL byte, which no thread name can; leave it out")]
    WorkerName {
        /// The name.
        name: String,
    },
    /// Nothing can make the stage anew.
    #[error(
        "stage \"{stage}\" is to be restarted when it panics but has no factory; place it with stage_with or place_with"
    )]
    RestartWithoutFactory {
        /// The stage.
        stage: String,
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
