//! A small number that a thread has to itself while it lives: what makes a counter or a magazine single-writer.
//!
//! The first threads that ask get one each, and give it back as they end. Later ones get none and use what all threads
//! share.

#[cfg(not(shuttle))]
use std::sync::atomic::Ordering::Release;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

use crate::sync::AtomicU32;

/// Numbers there are.
pub(crate) const LANES: usize = 32;

/// The calling thread's number, below [`LANES`] and no other living thread's; [`LANES`] when none was left.
#[cfg(not(any(loom, shuttle)))]
#[inline]
pub(crate) fn lane() -> usize {
    let lane = real::LANE.get();
    if lane == real::UNASKED { real::ask() } else { lane }
}

/// What [`known_lane`] says at most.
#[cfg(not(any(loom, shuttle)))]
pub(crate) const KNOWN_LANE_MAX: usize = real::UNASKED;
#[cfg(any(loom, shuttle))]
pub(crate) const KNOWN_LANE_MAX: usize = LANES;

/// The calling thread's number if it has asked before; [`LANES`] or more, at most [`KNOWN_LANE_MAX`], if not. For paths on
/// which not even the possibility of a call is welcome.
#[cfg(not(any(loom, shuttle)))]
#[inline]
pub(crate) fn known_lane() -> usize {
    let lane = real::LANE.get();
    // SAFETY: it is `UNASKED` at first, and otherwise what `ask` or the end of the lease put there: `LANES` at most.
    unsafe { std::hint::assert_unchecked(lane <= KNOWN_LANE_MAX) };
    lane
}

#[cfg(any(loom, shuttle))]
pub(crate) use lane as known_lane;

/// A bit for each number that is lent out.
#[derive(Debug)]
struct Numbers(AtomicU32);

const _: () = assert!(LANES == u32::BITS as usize);

impl Numbers {
    /// The least number that is free.
    fn lend(&self) -> Option<u32> {
        let mut lent = self.0.load(Relaxed);
        while lent != u32::MAX {
            // Acquire pairs with the release in `take_back`: what the number's last holder wrote is visible.
            match self.0.compare_exchange_weak(lent, lent | (lent + 1), Acquire, Relaxed) {
                Ok(_) => return Some(lent.trailing_ones()),
                Err(seen) => lent = seen,
            }
        }
        None
    }

    #[cfg(not(shuttle))]
    fn take_back(&self, number: u32) {
        // Pairs with the acquire exchange in `lend`.
        self.0.fetch_and(!(1 << number), Release);
    }
}

#[cfg(not(any(loom, shuttle)))]
mod real {
    use std::cell::Cell;

    use super::{AtomicU32, LANES, Numbers};

    pub const UNASKED: usize = LANES + 1;

    static NUMBERS: Numbers = Numbers(AtomicU32::new(0));

    thread_local! {
        /// Constant and without a destructor, hence to be had from the first moment of a thread to its last.
        pub static LANE: Cell<usize> = const { Cell::new(UNASKED) };
        /// Gives the number back.
        static LEASE: Lease = Lease(NUMBERS.lend());
    }

    struct Lease(Option<u32>);

    impl Drop for Lease {
        fn drop(&mut self) {
            // Destructors that run after this one go without.
            LANE.set(LANES);
            if let Some(number) = self.0 {
                NUMBERS.take_back(number);
            }
        }
    }

    #[cold]
    pub fn ask() -> usize {
        // Registering the destructor may allocate, and an allocator that counts comes back here.
        LANE.set(LANES);
        let number = LEASE.try_with(|lease| lease.0).ok().flatten();
        LANE.set(number.map_or(LANES, |number| number as usize));
        LANE.get()
    }
}

/// The same in a model, whose threads have locals of their own kind, and end within it.
#[cfg(loom)]
mod modelled {
    use std::sync::Arc;

    use super::{AtomicU32, LANES, Numbers};

    loom::lazy_static! {
        static ref NUMBERS: Arc<Numbers> = Arc::new(Numbers(AtomicU32::new(0)));
    }
    loom::thread_local! {
        static LEASE: Lease = Lease::new();
    }

    struct Lease {
        /// A share: what is static goes before the first thread does.
        numbers: Arc<Numbers>,
        number: Option<u32>,
    }

    impl Lease {
        fn new() -> Self {
            let numbers: Arc<Numbers> = NUMBERS.clone();
            Self { number: numbers.lend(), numbers }
        }
    }

    impl Drop for Lease {
        fn drop(&mut self) {
            // A model that has failed is over before its threads are.
            if let Some(number) = self.number.filter(|_| !std::thread::panicking()) {
                self.numbers.take_back(number);
            }
        }
    }

    pub(crate) fn lane() -> usize {
        LEASE.with(|lease| lease.number).map_or(LANES, |number| number as usize)
    }
}

#[cfg(loom)]
pub(crate) use modelled::lane;

/// Under random schedules each thread has a number of its own, which nobody takes over: a scope ends before the locals of its threads.
#[cfg(shuttle)]
pub(crate) fn lane() -> usize {
    shuttle::lazy_static! {
        static ref NUMBERS: Numbers = Numbers(AtomicU32::new(0));
    }
    shuttle::thread_local! {
        static LANE: usize = NUMBERS.lend().map_or(LANES, |number| number as usize);
    }
    LANE.with(|lane| *lane)
}
