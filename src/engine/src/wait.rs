//! Waiting without burning a core, and waking without losing a wake-up.
//!
//! A worker without work spins briefly, then yields, then parks. Before it parks it raises its sleep flag and looks
//! once more; whoever publishes looks at the flag afterwards. The two fences make one of them see the other.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::time::{Duration, Instant};

use crate::sync::{Arc, AtomicBool, Thread, current_thread, fence, park_timeout};

/// How a worker waits for work. One for the whole topology ([`TopologyBuilder::default_wait`](crate::TopologyBuilder::default_wait)), or
/// a worker's own ([`TopologyBuilder::wait`](crate::TopologyBuilder::wait)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wait {
    /// Never gives its core up. Lowest latency; refused at build when there are more workers than cores, or others on its core.
    Spin,
    /// Spins, yields for about as long as a wake-up takes, then sleeps. An idle worker uses next to no processor time.
    #[default]
    Balanced,
    /// Sleeps at once.
    Eco,
}

/// Rounds of `pause` before the first yield.
const SPIN_ROUNDS: u32 = 96;

/// A futex wake takes 25–35 µs: yielding as long as that costs at most twice the best choice.
const YIELD_NS_MAX: u64 = 40_000;

/// A parked worker looks around this often even when nobody wakes it: for housekeeping, and for stages that poll.
const PARK_MAX: Duration = Duration::from_millis(100);

/// A worker held up by a full link looks again after this long: consumers do not wake producers.
#[cfg(not(any(loom, shuttle)))]
const BLOCKED_PARK: Duration = Duration::from_micros(100);

/// The sleep of a worker that nobody wakes.
fn nap() {
    #[cfg(not(any(loom, shuttle)))]
    park_timeout(BLOCKED_PARK);
    #[cfg(any(loom, shuttle))]
    crate::sync::yield_now();
}

/// Raised by a worker about to sleep, lowered by whoever wakes it.
#[derive(Debug, Default)]
pub struct SleepFlag(AtomicBool);

impl SleepFlag {
    /// A lowered flag.
    pub fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// The sleeper: raise the flag, then look for work once more before sleeping.
    pub fn raise(&self) {
        // Release pairs with the exchange in `lower_if_raised`: the thread to wake is known to whoever wakes it.
        self.0.store(true, Release);
        // Pairs with the fence in `lower_if_raised`: either the waker sees the flag or the sleeper sees the work.
        fence(SeqCst);
    }

    /// The sleeper: found work after all, or woke by itself.
    pub fn lower(&self) {
        self.0.store(false, Relaxed);
    }

    /// The waker, after it published work: true when the sleeper must be woken, for one caller only.
    pub fn lower_if_raised(&self) -> bool {
        // Pairs with the fence in `raise`.
        fence(SeqCst);
        // Acquire pairs with the release store in `raise`.
        self.0.load(Relaxed) && self.0.compare_exchange(true, false, Acquire, Relaxed).is_ok()
    }
}

/// Wakes the consumer of a link.
#[derive(Clone)]
pub struct Waker(Arc<Target>);

enum Target {
    Worker { flag: SleepFlag, thread: OnceLock<Thread> },
    Callback(Box<dyn Fn() + Send + Sync>),
}

impl Waker {
    pub(crate) fn of_worker() -> Self {
        Self(Arc::new(Target::Worker { flag: SleepFlag::new(), thread: OnceLock::new() }))
    }

    /// A waker for a consumer outside the engine: `callback` runs on the publishing worker after each batch, so it must
    /// be short and must not block (setting an event, notifying a task). A panic in it is caught and changes nothing.
    pub fn from_callback(callback: impl Fn() + Send + Sync + 'static) -> Self {
        Self(Arc::new(Target::Callback(Box::new(callback))))
    }

    /// Tells the consumer that something was published.
    pub fn wake(&self) {
        match &*self.0 {
            Target::Callback(callback) => {
                // A worker publishes, and gives back what it holds, whatever the callback does.
                let _ = catch_unwind(AssertUnwindSafe(callback));
            }
            Target::Worker { flag, thread } => {
                if flag.lower_if_raised()
                    && let Some(thread) = thread.get()
                {
                    thread.unpark();
                }
            }
        }
    }

    /// Binds the waker to the calling thread, once.
    pub(crate) fn bind(&self) {
        if let Target::Worker { thread, .. } = &*self.0 {
            thread.get_or_init(current_thread);
        }
    }

    /// Sleeps until woken or for `limit`, unless `has_work` says there is something after the flag went up.
    fn park(&self, limit: Duration, has_work: impl FnOnce() -> bool) {
        if let Target::Worker { flag, .. } = &*self.0 {
            flag.raise();
            if !has_work() {
                park_timeout(limit);
            }
            flag.lower();
        }
    }
}

impl fmt::Debug for Waker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &*self.0 {
            Target::Worker { .. } => "Waker(worker)",
            Target::Callback(_) => "Waker(callback)",
        })
    }
}

/// One worker's waiting: counts idle rounds since the last work.
#[derive(Debug)]
pub(crate) struct Waiter {
    wait: Wait,
    waker: Waker,
    rounds: u32,
    idle_since: Option<Instant>,
}

impl Waiter {
    pub fn new(wait: Wait, waker: Waker) -> Self {
        Self { wait, waker, rounds: 0, idle_since: None }
    }

    /// The last turn did some work.
    pub fn worked(&mut self) {
        self.rounds = 0;
        self.idle_since = None;
    }

    /// The last turn did nothing; `blocked` when only for want of room downstream.
    pub fn idle(&mut self, blocked: bool, has_work: impl FnOnce() -> bool) {
        self.rounds = self.rounds.saturating_add(1);
        if self.wait == Wait::Spin || (self.wait == Wait::Balanced && self.rounds <= SPIN_ROUNDS) {
            std::hint::spin_loop();
            return;
        }
        let since = *self.idle_since.get_or_insert_with(Instant::now);
        if self.wait == Wait::Balanced && (since.elapsed().as_nanos() as u64) < YIELD_NS_MAX {
            std::thread::yield_now();
        } else if blocked {
            nap();
        } else {
            self.waker.park(PARK_MAX, has_work);
        }
    }
}
