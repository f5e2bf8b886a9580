//! Weights, caps and decays of the score, with Waku's values.

use std::net::IpAddr;
use std::time::Duration;

use crate::error::ConfigError;

/// P1 to P4 of one topic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TopicScoreParams {
    /// How much the topic counts.
    pub weight: f64,
    /// P1: weight of the time in the mesh.
    pub time_in_mesh_weight: f64,
    /// The time that makes one point.
    pub time_in_mesh_quantum: Duration,
    /// The most points.
    pub time_in_mesh_cap: f64,
    /// P2: weight of messages that the peer delivered first.
    pub first_deliveries_weight: f64,
    /// What is left of them after a decay interval.
    pub first_deliveries_decay: f64,
    /// The most that count.
    pub first_deliveries_cap: f64,
    /// P3: weight of the deficit in deliveries within the mesh. Zero in Waku, whose traffic is too uneven for it.
    pub mesh_deliveries_weight: f64,
    /// What is left of the deliveries after a decay interval.
    pub mesh_deliveries_decay: f64,
    /// Deliveries below which there is a deficit.
    pub mesh_deliveries_threshold: f64,
    /// The most that count.
    pub mesh_deliveries_cap: f64,
    /// Time in the mesh before a deficit counts.
    pub mesh_deliveries_activation: Duration,
    /// How long after the verdict a copy still counts as delivered.
    pub mesh_deliveries_window: Duration,
    /// P3b: weight of deficits at the time of pruning. Zero in Waku.
    pub mesh_failure_weight: f64,
    /// What is left of them after a decay interval.
    pub mesh_failure_decay: f64,
    /// P4: weight of the square of invalid messages.
    pub invalid_weight: f64,
    /// What is left of their number after a decay interval.
    pub invalid_decay: f64,
}

impl Default for TopicScoreParams {
    fn default() -> Self {
        Self {
            weight: 1.0,
            time_in_mesh_weight: 0.01,
            time_in_mesh_quantum: Duration::from_secs(1),
            time_in_mesh_cap: 10.0,
            first_deliveries_weight: 1.0,
            first_deliveries_decay: 0.5,
            first_deliveries_cap: 10.0,
            mesh_deliveries_weight: 0.0,
            mesh_deliveries_decay: 0.5,
            mesh_deliveries_threshold: 1.0,
            mesh_deliveries_cap: 10.0,
            mesh_deliveries_activation: Duration::from_secs(10),
            mesh_deliveries_window: Duration::from_millis(5),
            mesh_failure_weight: 0.0,
            mesh_failure_decay: 0.5,
            invalid_weight: -100.0,
            invalid_decay: 0.5,
        }
    }
}

/// The whole score.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoreParams {
    /// What every topic uses that is not in the next list.
    pub topic: TopicScoreParams,
    /// Topics that count differently, by name.
    pub topics: Vec<(String, TopicScoreParams)>,
    /// The most that all topics together may add; 0 for no cap, as in Waku.
    pub topics_cap: f64,
    /// P5: weight of the number that the application gives. Zero in Waku.
    pub app_weight: f64,
    /// P6: weight of the square of the peers too many at one IP address.
    pub ip_colocation_weight: f64,
    /// Peers at one address that are not too many.
    pub ip_colocation_threshold: u32,
    /// Addresses where any number may be, as a loopback or an own proxy. Empty in Waku.
    pub ip_colocation_exempt: Vec<IpAddr>,
    /// P7: weight of the square of misbehaviour.
    pub behaviour_weight: f64,
    /// Misbehaviour that is not counted.
    pub behaviour_threshold: f64,
    /// What is left of it after a decay interval.
    pub behaviour_decay: f64,
    /// What a GRAFT before its time adds to P7.
    pub graft_penalty: f64,
    /// What an announced message that never came adds to P7. nwaku keeps no promises; the value is go-libp2p-pubsub's.
    pub promise_penalty: f64,
    /// The time between decays.
    pub decay_interval: Duration,
    /// Below this a number that decays is zero.
    pub decay_to_zero: f64,
    /// How long the score of a peer that has left is kept.
    pub retain: Duration,
}

impl Default for ScoreParams {
    fn default() -> Self {
        Self {
            topic: TopicScoreParams::default(),
            topics: Vec::new(),
            topics_cap: 0.0,
            app_weight: 0.0,
            ip_colocation_weight: -50.0,
            ip_colocation_threshold: 5,
            ip_colocation_exempt: Vec::new(),
            behaviour_weight: -10.0,
            behaviour_threshold: 0.0,
            behaviour_decay: 0.986,
            graft_penalty: 0.1,
            promise_penalty: 1.0,
            decay_interval: Duration::from_secs(12),
            decay_to_zero: 0.01,
            retain: Duration::from_secs(600),
        }
    }
}

