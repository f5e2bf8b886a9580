//! What one peer has done in one topic.

use std::time::Duration;

use super::params::TopicScoreParams;
use crate::time::Moment;

/// The counters behind P1 to P4. 64 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct TopicScore {
    grafted: Option<Moment>,
    mesh_time: Duration,
    first_deliveries: f64,
    mesh_deliveries: f64,
    mesh_failure: f64,
    invalid: f64,
}

impl TopicScore {
    /// The peer has come into the mesh.
    pub(crate) fn graft(&mut self, now: Moment) {
        self.grafted = Some(now);
        self.mesh_time = Duration::ZERO;
    }

    /// The peer has left the mesh. A deficit in deliveries sticks (P3b).
    pub(crate) fn prune(&mut self, params: &TopicScoreParams, now: Moment) {
        self.pass_time(now);
        let deficit = self.deficit(params);
        self.mesh_failure += deficit * deficit;
        self.grafted = None;
        self.mesh_time = Duration::ZERO;
    }

    /// Takes over the time; it is read at heartbeats only.
    pub(crate) fn pass_time(&mut self, now: Moment) {
        if let Some(grafted) = self.grafted {
            self.mesh_time = now.since(grafted);
        }
    }

    /// The peer was the first to deliver a valid message.
    pub(crate) fn deliver_first(&mut self, params: &TopicScoreParams) {
        self.first_deliveries = (self.first_deliveries + 1.0).min(params.first_deliveries_cap);
        self.deliver_in_mesh(params);
    }

    /// The peer delivered a valid message at about the time of the first; it counts if it is in the mesh.
    pub(crate) fn deliver_in_mesh(&mut self, params: &TopicScoreParams) {
        if self.grafted.is_some() {
            self.mesh_deliveries = (self.mesh_deliveries + 1.0).min(params.mesh_deliveries_cap);
        }
    }

    /// The peer delivered an invalid message.
    pub(crate) fn deliver_invalid(&mut self) {
        self.invalid += 1.0;
    }

    fn deficit(&self, params: &TopicScoreParams) -> f64 {
        let is_active = self.grafted.is_some() && self.mesh_time > params.mesh_deliveries_activation;
        if is_active { (params.mesh_deliveries_threshold - self.mesh_deliveries).max(0.0) } else { 0.0 }
    }

    /// The topic's part of the score, its weight included.
    pub(crate) fn value(&self, params: &TopicScoreParams) -> f64 {
        let quanta = self.mesh_time.as_nanos() / params.time_in_mesh_quantum.as_nanos().max(1);
        let time_in_mesh = (quanta as f64).min(params.time_in_mesh_cap);
        let deficit = self.deficit(params);
        let sum = time_in_mesh * params.time_in_mesh_weight
            + self.first_deliveries * params.first_deliveries_weight
            + deficit * deficit * params.mesh_deliveries_weight
            + self.mesh_failure * params.mesh_failure_weight
            + self.invalid * self.invalid * params.invalid_weight;
        sum * params.weight
    }

    /// One decay interval has passed.
    pub(crate) fn decay(&mut self, params: &TopicScoreParams, to_zero: f64) {
        let counters = [
            (&mut self.first_deliveries, params.first_deliveries_decay),
            (&mut self.mesh_deliveries, params.mesh_deliveries_decay),
            (&mut self.mesh_failure, params.mesh_failure_decay),
            (&mut self.invalid, params.invalid_decay),
        ];
        for (counter, factor) in counters {
            decay(counter, factor, to_zero);
        }
    }

    /// Whether there is nothing to remember.
    pub(crate) fn is_blank(&self) -> bool {
        *self == Self::default()
    }
}

