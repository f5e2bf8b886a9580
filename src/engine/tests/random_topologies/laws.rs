//! What must hold of a topology that has run dry, by its own counters and by what its stages noted: nothing is lost on a
//! reliable link, and everything else that is lost is counted. The oracle has no part in this.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use levada_engine::{LinkStats, Policy, StageStats, TopologyStats};

use crate::draw::Plan;
use crate::faulty::Notes;

struct Counted<'a> {
    plan: &'a Plan,
    stats: &'a TopologyStats,
    notes: &'a [Arc<Notes>],
}

/// Checks all laws; `gone` are the sinks that were dropped before the end.
pub fn check(plan: &Plan, stats: &TopologyStats, notes: &[Arc<Notes>], gone: &[bool]) -> Result<(), String> {
    let counted = Counted { plan, stats, notes };
    (0..plan.stages.len()).try_for_each(|stage| counted.stage_took_all(stage))?;
    let places = plan.sources.len()..;
    for (place, link) in places.clone().zip(&plan.links) {
        counted.link_took_all(place, link.from, link.port, link.config.policy, false)?;
    }
    for ((place, sink), gone) in places.skip(plan.links.len()).zip(&plan.sinks).zip(gone) {
        counted.link_took_all(place, sink.from, sink.port, sink.config.policy, *gone)?;
    }
    Ok(())
}

impl Counted<'_> {
    fn stage(&self, stage: usize) -> &StageStats {
        let name = format!("s{stage}");
        self.stats.stages.iter().find(|stats| stats.name == name).expect("each stage has counters")
    }

    /// What its links delivered, the stage took, or the engine gave up for it: one envelope per panic at most.
    fn stage_took_all(&self, stage: usize) -> Result<(), String> {
        let delivered = |(place, policy): (usize, Policy)| {
            let link: &LinkStats = &self.stats.links[place];
            link.passed_total() - if policy == Policy::DropOldest { link.dropped_total() } else { 0 }
        };
        let sources = self.plan.sources.iter().enumerate().filter(|(_, source)| source.to == stage);
        let sources = sources.map(|(place, source)| (place, source.config().policy));
        let links = (self.plan.sources.len()..).zip(&self.plan.links).filter(|(_, link)| link.to == stage);
        let links = links.map(|(place, link)| (place, link.config.policy));
        let delivered: u64 = sources.chain(links).map(delivered).sum();
        let stats = self.stage(stage);
        if stats.envelopes_total() != delivered {
            return Err(format!("stage {stage} was given {delivered} envelopes and took {}", stats.envelopes_total()));
        }
        let taken = self.notes[stage].taken.load(Relaxed);
        let given_up = stats.envelopes_total().checked_sub(taken);
        if !self.plan.stages[stage].plain && given_up.is_none_or(|given_up| given_up > stats.panics_total()) {
            return Err(format!(
                "stage {stage} took {taken} of {delivered} and panicked {} times",
                stats.panics_total()
            ));
        }
        Ok(())
    }

    /// What the stage sent on a port, each link of the port passed on; what it did not, it counted as dropped, and a reliable
    /// link with a consumer drops nothing.
    fn link_took_all(&self, place: usize, from: usize, port: usize, policy: Policy, gone: bool) -> Result<(), String> {
        let sent = match self.plan.stages[from].plain {
            true => self.stage(from).envelopes_total(),
            false => self.notes[from].sent[port].load(Relaxed),
        };
        let link = &self.stats.links[place];
        let (passed, dropped) = (link.passed_total(), link.dropped_total());
        let lawful = match policy {
            // Both those that were dropped from the link and those that never came into it are counted as dropped.
            Policy::DropOldest if gone => passed <= sent && sent <= passed + dropped,
            Policy::DropOldest => passed == sent && dropped <= passed,
            Policy::Reliable if !gone => passed == sent && dropped == 0,
            Policy::Reliable | Policy::DropNewest => passed + dropped == sent,
        };
        if lawful {
            return Ok(());
        }
        Err(format!(
            "{sent} envelopes were sent on link {} ({policy:?}): {passed} passed, {dropped} dropped",
            link.name
        ))
    }
}
