//! The key `waku2`: one byte that says what a node serves.

use std::fmt;

/// A bit for each service (31/WAKU2-ENR).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Capabilities(
    /// As on the wire; bits without a name here are kept.
    pub u8,
);

impl Capabilities {
    /// Relays.
    pub const RELAY: Self = Self(1);
    /// Answers store queries.
    pub const STORE: Self = Self(1 << 1);
    /// Serves filter.
    pub const FILTER: Self = Self(1 << 2);
    /// Serves lightpush.
    pub const LIGHTPUSH: Self = Self(1 << 3);
    /// Reconciles its archive.
    pub const SYNC: Self = Self(1 << 4);
    /// Mixes.
    pub const MIX: Self = Self(1 << 5);

    const NAMES: [(Self, &'static str); 6] = [
        (Self::RELAY, "relay"),
        (Self::STORE, "store"),
        (Self::FILTER, "filter"),
        (Self::LIGHTPUSH, "lightpush"),
        (Self::SYNC, "sync"),
        (Self::MIX, "mix"),
    ];

    /// With those of `other`, if `wanted`.
    pub fn with_if(self, wanted: bool, other: Self) -> Self {
        if wanted { Self(self.0 | other.0) } else { self }
    }

    /// All of `other` are among these.
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl fmt::Display for Capabilities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Self::NAMES.iter().filter(|(bit, _)| self.contains(*bit)).map(|(_, name)| *name);
        f.write_str(&names.collect::<Vec<_>>().join(","))
    }
}
