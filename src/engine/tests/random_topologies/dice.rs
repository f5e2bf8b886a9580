//! Random numbers that follow from what they are for, so that a stage and its double in the oracle throw the same.

/// A splitmix64 generator.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// The dice of one purpose: the seed of the run, and what tells the purpose from every other.
    pub fn of(purpose: &[u64]) -> Self {
        let mut dice = Self(0);
        for part in purpose {
            dice.0 ^= part;
            dice.0 = dice.next();
        }
        dice
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// True one time in `of`; never when that is 0.
    pub fn one_in(&mut self, of: u64) -> bool {
        of > 0 && self.next().is_multiple_of(of)
    }

    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}
