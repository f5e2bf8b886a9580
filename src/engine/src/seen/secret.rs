//! Which bucket a key belongs to, in a way that nobody outside can foresee.

use std::hash::{BuildHasher, RandomState};

use super::Key;

/// Mixed into every key. Peers can grind ids that agree in some bits, and would else fill one bucket with them.
pub(super) struct Secret(pub [u64; 4]);

impl Secret {
    /// From the system's randomness, by way of the standard library's hasher.
    pub fn drawn() -> Self {
        let state = RandomState::new();
        Self(std::array::from_fn(|place| state.hash_one(place)))
    }

    /// Multiplies all words of the key into one.
    #[inline]
    pub fn hash(&self, key: &Key) -> u64 {
        let [a, b, c, d] = std::array::from_fn(|place| key[place] ^ self.0[place]);
        fold(fold(a, b), fold(c, d))
    }
}

/// Both halves of the product, so that every bit of either factor counts.
#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}
