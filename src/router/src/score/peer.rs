//! The whole score of one peer.

use super::params::ScoreParams;
use super::topic::{self, TopicScore};
use crate::index::TopicIndex;
use crate::time::Moment;
use crate::topics::Topics;

/// Topics that are kept of a peer that has left; beyond them the least bad are forgotten.
const RETAINED_TOPICS_MAX: usize = 16;

/// What is known of a peer's behaviour, and the score that follows from it.
///
/// Memory: 72 bytes per topic that the peer has delivered in or that it was in the mesh of, at most one per joined topic; after
/// it has left, at most [`RETAINED_TOPICS_MAX`].
#[derive(Clone, Debug, Default)]
pub(crate) struct PeerScore {
    topics: Vec<(TopicIndex, TopicScore)>,
    behaviour: f64,
    app: f64,
    value: f64,
}

impl PeerScore {
    /// The score at the last [`PeerScore::refresh`].
    pub(crate) fn value(&self) -> f64 {
        self.value
    }

    /// The counters of a topic, made if there are none.
    pub(crate) fn topic(&mut self, topic: TopicIndex) -> &mut TopicScore {
        let at = self.topics.iter().position(|(known, _)| *known == topic).unwrap_or_else(|| {
            self.topics.push((topic, TopicScore::default()));
            self.topics.len() - 1
        });
        &mut self.topics[at].1
    }

    /// Adds misbehaviour (P7).
    pub(crate) fn penalise(&mut self, amount: f64) {
        self.behaviour += amount;
    }

    /// Sets what the application thinks of the peer (P5). What is not a number counts nothing.
    pub(crate) fn set_app(&mut self, app: f64) {
        self.app = if app.is_finite() { app } else { 0.0 };
    }

    /// Computes the score anew. `neighbours` are the peers at this peer's address, itself included.
    pub(crate) fn refresh(&mut self, params: &ScoreParams, topics: &Topics, neighbours: u32) {
        let of_topics = |(topic, score): &(TopicIndex, TopicScore)| {
            topics.get(*topic).map_or(0.0, |known| score.value(params.of_topic(known.params)))
        };
        let mut value: f64 = self.topics.iter().map(of_topics).sum();
        if params.topics_cap > 0.0 {
            value = value.min(params.topics_cap);
        }
        let surplus = f64::from(neighbours.saturating_sub(params.ip_colocation_threshold));
        let misbehaviour = (self.behaviour - params.behaviour_threshold).max(0.0);
        self.value = value
            + self.app * params.app_weight
            + surplus * surplus * params.ip_colocation_weight
            + misbehaviour * misbehaviour * params.behaviour_weight;
    }

    /// Takes over the time, as [`TopicScore::pass_time`] does.
    pub(crate) fn pass_time(&mut self, now: Moment) {
        self.topics.iter_mut().for_each(|(_, score)| score.pass_time(now));
    }

    /// One decay interval has passed. Topics without anything to remember are dropped, and those that are no more.
    pub(crate) fn decay(&mut self, params: &ScoreParams, topics: &Topics) {
        self.topics.retain_mut(|(topic, score)| {
            let Some(known) = topics.get(*topic) else { return false };
            score.decay(params.of_topic(known.params), params.decay_to_zero);
            !score.is_blank()
        });
        topic::decay(&mut self.behaviour, params.behaviour_decay, params.decay_to_zero);
    }

    /// The peer has left: keeps the topics that count most against it.
    pub(crate) fn retire(&mut self, params: &ScoreParams, topics: &Topics) {
        self.topics.retain(|(topic, score)| !score.is_blank() && topics.get(*topic).is_some());
        if self.topics.len() > RETAINED_TOPICS_MAX {
            let value = |(topic, score): &(TopicIndex, TopicScore)| {
                topics.get(*topic).map_or(0.0, |known| score.value(params.of_topic(known.params)))
            };
            self.topics.sort_unstable_by(|a, b| value(a).total_cmp(&value(b)));
            self.topics.truncate(RETAINED_TOPICS_MAX);
        }
        self.topics.shrink_to_fit();
    }

