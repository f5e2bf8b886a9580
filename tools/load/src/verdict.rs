//! What must hold at the end.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use crate::filter::Subscriber;
use crate::ledger::{Ledger, Tally};
use crate::light::Light;
use crate::options::Options;
use crate::relay::RelayPeer;
use crate::run::say;
use crate::sample::Sample;

/// What a run came to.
pub struct Outcome<'a> {
    pub options: &'a Options,
    pub ledger: Arc<Ledger>,
    pub relay_peers: Vec<RelayPeer>,
    pub subscribers: Vec<Arc<Subscriber>>,
    pub light: Arc<Light>,
    /// What each node has stored.
    pub stored: [Tally; 2],
    pub samples: Vec<Sample>,
    pub restart: Restart,
}

/// How the restart went.
#[derive(Debug, Clone, Copy)]
pub struct Restart {
    /// When the node was told to stop, since the run began.
    pub stopped_ms: u64,
    /// When everybody was there again.
    pub back_ms: u64,
    /// From the start of the process to its line that says so.
    pub ready_ms: u64,
    /// It stopped in order.
    pub clean: bool,
}

/// Messages under way when a node stops may not reach it: those sent so long before.
const UNDER_WAY_MS: u64 = 1_000;

impl Outcome<'_> {
    /// Whether every receiver has everything, by now.
    pub fn is_whole(&self) -> bool {
        let sent = self.ledger.all_sent();
        sent.iter().all(|(number, _)| self.everybody_has(*number))
    }

    fn everybody_has(&self, number: u64) -> bool {
        self.missing_subscribers(number) == 0 && self.missing_relay_peers(number) == 0
    }

    fn missing_subscribers(&self, number: u64) -> usize {
        let wants = |subscriber: &&Arc<Subscriber>| subscriber.topic == number % self.options.content_topics;
        let lacks = |subscriber: &&Arc<Subscriber>| !subscriber.got.iter().any(|tally| tally.has(number));
        self.subscribers.iter().filter(wants).filter(lacks).count()
    }

    fn missing_relay_peers(&self, number: u64) -> usize {
        self.relay_peers.iter().filter(|peer| !peer.got.has(number) && !peer.published.has(number)).count()
    }

    /// Prints a line for each thing that must hold; whether all do.
    pub fn judge(&self) -> bool {
        let sent = self.ledger.all_sent();
        let missing = |of: &dyn Fn(u64) -> usize| sent.iter().map(|(number, _)| of(*number)).sum::<usize>();
        let lacks = |tally: &Tally, number: u64| usize::from(!tally.has(number));
        let Restart { stopped_ms, back_ms, ready_ms, clean } = self.restart;
        let away = stopped_ms.saturating_sub(UNDER_WAY_MS)..back_ms;
        let restarted = sent.iter().filter(|(_, ms)| !away.contains(ms));
        let restarted = restarted.map(|(number, _)| lacks(&self.stored[0], *number)).sum::<usize>();
        // What the node that stayed pushed. The other forgets at its restart what it has pushed before.
        let repeated: u64 = self.subscribers.iter().map(|subscriber| subscriber.got[1].repeated()).sum();
        let counters = &self.light.counters;
        let (pushed, queried) = (counters.pushed.load(Relaxed), counters.queried.load(Relaxed));
        let failed = counters.failed.load(Relaxed);
        let (before, after) = self.memory_mb();
        let growth_pct = (after - before) * 100.0 / before;
        say(&format!(
            "sent {} messages, {pushed} of them by lightpush, beside {queried} store queries; the restart took {} ms, {ready_ms} ms of \
             them to ready",
            sent.len(),
            back_ms - stopped_ms
        ));
        let lines = [
            (!sent.is_empty() && pushed > 0 && queried > 0, "something was asked of every service".to_owned()),
            count("deliveries to filter subscribers lost", missing(&|number| self.missing_subscribers(number))),
            count("deliveries to relay peers lost", missing(&|number| self.missing_relay_peers(number))),
            count("messages not stored by the node that stayed", missing(&|number| lacks(&self.stored[1], number))),
            count("messages of its time not stored by the node that was restarted", restarted),
            count("deliveries to filter subscribers repeated by the node that stayed", repeated as usize),
            count("lightpush requests and store queries failed", failed as usize),
            (clean, "the restarted node stopped in order".to_owned()),
            (
                growth_pct <= self.options.growth_pct_max as f64,
                format!(
                    "memory of the node that stayed: {before:.0} MB in its second quarter, {after:.0} MB in its last, {growth_pct:+.1} % \
                     (limit {} %)",
                    self.options.growth_pct_max
                ),
            ),
        ];
        lines.iter().for_each(|(holds, line)| say(&format!("{} {line}", if *holds { "holds:" } else { "FAILS:" })));
        lines.iter().all(|(holds, _)| *holds)
    }

    /// The medians of the second and of the last quarter, of the node that stayed.
    fn memory_mb(&self) -> (f64, f64) {
        let rss: Vec<f64> = self.samples.iter().filter_map(|sample| sample.rss_mb[1]).collect();
        let quarter = rss.len() / 4;
        let median = |part: &[f64]| {
            let mut part = part.to_vec();
            part.sort_by(f64::total_cmp);
            part.get(part.len() / 2).copied().unwrap_or(f64::NAN)
        };
        (median(&rss[quarter..2 * quarter]), median(&rss[3 * quarter..]))
    }
}

fn count(what: &str, number: usize) -> (bool, String) {
    (number == 0, format!("{what}: {number}"))
}
