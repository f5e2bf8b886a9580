//! What the engine counts, a line each.

use levada_engine::{Regime, TopologyStats};

/// How full each link is at this moment.
pub fn while_running(stats: &TopologyStats) {
    for link in &stats.links {
        println!("fill   {:<22} {:>6} of {} ({:.0} %)", link.name, link.depth(), link.capacity, 100.0 * link.fill());
    }
}

/// What each link, stage and worker has done.
pub fn at_the_end(stats: &TopologyStats) {
    for link in &stats.links {
        let (passed, dropped, full) = (link.passed_total(), link.dropped_total(), link.full_total());
        println!("link   {:<22} passed {passed} dropped {dropped} full {full}", link.name);
    }
    for stage in &stats.stages {
        let (envelopes, panics, restarts) = (stage.envelopes_total(), stage.panics_total(), stage.restarts_total());
        println!("stage  {:<22} envelopes {envelopes} panics {panics} restarts {restarts}", stage.name);
    }
    for worker in &stats.workers {
        let split = worker.time_split();
        let percent = |regime: Regime| format!("{} {:.2} %", regime.label(), 100.0 * split.fraction(regime));
        let parts = Regime::ALL.map(percent).join(" ");
        println!("worker {:<22} {parts} of {:.1} ms", worker.name, split.total_ns as f64 / 1e6);
    }
}
