//! What each thread keeps of the free slots: one that lies ready, whatever its class, and a small magazine per class below
//! it. Who takes from them goes through one [`Door`].
//!
//! The slot that lies ready, the first released since it was last claimed, is found without knowing a class. A magazine
//! is reached through the class, the class through the header, the header through the index, and each of these loads
//! waits for the one before: a claim that follows a release takes a third of the time here.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crossbeam_utils::CachePadded;

use crate::arena::door::{DOORS_MAX, Door, Inside, LOOT_SLOTS, Loot, Slots, rob};
use crate::arena::magazine::Magazine;
use crate::barrier::Barrier;
use crate::lane::{KNOWN_LANE_MAX, LANES, known_lane, lane};
use crate::sync::AtomicU32;

/// Threads that keep slots. Others use the shared stacks.
#[cfg(not(loom))]
const OPEN: usize = LANES;
#[cfg(loom)]
const OPEN: usize = 1;

const _: () = assert!(OPEN <= DOORS_MAX);

/// With a keep that is shut for each number of a thread that keeps nothing: no number needs to be looked at twice.
const KEEPS: usize = OPEN + 1 + KNOWN_LANE_MAX - LANES;

/// No slot.
const NONE: u32 = u32::MAX;

/// No slot either, in a keep that takes none.
const SHUT: u32 = u32::MAX - 1;

/// What every thread keeps.
#[derive(Debug)]
pub(super) struct Keeps([CachePadded<Keep>; KEEPS]);

#[derive(Debug)]
struct Keep {
    door: Door,
    /// The slot that lies ready, or none.
    hot: AtomicU32,
    /// One for each class.
    magazines: Box<[Magazine]>,
}

/// What the calling thread keeps, while it is inside.
#[derive(Debug)]
pub(super) struct Own<'a> {
    keep: &'a Keep,
    _inside: Inside<'a>,
}

impl Keeps {
    pub fn new(classes: usize) -> Self {
        // Where a fence would have to be paid for at each claim and release, the shared stacks alone serve.
        let is_free = Barrier::is_free();
        let keep = |place: usize| {
            let (door, hot) = if is_free && place < OPEN { (Door::new(), NONE) } else { (Door::shut(), SHUT) };
            let magazines = (0..classes).map(|_| Magazine::new()).collect();
            Keep { door, hot: AtomicU32::new(hot), magazines }
        };
        Self(std::array::from_fn(|place| CachePadded::new(keep(place))))
    }

    #[inline]
    fn of(&self, lane: usize) -> &Keep {
        &self.0[lane.min(KEEPS - 1)]
    }

    /// What the calling thread keeps; none when it is one thread too many, it has no number yet, or a thief is inside.
    #[inline]
    pub fn own(&self) -> Option<Own<'_>> {
        self.of(known_lane()).enter()
    }

    /// The same off the quickest way, where a thread gets its number that has none yet.
    #[inline]
    pub fn own_or_new(&self) -> Option<Own<'_>> {
        self.of(lane()).enter()
    }

    /// Keeps a slot for the calling thread's next claim; false when there is one.
    ///
    /// This goes by no door: only the owner puts a slot here, and only where there is none, while a thief takes one, and
    /// only where there is one. So neither can overwrite what the other wrote.
    #[inline]
    pub fn put_hot(&self, index: u32) -> bool {
        let keep = self.of(known_lane());
        let is_free = keep.hot.load(Relaxed) == NONE;
        if is_free {
            // Pairs with the acquire load in `hot_if`: a thief sees all that was done with the slot.
            keep.hot.store(index, Release);
        }
        is_free
    }

    /// A slot of `class`, whose indices `is_of_class` knows, from what any thread keeps; and up to half of what that thread has of
    /// the class beside it, for the next claim not to pay for another fence.
    pub fn steal(&self, class: usize, is_of_class: impl Fn(u32) -> bool) -> Loot {
        let is_worth_it = |place: usize| {
            let keep = &self.0[place];
            keep.magazines[class].len() > 0 || keep.hot_if(&is_of_class).is_some()
        };
        let take = |place: usize| {
            let keep = &self.0[place];
            let mut slots = Slots { indices: [0; LOOT_SLOTS], count: 0 };
            let magazine = &keep.magazines[class];
            let half = magazine.len().div_ceil(2).min(LOOT_SLOTS);
            slots.count = magazine.pop_all(&mut slots.indices[..half]);
            if slots.count == 0 {
                slots.indices[0] = keep.hot_if(&is_of_class)?;
                slots.count = 1;
                keep.hot.store(NONE, Relaxed);
            }
            Some(slots)
        };
        rob(self.0[..OPEN].iter().map(|keep| &keep.door), is_worth_it, take)
    }

    /// Slots of `class` that threads keep, as of some moment.
    pub fn kept(&self, class: usize, is_of_class: impl Fn(u32) -> bool) -> u64 {
        let of = |keep: &CachePadded<Keep>| {
            keep.magazines[class].len() as u64 + u64::from(keep.hot_if(&is_of_class).is_some())
        };
        self.0.iter().map(of).sum()
    }
}

