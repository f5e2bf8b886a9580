//! What can go wrong in the engine, outside a stage's own work.

use std::io;

/// The arena cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArenaError {
    /// No size class was given.
    #[error("the arena has no size class; give it at least one")]
    NoClass,
    /// Classes are not in order of size.
    #[error("the arena's size classes must grow: the class of {payload_bytes} bytes follows one as large")]
    ClassOrder {
        /// The class out of order.
        payload_bytes: usize,
    },
    /// A class has no slot, or slots of a size the engine cannot use.
    #[error(
        "a size class of {slots} slots of {payload_bytes} bytes is not usable; a slot is a multiple of 128 bytes below 4 GiB, \
         and there is at least one"
    )]
    ClassShape {
        /// Slot size asked for.
        payload_bytes: usize,
        /// Slots asked for.
        slots: u32,
    },
    /// More slots than the envelope tables are made for.
    #[error("{slots} slots are more than the {slots_max} an arena can have; use larger classes or a smaller budget")]
    TooManySlots {
        /// Slots asked for.
        slots: u64,
        /// The limit.
        slots_max: u64,
    },
    /// The system refused the memory.
    #[error("cannot map {bytes} bytes for the arena; lower its budget or free memory")]
    Memory {
        /// Bytes asked for in one class.
        bytes: usize,
        /// The system's reason.
        source: io::Error,
    },
}

/// A slot cannot be claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClaimError {
    /// No class is large enough.
    #[error("a payload of {payload_bytes} bytes is larger than the largest slot, {payload_bytes_max} bytes")]
    TooLarge {
        /// Bytes asked for.
        payload_bytes: usize,
        /// The largest class.
        payload_bytes_max: usize,
    },
    /// Every slot that could hold the payload is lent out, or stayed out of reach.
    #[error("the arena has no free slot for a payload of {payload_bytes} bytes; try again when messages have drained")]
    Full {
        /// Bytes asked for.
        payload_bytes: usize,
    },
}

/// An affinity that says nothing the engine understands.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AffinityError {
    /// Nothing was given.
    #[error("the affinity is empty; write \"auto\", or cores as in \"0-3\", or \"f2\" for two floating workers")]
    Empty,
    /// One of the items between commas is not in the language.
    #[error(
        "\"{item}\" is no affinity; write a core \"0\", a rising range \"0-10\", every second of it \"0-10/2\", or \"f2\" for two \
         floating workers"
    )]
    Item {
        /// The item.
        item: String,
    },
    /// More places than any machine has cores.
    #[error("the affinity names more than {places_max} places; name fewer cores")]
    TooMany {
        /// The limit.
        places_max: usize,
    },
}
