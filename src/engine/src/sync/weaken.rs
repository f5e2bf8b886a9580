//! Models are worth what they catch: here a test tells the atomics which ordering to forget, and learns which there are.
//!
//! The settings belong to a thread. loom runs all threads of a model on the thread that runs the test, so that tests side
//! by side do not disturb each other.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::panic::Location;

/// The part of an operation's ordering that publishes or receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// What a load, or the reading half of an exchange, receives.
    Acquire,
    /// What a store, or the writing half of an exchange, publishes.
    Release,
    /// What a failed exchange receives.
    FailureAcquire,
    /// A stand-alone fence as a whole.
    Fence,
}

/// One part of one operation in the source. loom takes sequentially consistent operations for acquiring and releasing
/// ones, so these are the parts of theirs too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Site {
    /// The file as the compiler names it.
    pub file: &'static str,
    /// Counted from 1.
    pub line: u32,
    /// Counted from 1.
    pub column: u32,
    /// What of the ordering.
    pub part: Part,
}

/// How a model is to run.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// These parts are left out.
    pub weakened: BTreeSet<Site>,
    /// A fence does not publish anything: the thread's next load reads the latest value there is, and that is all.
    ///
    /// Two threads that each raise a flag, pass a fence and look at the other's flag are still never both let in; but
    /// whatever they tell each other beyond must be released and acquired by the flags.
    pub fences_only_exclude: bool,
}

thread_local! {
    static SETTINGS: RefCell<Settings> = RefCell::default();
    static MET: RefCell<BTreeSet<Site>> = const { RefCell::new(BTreeSet::new()) };
    static AFTER_FENCE: Cell<bool> = const { Cell::new(false) };
}

/// Runs `body` under `settings`; the parts it met, weakened ones too. If `body` panics, the settings stay: apply others.
pub fn apply(settings: Settings, body: impl FnOnce()) -> BTreeSet<Site> {
    SETTINGS.set(settings);
    MET.take();
    AFTER_FENCE.set(false);
    body();
    SETTINGS.take();
    MET.take()
}

/// Whether the caller's caller keeps a part of its ordering.
#[track_caller]
pub(super) fn keeps(part: Part) -> bool {
    let place = Location::caller();
    let site = Site { file: place.file(), line: place.line(), column: place.column(), part };
    MET.with_borrow_mut(|met| met.insert(site));
    SETTINGS.with_borrow(|settings| !settings.weakened.contains(&site))
}

/// Whether a fence does less than it says; if so, it has happened.
pub(super) fn fence_only_excludes() -> bool {
    let only = SETTINGS.with_borrow(|settings| settings.fences_only_exclude);
    AFTER_FENCE.set(only);
    only
}

/// Whether the thread's next operation is the first after such a fence; it is not any more when this returns.
pub(super) fn comes_after_fence() -> bool {
    AFTER_FENCE.replace(false)
}