impl Keep {
    #[inline]
    fn enter(&self) -> Option<Own<'_>> {
        Some(Own { keep: self, _inside: self.door.enter()? })
    }

    fn hot_if(&self, is_of_class: impl Fn(u32) -> bool) -> Option<u32> {
        // Pairs with the release store in `put_hot`.
        Some(self.hot.load(Acquire)).filter(|index| *index != NONE && is_of_class(*index))
    }
}

impl<'a> Own<'a> {
    /// The slot that lies ready, if it is one that `fits`, with what that found; it is also asked about an index that no
    /// slot has.
    #[inline]
    pub fn take_hot<T>(&self, fits: impl FnOnce(u32) -> Option<T>) -> Option<(u32, T)> {
        let index = self.keep.hot.load(Relaxed);
        let found = fits(index)?;
        self.keep.hot.store(NONE, Relaxed);
        Some((index, found))
    }

    /// The thread's magazine for `class`.
    #[inline]
    pub fn magazine(&self, class: usize) -> &'a Magazine {
        &self.keep.magazines[class]
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_keeps_slots_as_soon_as_it_has_a_number() {
        let keeps = Keeps::new(1);
        std::thread::scope(|threads| {
            let fresh = threads.spawn(|| {
                assert!(keeps.own().is_none() && !keeps.put_hot(5), "no number, and nothing kept");
                keeps.own_or_new().expect("a number is left").magazine(0).push(7);
                assert!(keeps.own().is_some() && keeps.put_hot(5) && !keeps.put_hot(6), "one slot and no more");
            });
            fresh.join().expect("the thread's own assertions hold");
        });
        let kept = |low| keeps.kept(0, |index| (low..9).contains(&index));
        assert_eq!((kept(0), kept(6)), (2, 1));
        let steal = |ready: u32| match keeps.steal(0, |index| index == ready) {
            Loot::Slots(slots) => Some(slots.indices[..slots.count].to_vec()),
            _ => None,
        };
        assert_eq!(steal(6), Some(vec![7]), "a magazine is asked for nothing but its class");
        assert_eq!(steal(6), None, "what lies ready is of another class");
        assert_eq!((steal(5), steal(5)), (Some(vec![5]), None));
    }

    #[test]
    fn a_thief_takes_half_of_a_magazine_and_no_more_than_goes_together() {
        let keeps = Keeps::new(1);
        std::thread::scope(|threads| {
            let own = || keeps.own_or_new().expect("a number is left").magazine(0).push_all(&[1, 2, 3]);
            threads.spawn(own).join().expect("a magazine has room");
        });
        let mut taken = Vec::new();
        while let Loot::Slots(slots) = keeps.steal(0, |_| false) {
            assert!(slots.count <= LOOT_SLOTS);
            taken.push(slots.indices[..slots.count].to_vec());
        }
        assert_eq!(taken, [vec![2, 3], vec![1]]);
    }
}
