//! The two ends of the path under measurement: `feed` takes the next message while fewer than the window are in flight, and in
//! an open loop not before it is due; `collect` takes the time it took.
//!
//! Both are stages on the workers, so that no other thread runs while the clock does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::thread::Thread;
use std::time::{Duration, Instant};

use crossbeam::queue::ArrayQueue;
use levada_engine::{BatchLimit, Held, Stage, Waker};
use levada_stages::{Messages, Ports};
use levada_wire::hash::WINDOW;
use levada_wire::waku::{Verdict, WakuRecord};

use crate::micro::arrivals::Arrivals;

/// A message of the workload between two rounds.
pub type Message = Held<WakuRecord>;

/// A round in which nothing comes out for as long as this has lost a message: a batch on the slowest disk takes less.
pub const STALL_LIMIT: Duration = Duration::from_secs(60);

/// A round that measured nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RoundError {
    /// Messages came out that some stage had refused.
    #[error("{spoilt} of {messages} messages did not go the whole path; the measurement is void")]
    Spoilt {
        /// How many.
        spoilt: usize,
        /// Of how many.
        messages: usize,
    },
    /// Messages did not come out.
    #[error(
        "{missing} of {messages} messages are still inside the path, and none came out for {seconds} s; the measurement is void"
    )]
    Stalled {
        /// How long.
        seconds: u64,
        /// How many.
        missing: usize,
        /// Of how many.
        messages: usize,
    },
}

/// What the ends share with the thread that runs the benchmark.
#[derive(Debug)]
pub struct Round {
    base: Instant,
    window: usize,
    stall_limit: Duration,
    waiting: ArrayQueue<Message>,
    done: ArrayQueue<Message>,
    open: AtomicBool,
    in_flight: AtomicUsize,
    spoilt: AtomicUsize,
    unfinished: AtomicUsize,
    started_ns: AtomicU64,
    ended_ns: AtomicU64,
    latencies_ns: Box<[AtomicU64]>,
    /// In an open loop: when each message is due, by its number, and how many were taken. Written between rounds.
    is_open_loop: AtomicBool,
    due_ns: Box<[AtomicU64]>,
    taken: AtomicUsize,
    wakers: std::sync::OnceLock<Vec<Waker>>,
    runner: Thread,
}

impl Round {
    /// Rounds of at most `messages_max` messages, given up when nothing moves for `stall_limit`; the calling thread runs them.
    pub fn new(messages_max: usize, window: usize, stall_limit: Duration) -> Arc<Self> {
        Arc::new(Self {
            base: Instant::now(),
            window,
            stall_limit,
            waiting: ArrayQueue::new(messages_max.max(1)),
            done: ArrayQueue::new(messages_max.max(1)),
            open: AtomicBool::new(false),
            in_flight: AtomicUsize::new(0),
            spoilt: AtomicUsize::new(0),
            unfinished: AtomicUsize::new(0),
            started_ns: AtomicU64::new(0),
            ended_ns: AtomicU64::new(0),
            latencies_ns: (0..messages_max).map(|_| AtomicU64::new(0)).collect(),
            is_open_loop: AtomicBool::new(false),
            due_ns: (0..messages_max).map(|_| AtomicU64::new(0)).collect(),
            taken: AtomicUsize::new(0),
            wakers: std::sync::OnceLock::new(),
            runner: std::thread::current(),
        })
    }

    /// Says which workers feed; once, before the first round.
    pub fn bind(&self, wakers: Vec<Waker>) {
        self.wakers.get_or_init(|| wakers);
    }

