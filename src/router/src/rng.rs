//! The router's only source of chance, seeded by the caller so that a run can be repeated.

/// A xoshiro256++ generator (Blackman and Vigna). A node seeds it from the system's entropy: who can guess it can guess which
/// peers a mesh takes.
#[derive(Clone, Debug)]
pub struct Rng([u64; 4]);

impl Rng {
    /// A generator whose whole sequence follows from `seed`.
    pub fn new(seed: u64) -> Self {
        let mut state = seed;
        Self(std::array::from_fn(|_| split_mix(&mut state)))
    }

    /// A number from the whole range of `u64`.
    pub fn next_u64(&mut self) -> u64 {
        let [a, b, c, d] = &mut self.0;
        let number = a.wrapping_add(*d).rotate_left(23).wrapping_add(*a);
        let shifted = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= shifted;
        *d = d.rotate_left(45);
        number
    }

    /// A number below `bound`; 0 if `bound` is 0. The bias is below `bound` in 2^64.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next_u64()) * bound as u128) >> 64) as usize
    }

    /// Moves `count` items, chosen at random, to the front, and returns them.
    pub fn choose<'a, T>(&mut self, items: &'a mut [T], count: usize) -> &'a mut [T] {
        let count = count.min(items.len());
        for at in 0..count {
            let other = at + self.below(items.len() - at);
            items.swap(at, other);
        }
        &mut items[..count]
    }

    /// Brings the items into a random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        self.choose(items, items.len());
    }
}

/// SplitMix64, which the authors of xoshiro recommend for its first state.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_its_sequence_and_another_does_not() {
        let sequence = |seed| {
            let mut rng = Rng::new(seed);
            [rng.next_u64(), rng.next_u64(), rng.next_u64()]
        };
        assert_eq!(sequence(7), sequence(7));
        assert_ne!(sequence(7), sequence(8));
    }

    #[test]
    fn choosing_permutes_and_reaches_every_item() {
        let mut rng = Rng::new(1);
        let mut firsts = [0_u32; 5];
        for _ in 0..1_000 {
            let mut items = [0, 1, 2, 3, 4];
            let chosen = rng.choose(&mut items, 2).to_vec();
            assert_eq!(chosen.len(), 2);
            firsts[chosen[0]] += 1;
            items.sort_unstable();
            assert_eq!(items, [0, 1, 2, 3, 4]);
        }
        assert!(firsts.iter().all(|count| (120..280).contains(count)), "{firsts:?}");
        assert_eq!(rng.choose(&mut [1, 2], 9).len(), 2);
        assert_eq!(rng.below(0), 0);
    }
}
