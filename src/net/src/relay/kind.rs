//! Which router relays.

use std::fmt;
use std::str::FromStr;

/// Whose relay router a node has. On the wire both are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RouterKind {
    /// Our own, which copies no payload and bounds everything in bytes.
    #[default]
    Levada,
    /// The one that comes with rust-libp2p.
    Stock,
}

impl fmt::Display for RouterKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Levada => "levada",
            Self::Stock => "stock",
        })
    }
}

/// A text that names no router.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no relay router; write levada or stock")]
pub struct UnknownRouter(pub String);

impl FromStr for RouterKind {
    type Err = UnknownRouter;

    fn from_str(text: &str) -> Result<Self, UnknownRouter> {
        match text {
            "levada" => Ok(Self::Levada),
            "stock" => Ok(Self::Stock),
            _ => Err(UnknownRouter(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RouterKind;

    #[test]
    fn a_router_reads_as_it_is_written() {
        for kind in [RouterKind::Levada, RouterKind::Stock] {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        assert!("Levada".parse::<RouterKind>().is_err());
    }
}