    /// Sends `messages` through the path and waits until all came out; they are in `messages` again afterwards, in the
    /// order in which they came out. Returns the wall time in nanoseconds, from the first message taken to the last one done;
    /// with `arrivals`, from the start of their schedule.
    ///
    /// # Errors
    /// [`RoundError`] when a message came out that had not gone the whole path, or some did not come out at all.
    pub fn run(&self, messages: &mut Vec<Message>, arrivals: Option<&mut Arrivals>) -> Result<u64, RoundError> {
        let count = messages.len();
        self.unfinished.store(count, SeqCst);
        self.schedule(count, arrivals);
        for message in messages.drain(..) {
            self.waiting.push(message).expect("the queue was made for as many");
        }
        self.open.store(true, SeqCst);
        self.wake();
        self.wait(count)?;
        self.open.store(false, SeqCst);
        messages.extend(std::iter::from_fn(|| self.done.pop()));
        match self.spoilt.load(SeqCst) {
            0 => Ok(self.ended_ns.load(SeqCst) - self.started_ns.load(SeqCst)),
            spoilt => Err(RoundError::Spoilt { spoilt, messages: count }),
        }
    }

    /// Draws when each of `count` messages is due, from soon on.
    fn schedule(&self, count: usize, arrivals: Option<&mut Arrivals>) {
        self.is_open_loop.store(arrivals.is_some(), SeqCst);
        self.taken.store(0, SeqCst);
        let Some(arrivals) = arrivals else {
            self.started_ns.store(0, SeqCst);
            return;
        };
        arrivals.restart();
        let start_ns = self.now_ns() + LEAD_NS + count as u64 * DRAW_NS_MAX;
        self.due_ns[..count].iter().for_each(|due| due.store(start_ns + arrivals.next_ns(), Relaxed));
        self.started_ns.store(start_ns, SeqCst);
    }

    /// From the start of the last round's schedule to the arrival of the last of its `count` messages.
    pub fn scheduled_ns(&self, count: usize) -> u64 {
        self.due_ns[count - 1].load(Relaxed) - self.started_ns.load(SeqCst)
    }

    /// Sleeps until nothing of `count` messages is left inside.
    fn wait(&self, count: usize) -> Result<(), RoundError> {
        let (mut missing, mut moved) = (count, Instant::now());
        loop {
            match self.unfinished.load(SeqCst) {
                0 => return Ok(()),
                unfinished if unfinished < missing => (missing, moved) = (unfinished, Instant::now()),
                _ if moved.elapsed() >= self.stall_limit => {
                    let seconds = self.stall_limit.as_secs();
                    return Err(RoundError::Stalled { seconds, missing, messages: count });
                }
                _ => {}
            }
            std::thread::park_timeout(self.stall_limit);
        }
    }

    /// Nanoseconds each of the last round's first `count` messages took from being taken to being done.
    pub fn latencies_ns(&self, count: usize) -> impl Iterator<Item = u64> + '_ {
        self.latencies_ns[..count].iter().map(|latency| latency.load(Relaxed))
    }

    fn now_ns(&self) -> u64 {
        // Never zero: zero means that the round has not started.
        self.base.elapsed().as_nanos() as u64 + 1
    }

    fn wake(&self) {
        self.wakers.get().into_iter().flatten().for_each(Waker::wake);
    }

    /// What one worker may take of the window at once.
    fn share(&self) -> usize {
        let workers = self.wakers.get().map_or(1, Vec::len).max(1);
        self.window.div_ceil(workers)
    }

    /// Takes the next message if the window allows it and it is due.
    fn take(&self) -> Option<Message> {
        let one_more = |in_flight| (in_flight < self.window).then_some(in_flight + 1);
        self.in_flight.fetch_update(SeqCst, SeqCst, one_more).ok()?;
        let message = if self.claim_due() { self.waiting.pop() } else { None };
        if message.is_none() {
            self.in_flight.fetch_sub(1, SeqCst);
        }
        message
    }

    /// The next message may come in now; in an open loop its turn is used up.
    fn claim_due(&self) -> bool {
        if !self.is_open_loop.load(SeqCst) {
            return true;
        }
        let now = self.now_ns();
        let is_due = |number: usize| self.due_ns.get(number).is_some_and(|due| due.load(Relaxed) <= now);
        self.taken.fetch_update(SeqCst, SeqCst, |taken| is_due(taken).then_some(taken + 1)).is_ok()
    }

    /// When a message that was taken now arrived. In an open loop that is when it was due: what it waited outside counts.
    fn arrival_ns(&self, message: &Message, now: u64) -> u64 {
        if self.is_open_loop.load(SeqCst) {
            return self.due_ns[message.record().ticket as usize].load(Relaxed);
        }
        let _ = self.started_ns.compare_exchange(0, now, SeqCst, SeqCst);
        now
    }
}

