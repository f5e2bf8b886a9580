//! The table of topics: small numbers for names, and who is in each topic.

use std::collections::HashMap;
use std::sync::Arc;

use crate::config::Config;
use crate::error::JoinError;
use crate::index::{PeerIndex, TopicIndex};
use crate::time::Moment;

/// Peers that messages go to on a topic that this node has not joined.
#[derive(Clone, Debug)]
pub(crate) struct Fanout {
    pub(crate) peers: Vec<PeerIndex>,
    /// When this node last published there.
    pub(crate) published: Moment,
}

/// One topic. Memory: its name twice over, about 200 bytes, and 8 bytes per peer in it.
#[derive(Clone, Debug)]
pub(crate) struct Topic {
    name: Arc<str>,
    /// Whether this node is in it.
    pub(crate) joined: bool,
    /// Subscribed peers that speak gossipsub and are not direct: those that may be in a mesh and are sent gossip.
    pub(crate) gossipers: Vec<PeerIndex>,
    /// Subscribed peers that are sent everything: direct ones, and those that speak floodsub only.
    pub(crate) always: Vec<PeerIndex>,
    /// Those of the gossipers that full messages go to.
    pub(crate) mesh: Vec<PeerIndex>,
    pub(crate) fanout: Option<Fanout>,
    /// Until then the topic is remembered even if nobody is in it, because backoffs and cached messages refer to it.
    pub(crate) lingers_until: Moment,
    /// Which score parameters it uses.
    pub(crate) params: usize,
}

impl Topic {
    fn new(name: Arc<str>, params: usize) -> Self {
        Self {
            name,
            joined: false,
            gossipers: Vec::new(),
            always: Vec::new(),
            mesh: Vec::new(),
            fanout: None,
            lingers_until: Moment::ZERO,
            params,
        }
    }

    fn is_unused(&self, now: Moment) -> bool {
        let is_empty = self.gossipers.is_empty() && self.always.is_empty() && self.fanout.is_none();
        !self.joined && is_empty && self.lingers_until <= now
    }
}

#[derive(Clone, Debug, Default)]
struct Place {
    generation: u16,
    topic: Option<Topic>,
}

/// All topics. Places are given out again when nobody is in a topic any more; the generation tells old indices apart.
#[derive(Clone, Debug, Default)]
pub(crate) struct Topics {
    places: Vec<Place>,
    free: Vec<u16>,
    by_name: HashMap<Arc<str>, TopicIndex>,
    joined: usize,
}

impl Topics {
    pub(crate) fn get(&self, index: TopicIndex) -> Option<&Topic> {
        let place = self.places.get(index.slot()).filter(|place| place.generation == index.generation)?;
        place.topic.as_ref()
    }

    pub(crate) fn get_mut(&mut self, index: TopicIndex) -> Option<&mut Topic> {
        let place = self.places.get_mut(index.slot()).filter(|place| place.generation == index.generation)?;
        place.topic.as_mut()
    }

    /// The topic, if this node is in it.
    pub(crate) fn joined(&self, index: TopicIndex) -> Option<&Topic> {
        self.get(index).filter(|topic| topic.joined)
    }

    pub(crate) fn find(&self, name: &str) -> Option<TopicIndex> {
        self.by_name.get(name).copied()
    }

    pub(crate) fn name(&self, index: TopicIndex) -> Option<&str> {
        self.get(index).map(|topic| &*topic.name)
    }

    pub(crate) fn len(&self) -> usize {
        self.by_name.len()
    }

    /// The indices of all topics, in the order of their places.
    pub(crate) fn index_at(&self, slot: usize) -> Option<TopicIndex> {
        let place = self.places.get(slot).filter(|place| place.topic.is_some())?;
        Some(TopicIndex { slot: slot as u16, generation: place.generation })
    }

    /// One more than the last place that was ever used.
    pub(crate) fn places(&self) -> usize {
        self.places.len()
    }

    /// This node enters the topic; tells whether it was outside before.
    pub(crate) fn join(&mut self, name: &str, config: &Config) -> Result<(TopicIndex, bool), JoinError> {
        let (bytes, bytes_max) = (name.len(), config.limits.topic_bytes_max);
        if bytes > bytes_max {
            return Err(JoinError::NameTooLong { bytes, bytes_max });
        }
        let joined_max = config.limits.joined_max;
        let known = self.find(name);
        if known.is_some_and(|index| self.joined(index).is_some()) {
            return Ok((known.expect("it was just found"), false));
        }
        if self.joined >= joined_max {
            return Err(JoinError::Full { joined_max });
        }
        let index = known.or_else(|| self.insert(name, config)).ok_or(JoinError::Full { joined_max })?;
        if let Some(topic) = self.get_mut(index) {
            topic.joined = true;
            self.joined += 1;
        }
        Ok((index, true))
    }

