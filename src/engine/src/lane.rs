//! A small number that a thread has to itself while it lives: what makes a counter or a magazine single-writer.
//!
//! The first threads that ask get one each, and give it back as they end. Later ones get none and use what all threads
//! share.

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

#[cfg(not(any(loom, shuttle)))]
mod real {
    use std::cell::Cell;
    use std::sync::atomic::{AtomicU32, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

    use super::LANES;

    pub const UNASKED: usize = LANES + 1;

    /// A bit for each number lent out.
    static LENT: AtomicU32 = AtomicU32::new(0);

    const _: () = assert!(LANES == u32::BITS as usize);

    thread_local! {
        /// Constant and without a destructor, hence to be had from the first moment of a thread to its last.
        pub static LANE: Cell<usize> = const { Cell::new(UNASKED) };
        /// Gives the number back.
        static LEASE: Lease = Lease::new();
    }

    struct Lease(Option<u32>);

    impl Lease {
        fn new() -> Self {
            let free = |lent: u32| (lent != u32::MAX).then_some(lent | (lent + 1));
            // Acquire pairs with the release in `drop`: what the number's last holder wrote is visible.
            let before = LENT.fetch_update(Acquire, Relaxed, free);
            Self(before.ok().map(u32::trailing_ones))
        }
    }

    impl Drop for Lease {
        fn drop(&mut self) {
            // Destructors that run after this one go without.
            LANE.set(LANES);
            if let Some(number) = self.0 {
                // Pairs with the acquire in `new`.
                LENT.fetch_and(!(1 << number), Release);
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

/// In a model the first thread that asks gets number 0, and so on.
#[cfg(loom)]
pub(crate) fn lane() -> usize {
    use std::cell::Cell;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    loom::lazy_static! {
        static ref NEXT: AtomicUsize = AtomicUsize::new(0);
    }
    loom::thread_local! {
        static LANE: Cell<Option<usize>> = Cell::new(None);
    }
    LANE.with(|lane| {
        let number = lane.get().unwrap_or_else(|| NEXT.fetch_add(1, Relaxed).min(LANES));
        lane.set(Some(number));
        number
    })
}

/// The same under random schedules.
#[cfg(shuttle)]
pub(crate) fn lane() -> usize {
    use std::cell::Cell;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    shuttle::lazy_static! {
        static ref NEXT: AtomicUsize = AtomicUsize::new(0);
    }
    shuttle::thread_local! {
        static LANE: Cell<Option<usize>> = Cell::new(None);
    }
    LANE.with(|lane| {
        let number = lane.get().unwrap_or_else(|| NEXT.fetch_add(1, Relaxed).min(LANES));
        lane.set(Some(number));
        number
    })
}
