//! loom's atomics behind the interface of the standard ones. Each operation asks [`weaken`](crate::sync::weaken) what is
//! left of its ordering, by the place it is called from.

use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

use crate::sync::weaken::{self, Part};

/// What is left of the ordering of an operation that reads.
#[track_caller]
fn of_load(order: Ordering) -> Ordering {
    let acquires = matches!(order, Acquire | SeqCst);
    if acquires && !weaken::keeps(Part::Acquire) { Relaxed } else { order }
}

/// The same of one that writes.
#[track_caller]
fn of_store(order: Ordering) -> Ordering {
    weaken::comes_after_fence();
    let releases = matches!(order, Release | SeqCst);
    if releases && !weaken::keeps(Part::Release) { Relaxed } else { order }
}

/// The same of one that does both: each half of its ordering is weakened by itself.
#[track_caller]
fn of_exchange(order: Ordering) -> Ordering {
    weaken::comes_after_fence();
    let acquires = matches!(order, Acquire | AcqRel | SeqCst);
    let releases = matches!(order, Release | AcqRel | SeqCst);
    let kept = (acquires && weaken::keeps(Part::Acquire), releases && weaken::keeps(Part::Release));
    match kept {
        _ if kept == (acquires, releases) => order,
        (true, _) => Acquire,
        (_, true) => Release,
        _ => Relaxed,
    }
}

/// The same of an exchange that fails, and so only reads.
#[track_caller]
fn of_failure(order: Ordering) -> Ordering {
    let acquires = matches!(order, Acquire | SeqCst);
    if acquires && !weaken::keeps(Part::FailureAcquire) { Relaxed } else { order }
}

/// A stand-alone fence.
#[track_caller]
pub fn fence(order: Ordering) {
    if weaken::keeps(Part::Fence) && !weaken::fence_only_excludes() {
        loom::sync::atomic::fence(order);
    }
}

/// A number that no atomic holds in a model: an exchange that expects it only reads, and reads the latest value there is.
const NOWHERE: u8 = 0xa5;

macro_rules! atomic {
    ($name:ident, $value:ty, over $inner:ident, $raw:ty, $from_raw:expr) => {
        /// An atomic of loom's; each operation is as the standard one's.
        #[derive(Debug, Default)]
        pub struct $name(loom::sync::atomic::$inner);

        impl $name {
            /// A new atomic.
            #[track_caller]
            pub fn new(value: $value) -> Self {
                Self(loom::sync::atomic::$inner::new(<$raw>::from(value)))
            }

            /// Reads.
            #[track_caller]
            pub fn load(&self, order: Ordering) -> $value {
                let order = of_load(order);
                $from_raw(if weaken::comes_after_fence() {
                    let nowhere = <$raw>::from(NOWHERE);
                    self.0.compare_exchange(nowhere, nowhere, order, order).unwrap_or_else(|seen| seen)
                } else {
                    self.0.load(order)
                })
            }

            /// Writes.
            #[track_caller]
            pub fn store(&self, value: $value, order: Ordering) {
                self.0.store(<$raw>::from(value), of_store(order));
            }

            /// Writes, and gives what was there.
            #[track_caller]
            pub fn swap(&self, value: $value, order: Ordering) -> $value {
                $from_raw(self.0.swap(<$raw>::from(value), of_exchange(order)))
            }

            /// Writes if `current` is there.
            #[track_caller]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                let (current, new) = (<$raw>::from(current), <$raw>::from(new));
                let outcome = self.0.compare_exchange(current, new, of_exchange(success), of_failure(failure));
                outcome.map($from_raw).map_err($from_raw)
            }

            /// The same: loom has no failures without a cause.
            #[track_caller]
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.compare_exchange(current, new, success, failure)
            }

            /// Adds bits, and gives what was there.
            #[track_caller]
            pub fn fetch_or(&self, value: $value, order: Ordering) -> $value {
                $from_raw(self.0.fetch_or(<$raw>::from(value), of_exchange(order)))
            }

            /// Keeps bits, and gives what was there.
            #[track_caller]
            pub fn fetch_and(&self, value: $value, order: Ordering) -> $value {
                $from_raw(self.0.fetch_and(<$raw>::from(value), of_exchange(order)))
            }
        }
    };
}

macro_rules! integer {
    ($name:ident, $value:ty) => {
        atomic!($name, $value, over $name, $value, |raw: $value| raw);

        impl $name {
            /// Adds, and gives what was there.
            #[track_caller]
            pub fn fetch_add(&self, value: $value, order: Ordering) -> $value {
                self.0.fetch_add(value, of_exchange(order))
            }

            /// Subtracts, and gives what was there.
            #[track_caller]
            pub fn fetch_sub(&self, value: $value, order: Ordering) -> $value {
                self.0.fetch_sub(value, of_exchange(order))
            }

            /// Keeps the greater, and gives what was there.
            #[track_caller]
            pub fn fetch_max(&self, value: $value, order: Ordering) -> $value {
                self.0.fetch_max(value, of_exchange(order))
            }
        }
    };
}

atomic!(AtomicBool, bool, over AtomicU8, u8, |raw: u8| raw != 0);
integer!(AtomicU32, u32);
integer!(AtomicU64, u64);
integer!(AtomicUsize, usize);
