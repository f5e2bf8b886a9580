//! Which envelope makes a stage panic that only looked at a batch.
//!
//! After such a panic the same envelopes are shown again in growing number, from the oldest alone to all of them. The first
//! showing that panics accuses the envelope added last, for everything before it was shown without harm.

/// The state of the search.
#[derive(Debug, Default)]
pub(crate) struct Suspects {
    /// Envelopes at the head of the input that were in the batch that panicked; 0 when nothing is searched for.
    count: usize,
    /// How many of them are shown.
    shown: usize,
}

impl Suspects {
    /// How many of `waiting` envelopes the next call of the stage gets.
    pub fn shown(&self, waiting: usize) -> usize {
        if self.count == 0 { waiting } else { self.shown.min(waiting) }
    }

    pub fn is_searching(&self) -> bool {
        self.count > 0
    }

    /// The stage panicked on `shown` envelopes and took none. The position of the culprit, which leaves the input, when that is
    /// clear by now.
    pub fn accuse(&mut self, shown: usize) -> Option<usize> {
        if self.count == 0 {
            if shown == 1 {
                return Some(0);
            }
            *self = Self { count: shown, shown: 1 };
            return None;
        }
        self.count -= 1;
        self.settle();
        Some(shown - 1)
    }

    /// The stage took `taken` envelopes, or looked at those shown without a panic.
    pub fn clear(&mut self, taken: usize) {
        if self.count == 0 {
            return;
        }
        self.count = self.count.saturating_sub(taken);
        self.shown = if taken > 0 { 1 } else { self.shown + 1 };
        self.settle();
    }

    fn settle(&mut self) {
        if self.shown > self.count {
            *self = Self::default();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Shows `input` to a stage that panics at the sight of a culprit and takes nothing before it has seen `eager` of them;
    /// returns what it took.
    fn search(mut input: Vec<u32>, culprits: &[u32], eager: usize) -> (Vec<u32>, u32) {
        let (mut suspects, mut took, mut panics) = (Suspects::default(), Vec::new(), 0);
        while !input.is_empty() {
            let shown = suspects.shown(input.len());
            assert!(shown > 0 && panics < 100, "the search ends");
            if input[..shown].iter().any(|index| culprits.contains(index)) {
                panics += 1;
                if let Some(culprit) = suspects.accuse(shown) {
                    input.remove(culprit);
                }
            } else if shown >= eager.min(input.len()) {
                took.extend(input.drain(..shown));
                suspects.clear(shown);
            } else {
                suspects.clear(0);
            }
        }
        (took, panics)
    }

    #[test]
    fn only_culprits_are_given_up() {
        let all = || (0..10).collect::<Vec<u32>>();
        assert_eq!(search(all(), &[], 1), (all(), 0));
        for eager in [1, 4, 10] {
            for culprits in [&[0][..], &[9], &[4], &[0, 9], &[3, 4, 5], &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]] {
                let left: Vec<u32> = all().into_iter().filter(|index| !culprits.contains(index)).collect();
                let (took, panics) = search(all(), culprits, eager);
                assert_eq!(took, left, "culprits {culprits:?}, takes from {eager} on");
                assert_eq!(panics as usize, culprits.len() + 1, "culprits {culprits:?}, takes from {eager} on");
            }
        }
        assert_eq!(search(vec![7], &[7], 1), (vec![], 1), "one alone is guilty at once");
    }
}
