//! The search for the envelope that makes a stage panic which only looks, as [`OnPanic::SkipMessage`] promises it: the same
//! envelopes once more, one, two, three and so on, until it panics again; then the last one added goes.
//!
//! [`OnPanic::SkipMessage`]: levada_engine::OnPanic::SkipMessage

#[derive(Debug, Default)]
pub struct Search(Option<Suspects>);

#[derive(Debug)]
struct Suspects {
    count: usize,
    shown: usize,
}

impl Search {
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// How many of `waiting` envelopes the stage sees next.
    pub fn shown(&self, waiting: usize) -> usize {
        self.0.as_ref().map_or(waiting, |suspects| suspects.shown.min(waiting))
    }

    /// The stage panicked at the sight of `shown` envelopes: the place of the one that goes.
    pub fn accuse(&mut self, shown: usize) -> Option<usize> {
        let Some(suspects) = &mut self.0 else {
            self.0 = (shown > 1).then_some(Suspects { count: shown, shown: 1 });
            return (shown == 1).then_some(0);
        };
        suspects.count -= 1;
        self.end_if_through();
        Some(shown - 1)
    }

    /// The stage took `taken` envelopes, or none and looked without harm.
    pub fn clear(&mut self, taken: usize) {
        let Some(suspects) = &mut self.0 else { return };
        if taken > 0 {
            *suspects = Suspects { count: suspects.count.saturating_sub(taken), shown: 1 };
        } else {
            suspects.shown += 1;
        }
        self.end_if_through();
    }

    fn end_if_through(&mut self) {
        self.0.take_if(|suspects| suspects.shown > suspects.count);
    }
}
