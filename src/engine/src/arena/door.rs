//! Who may touch a few free slots: their owner, which comes and goes all the time, or a thief, which hardly ever does.
//!
//! The owner, the thread whose lane the slots belong to, comes and goes without a read-modify-write: it raises a flag
//! and looks whether a thief has raised the other. A thief, a thread that found no slot anywhere else, pays for both
//! with the heavy side of a fence. Neither waits: who finds the other inside goes elsewhere.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::arena::stack::BUNDLE_SLOTS;
use crate::barrier::Barrier;
use crate::sync::AtomicBool;

/// Most doors a thief knocks at together.
pub(super) const DOORS_MAX: usize = u32::BITS as usize;

#[derive(Debug)]
pub(super) struct Door {
    /// The owner is inside.
    owned: AtomicBool,
    /// A thief is inside, or wants to be.
    robbed: AtomicBool,
}

impl Door {
    pub fn new() -> Self {
        Self { owned: AtomicBool::new(false), robbed: AtomicBool::new(false) }
    }

    /// A door nobody ever goes through.
    pub fn shut() -> Self {
        Self { owned: AtomicBool::new(false), robbed: AtomicBool::new(true) }
    }

    /// The owner goes in, unless a thief is there. No other thread may call this.
    #[inline]
    pub fn enter(&self) -> Option<Inside<'_>> {
        self.owned.store(true, Relaxed);
        Barrier::light();
        let inside = Inside(&self.owned);
        // Pairs with the release store in a thief's `Inside::drop`: the slots are as it left them.
        (!self.robbed.load(Acquire)).then_some(inside)
    }

    /// Raises a thief's flag; false when another thief has.
    fn knock(&self) -> bool {
        // Acquire pairs with the release store in the last thief's `Inside::drop`.
        self.robbed.compare_exchange(false, true, Acquire, Relaxed).is_ok()
    }

    /// A thief who has knocked goes in, unless the owner is there; the heavy side of the fence lies between, and without
    /// it nobody may. The knock is taken back when nobody goes in.
    fn break_in(&self, is_fenced: bool) -> Option<Inside<'_>> {
        let inside = Inside(&self.robbed);
        // Pairs with the release store in the owner's `Inside::drop`: the slots are as it left them.
        (is_fenced && !self.owned.load(Acquire)).then_some(inside)
    }
}

/// The right to what lies behind a door; its end lowers the flag it came by.
#[derive(Debug)]
pub(super) struct Inside<'a>(&'a AtomicBool);

impl Drop for Inside<'_> {
    #[inline]
    fn drop(&mut self) {
        // Pairs with the acquire loads in `enter` and `break_in`, and the exchange in `knock`.
        self.0.store(false, Release);
    }
}

/// Most slots that a thief takes for the price of one fence: as many as go to and from the shared stack together.
pub(super) const LOOT_SLOTS: usize = BUNDLE_SLOTS;

/// What a thief's round came to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Loot {
    Slots(Slots),
    /// There was something, behind a door at which somebody was.
    OutOfReach,
    Nothing,
}

/// At least one slot, and at most [`LOOT_SLOTS`].
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Slots {
    pub indices: [u32; LOOT_SLOTS],
    pub count: usize,
}

impl Slots {
    /// The one to be claimed, and the others.
    pub fn split(&self) -> (u32, &[u32]) {
        let (last, others) = self.indices[..self.count.max(1)].split_last().expect("there is one at least");
        (*last, others)
    }
}

/// A thief's round of `doors`, at most [`DOORS_MAX`]: knocks where `is_worth_it` and goes in where the owner is not,
/// until `take` brings something out.
pub(super) fn rob<'a>(
    doors: impl Iterator<Item = &'a Door> + Clone,
    is_worth_it: impl Fn(usize) -> bool,
    take: impl Fn(usize) -> Option<Slots>,
) -> Loot {
    let (mut knocked, mut loot) = (0_u32, Loot::Nothing);
    for (place, door) in doors.clone().enumerate().filter(|(place, _)| is_worth_it(*place)) {
        loot = Loot::OutOfReach;
        if door.knock() {
            knocked |= 1 << place;
        }
    }
    if knocked == 0 {
        return loot;
    }
    let is_fenced = Barrier::heavy();
    for (place, door) in doors.enumerate().filter(|(place, _)| knocked & 1 << place != 0) {
        // Breaking in lowers the flag, whether it succeeds or not.
        let inside = door.break_in(is_fenced);
        if inside.is_some()
            && !matches!(loot, Loot::Slots(_))
            && let Some(slots) = take(place)
        {
            loot = Loot::Slots(slots);
        }
    }
    loot
}