    /// This node has left the topic, which is remembered until `lingers_until`.
    pub(crate) fn leave(&mut self, index: TopicIndex, lingers_until: Moment) {
        if let Some(topic) = self.get_mut(index).filter(|topic| topic.joined) {
            topic.joined = false;
            topic.lingers_until = lingers_until;
            self.joined -= 1;
        }
    }

    /// The index of a topic that a peer has named. The places that this node may need for topics of its own are never given to
    /// those of peers.
    pub(crate) fn intern(&mut self, name: &str, config: &Config) -> Option<TopicIndex> {
        if let Some(index) = self.find(name) {
            return Some(index);
        }
        let others = self.len() - self.joined;
        let has_place = others < config.limits.topics_max - config.limits.joined_max;
        (has_place && name.len() <= config.limits.topic_bytes_max).then(|| self.insert(name, config)).flatten()
    }

    fn insert(&mut self, name: &str, config: &Config) -> Option<TopicIndex> {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None if self.places.len() < config.limits.topics_max => {
                self.places.push(Place::default());
                (self.places.len() - 1) as u16
            }
            None => return None,
        };
        let name: Arc<str> = name.into();
        let place = &mut self.places[usize::from(slot)];
        let index = TopicIndex { slot, generation: place.generation };
        place.topic = Some(Topic::new(name.clone(), config.score.index_of(&name)));
        self.by_name.insert(name, index);
        Some(index)
    }

    /// Forgets the topic if nobody is in it and nothing refers to it any more.
    pub(crate) fn forget_if_unused(&mut self, index: TopicIndex, now: Moment) {
        if self.get(index).is_none_or(|topic| !topic.is_unused(now)) {
            return;
        }
        let place = &mut self.places[index.slot()];
        if let Some(topic) = place.topic.take() {
            self.by_name.remove(&topic.name);
        }
        place.generation = place.generation.wrapping_add(1);
        self.free.push(index.slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> Config {
        let mut config = Config::default();
        config.limits.topics_max = 4;
        config.limits.joined_max = 2;
        config.limits.topic_bytes_max = 10;
        config
    }

    #[test]
    fn names_become_numbers_and_old_numbers_mean_nothing() {
        let (mut topics, config) = (Topics::default(), small());
        let first = topics.intern("a", &config).unwrap();
        assert_eq!((topics.find("a"), topics.name(first)), (Some(first), Some("a")));
        topics.forget_if_unused(first, Moment::ZERO);
        assert_eq!((topics.find("a"), topics.name(first), topics.len()), (None, None, 0));
        let second = topics.intern("b", &config).unwrap();
        assert_eq!(second.slot(), first.slot());
        assert_ne!(second, first);
        assert_eq!(topics.name(first), None);
    }

    #[test]
    fn topics_of_peers_leave_room_for_those_of_this_node() {
        let (mut topics, config) = (Topics::default(), small());
        assert!(topics.intern("a", &config).is_some() && topics.intern("b", &config).is_some());
        assert_eq!(topics.intern("c", &config), None);
        assert!(topics.join("d", &config).is_ok() && topics.join("e", &config).is_ok());
        assert_eq!(topics.join("f", &config), Err(JoinError::Full { joined_max: 2 }));
        assert_eq!(topics.len(), 4);
        assert_eq!(topics.join("d", &config).map(|(_, new)| new), Ok(false));
    }

    #[test]
    fn long_names_are_refused() {
        let (mut topics, config) = (Topics::default(), small());
        assert_eq!(topics.intern("12345678901", &config), None);
        assert_eq!(topics.join("12345678901", &config), Err(JoinError::NameTooLong { bytes: 11, bytes_max: 10 }));
    }

    #[test]
    fn a_topic_that_was_left_lingers() {
        let (mut topics, config) = (Topics::default(), small());
        let (index, _) = topics.join("a", &config).unwrap();
        topics.leave(index, Moment::from_nanos(10));
        topics.forget_if_unused(index, Moment::from_nanos(9));
        assert_eq!(topics.name(index), Some("a"));
        topics.forget_if_unused(index, Moment::from_nanos(10));
        assert_eq!(topics.name(index), None);
    }
}
