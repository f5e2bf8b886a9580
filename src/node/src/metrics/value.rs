//! The number of a sample.

use levada_engine::Observed;

/// The number of a sample, in the type its source counts in.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A count or a size.
    Unsigned(u64),
    /// A level that may be below zero.
    Signed(i64),
    /// A measured quantity, such as seconds.
    Float(f64),
    /// How values spread.
    Observed(Observed),
}

impl From<Observed> for Value {
    fn from(value: Observed) -> Self {
        Self::Observed(value)
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Unsigned(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Signed(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}
