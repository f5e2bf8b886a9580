//! What is seen from outside, each second.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use tokio::time::interval;

use crate::filter::Subscriber;
use crate::ledger::{Ledger, lock};
use crate::light::Light;

/// The processes of the two nodes; none while one is away.
pub type Pids = std::sync::Mutex<[Option<u32>; 2]>;

/// One second.
#[derive(Debug, Clone, Default)]
pub struct Sample {
    /// Since the run began.
    pub second: f64,
    /// Resident memory of each node, in MB; none while it is away.
    pub rss_mb: [Option<f64>; 2],
    /// Messages sent in this second.
    pub sent: u64,
    /// Messages that subscribers were pushed in this second, by both nodes.
    pub pushed: u64,
    /// From sender to subscriber.
    pub latency_ms_p50: f64,
    /// As before.
    pub latency_ms_p99: f64,
    /// The last store query.
    pub query_ms: f64,
}

/// Whom is looked at.
pub struct Watched {
    pub ledger: Arc<Ledger>,
    pub subscribers: Vec<Arc<Subscriber>>,
    pub light: Arc<Light>,
    pub pids: Arc<Pids>,
}

impl Watched {
    /// Looks each second, until the task is ended, and tells what it saw.
    pub async fn watch(self, mut told: impl FnMut(Sample)) {
        let mut ticks = interval(Duration::from_secs(1));
        ticks.tick().await;
        let (mut sent_before, mut pushed_before) = (0, 0);
        loop {
            ticks.tick().await;
            let (sent, pushed) = (self.ledger.sent_total(), self.pushed());
            let mut latencies = self.ledger.take_latencies_us();
            latencies.sort_unstable();
            let at = |part: f64| {
                let place = (latencies.len().saturating_sub(1) as f64 * part) as usize;
                latencies.get(place).map_or(0.0, |us| f64::from(*us) / 1e3)
            };
            let pids = *lock(&self.pids);
            told(Sample {
                second: self.ledger.now_ms() as f64 / 1e3,
                rss_mb: pids.map(|pid| rss_mb(pid?)),
                sent: sent - sent_before,
                pushed: pushed - pushed_before,
                latency_ms_p50: at(0.5),
                latency_ms_p99: at(0.99),
                query_ms: self.light.counters.query_us.load(Relaxed) as f64 / 1e3,
            });
            (sent_before, pushed_before) = (sent, pushed);
        }
    }

    fn pushed(&self) -> u64 {
        self.subscribers.iter().flat_map(|subscriber| &subscriber.got).map(|tally| tally.got()).sum()
    }
}

/// Resident memory of a process, in MB; none if it is gone.
fn rss_mb(pid: u32) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: f64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib * 1_024.0 / 1e6)
}