/// From the drawing of a schedule to its start: time for parked workers to wake up, so that the first message does not count it.
const LEAD_NS: u64 = 1_000_000;

/// What drawing one arrival takes at most.
const DRAW_NS_MAX: u64 = 100;

/// Brings messages in.
#[derive(Debug)]
pub struct Feed(pub Arc<Round>);

impl Stage<WakuRecord> for Feed {
    fn ports(&self) -> &'static [&'static str] {
        &["next"]
    }

    fn process(&mut self, _batch: &mut Messages<'_>, _ports: &mut Ports<'_>) {}

    fn is_source(&self) -> bool {
        true
    }

    fn poll(&mut self, ports: &mut Ports<'_>) {
        let round = &self.0;
        if !round.open.load(SeqCst) {
            return;
        }
        let arena = ports.arena();
        let arriving = std::iter::from_fn(|| {
            let message = round.take()?;
            let arrived_ns = round.arrival_ns(&message, round.now_ns());
            let mut envelope = message.attach(arena).expect("the workload lies in the topology's arena");
            envelope.record_mut().expect("a waiting message has one handle").arrived_ns = arrived_ns;
            Some(envelope)
        });
        // As many as a batch of the stages behind takes, for more would only wait there; and no more than this worker's share
        // of the window, for the others have none to work on then.
        ports.send_all(0, arriving.take(WINDOW.min(round.share())));
    }

    /// In an open loop even before the next message is due: a worker that slept would count its own waking up.
    fn is_ready(&self) -> bool {
        let round = &self.0;
        round.open.load(SeqCst) && !round.waiting.is_empty() && round.in_flight.load(SeqCst) < round.window
    }
}

/// Takes messages out. The message's number is its ticket.
#[derive(Debug)]
pub struct Collect(pub Arc<Round>);

impl Stage<WakuRecord> for Collect {
    fn ports(&self) -> &'static [&'static str] {
        &[]
    }

    /// As much as the stages before it pass on: were it less, the window would open piece by piece.
    fn batch_limit(&self) -> BatchLimit {
        BatchLimit { envelopes: WINDOW, payload_bytes: usize::MAX }
    }

    fn process(&mut self, batch: &mut Messages<'_>, _ports: &mut Ports<'_>) {
        let round = &self.0;
        let finished = batch.len();
        batch.take_each(|envelope| {
            let record = envelope.record();
            if !(record.decoded && record.hashed && record.verdict == Verdict::Accept) {
                round.spoilt.fetch_add(1, SeqCst);
            }
            let now = round.now_ns();
            round.latencies_ns[record.ticket as usize].store(now - record.arrived_ns, Relaxed);
            round.ended_ns.fetch_max(now, SeqCst);
            round.done.push(envelope.hold()).expect("the queue was made for as many");
        });
        round.in_flight.fetch_sub(finished, SeqCst);
        if round.unfinished.fetch_sub(finished, SeqCst) == finished {
            round.runner.unpark();
        } else {
            round.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use levada_engine::{Arena, ArenaConfig, ClassConfig};

    use super::*;

    #[test]
    fn a_lost_message_ends_the_round() {
        let classes = vec![ClassConfig { payload_bytes: 128, slots: 2 }];
        let arena = Arena::new(&ArenaConfig { classes, huge_pages: false, prefault: false }).expect("two small slots");
        let round = Round::new(2, 1, Duration::ZERO);
        let mut messages: Vec<Message> =
            (0..2).map(|_| arena.claim(1).expect("a slot is free").share().hold()).collect();
        // No worker takes them.
        let outcome = round.run(&mut messages, None);
        assert_eq!(outcome, Err(RoundError::Stalled { seconds: 0, missing: 2, messages: 2 }));
        drop(round);
        assert_eq!(arena.slots_in_use(), 0);
    }
}