impl ScoreParams {
    /// The parameters that the topic `name` uses, as a number for [`ScoreParams::of_topic`].
    pub(crate) fn index_of(&self, name: &str) -> usize {
        self.topics.iter().position(|(topic, _)| topic == name).map_or(0, |at| at + 1)
    }

    /// The parameters for a number from [`ScoreParams::index_of`].
    pub(crate) fn of_topic(&self, index: usize) -> &TopicScoreParams {
        index.checked_sub(1).and_then(|at| self.topics.get(at)).map_or(&self.topic, |(_, params)| params)
    }

    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        negative("ip_colocation_weight", self.ip_colocation_weight)?;
        negative("behaviour_weight", self.behaviour_weight)?;
        positive("app_weight", self.app_weight)?;
        positive("topics_cap", self.topics_cap)?;
        factor("behaviour_decay", self.behaviour_decay)?;
        factor("decay_to_zero", self.decay_to_zero)?;
        if self.ip_colocation_threshold == 0 || self.decay_interval.is_zero() {
            let name = if self.decay_interval.is_zero() { "decay_interval" } else { "ip_colocation_threshold" };
            return Err(ConfigError::Limit { name, value: 0, value_max: u32::MAX as usize });
        }
        self.topics.iter().map(|(_, params)| params).chain([&self.topic]).try_for_each(TopicScoreParams::check)
    }
}

impl TopicScoreParams {
    fn check(&self) -> Result<(), ConfigError> {
        positive("weight", self.weight)?;
        positive("time_in_mesh_weight", self.time_in_mesh_weight)?;
        positive("first_deliveries_weight", self.first_deliveries_weight)?;
        negative("mesh_deliveries_weight", self.mesh_deliveries_weight)?;
        negative("mesh_failure_weight", self.mesh_failure_weight)?;
        negative("invalid_weight", self.invalid_weight)?;
        factor("first_deliveries_decay", self.first_deliveries_decay)?;
        factor("mesh_deliveries_decay", self.mesh_deliveries_decay)?;
        factor("mesh_failure_decay", self.mesh_failure_decay)?;
        factor("invalid_decay", self.invalid_decay)?;
        if self.time_in_mesh_quantum.is_zero() {
            return Err(ConfigError::Limit { name: "time_in_mesh_quantum", value: 0, value_max: u32::MAX as usize });
        }
        // A cap below the threshold would make every peer fail.
        positive("mesh_deliveries_cap less its threshold", self.mesh_deliveries_cap - self.mesh_deliveries_threshold)
    }
}

fn positive(name: &'static str, value: f64) -> Result<(), ConfigError> {
    if value >= 0.0 { Ok(()) } else { Err(ConfigError::Weight { name, value }) }
}

fn negative(name: &'static str, value: f64) -> Result<(), ConfigError> {
    if value <= 0.0 { Ok(()) } else { Err(ConfigError::Weight { name, value }) }
}

fn factor(name: &'static str, value: f64) -> Result<(), ConfigError> {
    if (0.0..=1.0).contains(&value) { Ok(()) } else { Err(ConfigError::Factor { name, value }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_and_factors_are_checked() {
        let broken = |change: fn(&mut ScoreParams)| {
            let mut params = ScoreParams::default();
            assert_eq!(params.check(), Ok(()));
            change(&mut params);
            params.check().unwrap_err()
        };
        assert!(matches!(broken(|p| p.ip_colocation_weight = 1.0), ConfigError::Weight { .. }));
        assert!(matches!(broken(|p| p.topic.invalid_weight = 1.0), ConfigError::Weight { .. }));
        assert!(matches!(broken(|p| p.topic.invalid_weight = f64::NAN), ConfigError::Weight { .. }));
        assert!(matches!(broken(|p| p.behaviour_decay = 1.1), ConfigError::Factor { .. }));
        assert!(matches!(broken(|p| p.topic.mesh_deliveries_cap = 0.5), ConfigError::Weight { .. }));
        assert!(matches!(broken(|p| p.ip_colocation_threshold = 0), ConfigError::Limit { .. }));
        assert!(matches!(broken(|p| p.decay_interval = Duration::ZERO), ConfigError::Limit { .. }));
        assert!(matches!(broken(|p| p.topic.time_in_mesh_quantum = Duration::ZERO), ConfigError::Limit { .. }));
        assert!(matches!(
            broken(|p| p.topics.push(("a".into(), TopicScoreParams { weight: -1.0, ..p.topic }))),
            ConfigError::Weight { .. }
        ));
    }

    #[test]
    fn a_topic_of_its_own_is_found_by_name() {
        let own = TopicScoreParams { weight: 0.5, ..TopicScoreParams::default() };
        let params = ScoreParams { topics: vec![("own".into(), own)], ..ScoreParams::default() };
        assert_eq!(params.of_topic(params.index_of("own")).weight, 0.5);
        assert_eq!(params.of_topic(params.index_of("other")).weight, 1.0);
    }
}