/// Multiplies a counter by its factor, and makes what is left of a small one zero.
pub(super) fn decay(counter: &mut f64, factor: f64, to_zero: f64) {
    *counter *= factor;
    if *counter < to_zero {
        *counter = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn at(seconds: u64) -> Moment {
        Moment::ZERO.after(Duration::from_secs(seconds))
    }

    /// Parameters under which every part counts, with numbers that a person can add up.
    fn all_parts() -> TopicScoreParams {
        TopicScoreParams {
            mesh_deliveries_weight: -2.0,
            mesh_deliveries_threshold: 4.0,
            mesh_failure_weight: -3.0,
            ..TopicScoreParams::default()
        }
    }

    #[test]
    fn time_in_mesh_counts_whole_quanta_up_to_the_cap() {
        let params = TopicScoreParams::default();
        let mut score = TopicScore::default();
        score.graft(at(100));
        assert_eq!(score.value(&params), 0.0);
        score.pass_time(at(103).after(SECOND / 2));
        assert_eq!(score.value(&params), 3.0 * 0.01);
        score.pass_time(at(1_000));
        assert_eq!(score.value(&params), 10.0 * 0.01);
        score.prune(&params, at(1_001));
        assert_eq!(score.value(&params), 0.0);
    }

    #[test]
    fn first_deliveries_are_capped_and_halve() {
        let params = TopicScoreParams::default();
        let mut score = TopicScore::default();
        (0..7).for_each(|_| score.deliver_first(&params));
        assert_eq!(score.value(&params), 7.0);
        (0..7).for_each(|_| score.deliver_first(&params));
        assert_eq!(score.value(&params), 10.0);
        score.decay(&params, 0.01);
        assert_eq!(score.value(&params), 5.0);
        // 10 / 2^10 = 0.0098, which is below 0.01.
        (0..9).for_each(|_| score.decay(&params, 0.01));
        assert_eq!(score.value(&params), 0.0);
        assert!(score.is_blank());
    }

    #[test]
    fn a_deficit_counts_squared_once_the_time_is_over() {
        let params = all_parts();
        let mut score = TopicScore::default();
        score.graft(at(0));
        score.deliver_in_mesh(&params);
        score.pass_time(at(10));
        assert_eq!(score.value(&params), 10.0 * 0.01, "not yet active");
        score.pass_time(at(11));
        // 4 - 1 = 3 too few: -2 · 9, and ten seconds at 0.01.
        assert_eq!(score.value(&params), 0.1 - 18.0);
        (0..3).for_each(|_| score.deliver_in_mesh(&params));
        assert_eq!(score.value(&params), 0.1);
    }

    #[test]
    fn a_deficit_at_the_prune_sticks() {
        let params = all_parts();
        let mut score = TopicScore::default();
        score.graft(at(0));
        score.deliver_in_mesh(&params);
        score.deliver_in_mesh(&params);
        score.prune(&params, at(20));
        // (4 - 2)² = 4, times -3.
        assert_eq!(score.value(&params), -12.0);
        score.decay(&params, 0.01);
        assert_eq!(score.value(&params), -6.0);
        score.deliver_in_mesh(&params);
        assert_eq!(score.value(&params), -6.0, "outside of the mesh nothing is delivered in it");
    }

    #[test]
    fn invalid_messages_count_squared() {
        let params = TopicScoreParams { weight: 0.5, ..TopicScoreParams::default() };
        let mut score = TopicScore::default();
        (0..3).for_each(|_| score.deliver_invalid());
        assert_eq!(score.value(&params), 9.0 * -100.0 * 0.5);
        score.decay(&params, 0.01);
        assert_eq!(score.value(&params), 2.25 * -100.0 * 0.5);
    }

    #[test]
    fn mesh_deliveries_are_capped() {
        let params = TopicScoreParams { mesh_deliveries_cap: 5.0, ..all_parts() };
        let mut score = TopicScore::default();
        score.graft(at(0));
        (0..50).for_each(|_| score.deliver_in_mesh(&params));
        score.pass_time(at(11));
        score.decay(&params, 0.01);
        // 5 / 2 = 2.5, which is 1.5 too few: -2 · 2.25.
        assert_eq!(score.value(&params), 0.1 - 4.5);
    }
}
