//! What the shuttle tests share: the schedules, and the engine's way to sleep.

use std::time::Duration;

use levada_engine::SleepFlag;
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::sync::Arc;
use shuttle::thread::{self, Thread};
use shuttle::{Config, Runner};

/// Schedules with as many preemptions as the bugs that PCT finds need.
const PREEMPTIONS: usize = 3;

/// Runs `body` under random schedules and under PCT (Burckhardt et al., 2010), ten times as many with `LEVADA_DEEP=1`. A
/// failure prints the schedule, and how to replay it.
pub fn check(body: impl Fn() + Send + Sync + Clone + 'static) {
    let schedules = if std::env::var_os("LEVADA_DEEP").is_some_and(|deep| deep == "1") { 20_000 } else { 2_000 };
    run(RandomScheduler::new_from_seed(1, schedules), body.clone());
    run(PctScheduler::new_from_seed(1, PREEMPTIONS, schedules), body);
}

fn run(scheduler: impl Scheduler + 'static, body: impl Fn() + Send + Sync + 'static) {
    const TIME_MAX: Duration = Duration::from_secs(600);
    let mut config = Config::new();
    config.max_time = Some(TIME_MAX);
    // Orderings are loom's business: every operation is sequentially consistent here.
    config.silence_warnings = true;
    Runner::new(scheduler, config).run(body);
}

/// A thread that sleeps until it is woken, by the engine's own handshake.
#[derive(Clone)]
pub struct Sleeper {
    flag: Arc<SleepFlag>,
    thread: Thread,
}

impl Sleeper {
    /// Of the calling thread.
    pub fn current() -> Self {
        Self { flag: Arc::new(SleepFlag::new()), thread: thread::current() }
    }

    /// The sleeper itself, having found nothing to do.
    pub fn sleep_unless(&self, has_work: impl FnOnce() -> bool) {
        self.flag.raise();
        if has_work() {
            // Perhaps it is still on its way in: a schedule that lets nobody else go on would never end.
            thread::yield_now();
        } else {
            thread::park();
        }
        self.flag.lower();
    }

    /// Whoever published something.
    pub fn wake(&self) {
        if self.flag.lower_if_raised() {
            self.thread.unpark();
        }
    }
}