    /// Whether there is nothing to remember.
    pub(crate) fn is_blank(&self) -> bool {
        self.topics.is_empty() && self.behaviour == 0.0 && self.app == 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::score::TopicScoreParams;

    fn topics(config: &Config, names: &[&str]) -> (Topics, Vec<TopicIndex>) {
        let mut topics = Topics::default();
        let indices = names.iter().map(|name| topics.join(name, config).unwrap().0).collect();
        (topics, indices)
    }

    #[test]
    fn the_parts_add_up() {
        let mut config = Config::default();
        config.score.app_weight = 2.0;
        config.score.topics.push(("half".into(), TopicScoreParams { weight: 0.5, ..TopicScoreParams::default() }));
        let (topics, indices) = topics(&config, &["whole", "half"]);
        let mut score = PeerScore::default();
        (0..4).for_each(|_| score.topic(indices[0]).deliver_first(&config.score.topic));
        (0..2).for_each(|_| score.topic(indices[1]).deliver_invalid());
        score.set_app(3.0);
        score.penalise(0.1);
        score.penalise(0.2);
        score.refresh(&config.score, &topics, 7);
        // 4, then 0.5 · 4 · -100, then 2 · 3, then (7 - 5)² · -50, then 0.3² · -10.
        let expected = 4.0 - 200.0 + 6.0 - 200.0 - 0.9;
        assert!((score.value() - expected).abs() < 1e-9, "{} is not {expected}", score.value());
    }

    #[test]
    fn all_topics_together_are_capped_above_only() {
        let mut config = Config::default();
        config.score.topics_cap = 12.0;
        let (topics, indices) = topics(&config, &["a", "b"]);
        let mut score = PeerScore::default();
        for topic in &indices {
            (0..10).for_each(|_| score.topic(*topic).deliver_first(&config.score.topic));
        }
        score.refresh(&config.score, &topics, 1);
        assert_eq!(score.value(), 12.0);
        score.topic(indices[0]).deliver_invalid();
        score.refresh(&config.score, &topics, 1);
        assert_eq!(score.value(), 20.0 - 100.0);
    }

    #[test]
    fn misbehaviour_decays_slowly_and_below_the_threshold_counts_nothing() {
        let mut config = Config::default();
        let (topics, _) = topics(&config, &[]);
        let mut score = PeerScore::default();
        score.penalise(2.0);
        score.decay(&config.score, &topics);
        score.refresh(&config.score, &topics, 1);
        assert!((score.value() - -10.0 * (2.0_f64 * 0.986).powi(2)).abs() < 1e-9);
        config.score.behaviour_threshold = 1.9;
        score.refresh(&config.score, &topics, 1);
        assert!((score.value() - -10.0 * (2.0_f64 * 0.986 - 1.9).powi(2)).abs() < 1e-9);
        config.score.behaviour_threshold = 3.0;
        score.refresh(&config.score, &topics, 1);
        assert_eq!(score.value(), 0.0);
    }

    #[test]
    fn five_peers_at_one_address_are_free_and_the_sixth_is_not() {
        let config = Config::default();
        let (topics, _) = topics(&config, &[]);
        let mut score = PeerScore::default();
        for (neighbours, expected) in [(1, 0.0), (5, 0.0), (6, -50.0), (7, -200.0), (10, -1_250.0)] {
            score.refresh(&config.score, &topics, neighbours);
            assert_eq!(score.value(), expected, "{neighbours} neighbours");
        }
    }

    #[test]
    fn a_peer_that_leaves_is_remembered_for_its_worst_topics() {
        let config = Config::default();
        let names: Vec<String> = (0..40).map(|number| format!("topic {number}")).collect();
        let (topics, indices) = topics(&config, &names.iter().map(String::as_str).collect::<Vec<_>>());
        let mut score = PeerScore::default();
        for (number, topic) in indices.iter().enumerate() {
            (0..number % 8).for_each(|_| score.topic(*topic).deliver_invalid());
        }
        score.retire(&config.score, &topics);
        assert_eq!(score.topics.len(), RETAINED_TOPICS_MAX);
        score.refresh(&config.score, &topics, 1);
        // Five topics each with 7, 6 and 5 invalid messages, and one with 4.
        assert_eq!(score.value(), -100.0 * f64::from(5 * (49 + 36 + 25) + 16));
    }

    #[test]
    fn an_application_score_that_is_no_number_counts_nothing() {
        let mut config = Config::default();
        config.score.app_weight = 1.0;
        let (topics, _) = topics(&config, &[]);
        let mut score = PeerScore::default();
        score.set_app(f64::NAN);
        score.refresh(&config.score, &topics, 1);
        assert_eq!(score.value(), 0.0);
        assert!(score.is_blank());
    }
}
