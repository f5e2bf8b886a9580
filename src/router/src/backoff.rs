//! When a peer that was pruned may be grafted again.

use std::time::Duration;

use crate::index::TopicIndex;
use crate::time::Moment;

/// The backoffs between this node and one peer. They outlive the connection, so that a reconnect does not shorten them.
///
/// Memory: 16 bytes per topic, at most one per topic that this node has joined or left within the backoff.
#[derive(Clone, Debug, Default)]
pub(crate) struct Backoffs(Vec<(TopicIndex, Moment)>);

impl Backoffs {
    /// No graft before `until`. An earlier end than the present one changes nothing.
    pub(crate) fn extend(&mut self, topic: TopicIndex, until: Moment) {
        match self.0.iter_mut().find(|(known, _)| *known == topic) {
            Some((_, end)) => *end = until.max(*end),
            None => self.0.push((topic, until)),
        }
    }

    /// When the backoff ends, if there is one.
    pub(crate) fn until(&self, topic: TopicIndex) -> Option<Moment> {
        self.0.iter().find(|(known, _)| *known == topic).map(|(_, until)| *until)
    }

    /// Whether this node must not graft the peer yet. `slack` is what it waits on top of the backoff.
    pub(crate) fn bars(&self, topic: TopicIndex, now: Moment, slack: Duration) -> bool {
        self.until(topic).is_some_and(|until| until.after(slack) > now)
    }

    /// Forgets what is over.
    pub(crate) fn expire(&mut self, now: Moment, slack: Duration) {
        self.0.retain(|(_, until)| until.after(slack) > now);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backoff_is_extended_never_shortened_and_ends_after_the_slack() {
        let topic = TopicIndex { slot: 1, generation: 0 };
        let at = |seconds| Moment::ZERO.after(Duration::from_secs(seconds));
        let slack = Duration::from_secs(2);
        let mut backoffs = Backoffs::default();
        backoffs.extend(topic, at(60));
        backoffs.extend(topic, at(5));
        assert_eq!(backoffs.until(topic), Some(at(60)));
        assert!(backoffs.bars(topic, at(61), slack) && !backoffs.bars(topic, at(62), slack));
        backoffs.expire(at(61), slack);
        assert!(!backoffs.is_empty());
        backoffs.expire(at(62), slack);
        assert!(backoffs.is_empty());
    }
}
