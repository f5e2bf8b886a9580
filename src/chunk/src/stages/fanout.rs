//! `fanout`: which peers are asked to store a chunk, until a majority of its close group has it. The time in, steps out: it
//! holds no chunk and moves no byte.
//!
//! As many are asked at once as are still missing from the majority, the closest first; each that fails or does not answer
//! in time makes room for the next one. An answer that comes late counts all the same.

use std::time::Duration;

/// What to do next for a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Send it to the candidate of this number.
    Ask(usize),
    /// The candidate of this number has not answered in time.
    TimedOut(usize),
    /// Nothing, until an answer comes or this time.
    WaitUntil(Duration),
    /// The majority has it.
    Stored,
    /// Every candidate was asked, and too few have it.
    Failed,
}

/// One chunk's way to its close group. Times count from whatever the caller likes.
#[derive(Clone, Debug)]
pub struct Fanout {
    /// In the order in which they are asked.
    candidates: Vec<usize>,
    next: usize,
    wanted: usize,
    answer_within: Duration,
    /// Asked and not answered, with the time until which an answer is waited for.
    waiting: Vec<(usize, Duration)>,
    stored: Vec<usize>,
}

/// Peers of a close group of `group` that must have a chunk: more than half of them.
pub const fn majority_of(group: usize) -> usize {
    group / 2 + 1
}

impl Fanout {
    /// A chunk that `wanted` of `candidates`, each named once and the closest first, shall have, each with `answer_within` to
    /// answer. `stored` are those known to have it.
    pub fn new(candidates: Vec<usize>, wanted: usize, answer_within: Duration, stored: Vec<usize>) -> Self {
        let waiting = Vec::with_capacity(wanted);
        Self { candidates, next: 0, wanted, answer_within, waiting, stored }
    }

    /// The next step at the time `now`; to be asked again after each step but a wait or an end.
    pub fn step(&mut self, now: Duration) -> Step {
        if self.stored.len() >= self.wanted {
            return Step::Stored;
        }
        if let Some(late) = self.waiting.iter().position(|(_, until)| *until <= now) {
            return Step::TimedOut(self.waiting.swap_remove(late).0);
        }
        while self.stored.len() + self.waiting.len() < self.wanted
            && let Some(candidate) = self.candidates.get(self.next).copied()
        {
            self.next += 1;
            if !self.stored.contains(&candidate) {
                self.waiting.push((candidate, now + self.answer_within));
                return Step::Ask(candidate);
            }
        }
        match self.waiting.iter().map(|(_, until)| *until).min() {
            Some(until) => Step::WaitUntil(until),
            None => Step::Failed,
        }
    }

    /// The candidate has it, or never will.
    pub fn answered(&mut self, candidate: usize, is_stored: bool) {
        self.waiting.retain(|(waiting, _)| *waiting != candidate);
        if is_stored && !self.stored.contains(&candidate) {
            self.stored.push(candidate);
        }
    }

    /// Who has it.
    pub fn stored(&self) -> &[usize] {
        &self.stored
    }

    /// Who was asked and has not answered.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn fanout(candidates: usize, wanted: usize) -> Fanout {
        Fanout::new((0..candidates).collect(), wanted, SECOND, Vec::new())
    }

    #[test]
    fn the_majority_is_asked_at_once_and_nobody_else() {
        let mut fanout = fanout(5, 3);
        assert_eq!([0, 1, 2].map(|_| fanout.step(Duration::ZERO)), [0, 1, 2].map(Step::Ask));
        assert_eq!(fanout.step(Duration::ZERO), Step::WaitUntil(SECOND));
        (0..3).for_each(|candidate| fanout.answered(candidate, true));
        assert_eq!(fanout.step(Duration::ZERO), Step::Stored);
    }

    #[test]
    fn who_refuses_or_is_late_makes_room_for_the_next() {
        let mut fanout = fanout(5, 3);
        (0..3).for_each(|_| _ = fanout.step(Duration::ZERO));
        fanout.answered(1, false);
        assert_eq!(fanout.step(SECOND / 2), Step::Ask(3));
        assert_eq!(fanout.step(SECOND), Step::TimedOut(0));
        assert_eq!(fanout.step(SECOND), Step::TimedOut(2));
        assert_eq!(fanout.step(SECOND), Step::Ask(4));
        fanout.answered(0, true);
        fanout.answered(3, true);
        assert_eq!(fanout.step(SECOND), Step::WaitUntil(SECOND * 2));
        assert_eq!(fanout.step(SECOND * 2), Step::TimedOut(4));
        assert_eq!((fanout.step(SECOND * 2), fanout.stored()), (Step::Failed, &[0, 3][..]));
    }

    #[test]
    fn who_has_it_already_counts_and_is_not_asked() {
        let mut fanout = Fanout::new(vec![2, 0, 1], 2, SECOND, vec![2]);
        assert_eq!(fanout.step(Duration::ZERO), Step::Ask(0));
        assert_eq!(fanout.step(Duration::ZERO), Step::WaitUntil(SECOND));
        fanout.answered(0, true);
        assert_eq!(fanout.step(Duration::ZERO), Step::Stored);
    }

    proptest! {
        /// Each candidate answers well, ill, late or never; the outcome is what counting says.
        #[test]
        fn it_ends_with_the_majority_if_there_is_one(behaviours in prop::collection::vec(0..4_u8, 0..12), wanted in 1..8_usize) {
            let mut fanout = fanout(behaviours.len(), wanted);
            let (mut now, mut asked, mut late) = (Duration::ZERO, Vec::new(), Vec::new());
            let end = loop {
                match fanout.step(now) {
                    Step::Ask(candidate) => {
                        prop_assert!(!asked.contains(&candidate), "asked twice");
                        asked.push(candidate);
                        match behaviours[candidate] {
                            0 => fanout.answered(candidate, true),
                            1 => fanout.answered(candidate, false),
                            _ => {}
                        }
                        prop_assert!(fanout.stored().len() + fanout.waiting() <= wanted.max(fanout.stored().len()));
                    }
                    Step::TimedOut(candidate) => {
                        prop_assert!(behaviours[candidate] >= 2);
                        if behaviours[candidate] == 2 {
                            late.push(candidate);
                            fanout.answered(candidate, true);
                        }
                    }
                    Step::WaitUntil(until) => {
                        prop_assert!(until > now, "time goes on");
                        now = until;
                    }
                    end => break end,
                }
            };
            let have = behaviours.iter().filter(|behaviour| **behaviour % 2 == 0).count();
            prop_assert_eq!(end == Step::Stored, have >= wanted);
            prop_assert!(late.iter().all(|candidate| fanout.stored().contains(candidate)));
        }
    }
}
