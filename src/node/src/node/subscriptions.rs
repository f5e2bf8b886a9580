//! Which pubsub topics the node takes part in, and for whose sake.
//!
//! A topic is joined for its own sake (configuration, REST) or for content topics that shard to it; it is left when
//! neither is the case any more.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use levada_net::{NetHandle, SubscribeError};
use levada_stages::event::{EventCache, Interest};
use levada_wire::waku::TopicTable;
use levada_wire::waku::topics::PubsubTopic;
use tokio::sync::{Mutex, watch};

use crate::node::sync_fill::Wanted;
use crate::rest::{Topic, TopicError};

/// Content topics REST clients may subscribe to together.
const CONTENT_TOPICS_MAX: usize = 10_000;

/// The longest of them, in bytes.
const CONTENT_TOPIC_BYTES_MAX: usize = 1_024;

/// The subscriptions, and what follows from them in the relay and in the REST cache.
pub struct Subscriptions {
    net: NetHandle,
    topics: Arc<TopicTable>,
    events: Arc<EventCache>,
    /// What enters the stored messages of a topic into the sync index, if there is an archive.
    stored: Option<Wanted>,
    joined: Mutex<HashMap<PubsubTopic, Reasons>>,
    /// The shards of these topics, for whoever tells the world of them.
    shards: watch::Sender<BTreeSet<u16>>,
}

#[derive(Debug, Default)]
struct Reasons {
    own_sake: bool,
    content_topics: HashSet<String>,
}

impl Subscriptions {
    /// None yet.
    pub fn new(net: NetHandle, topics: Arc<TopicTable>, events: Arc<EventCache>, stored: Option<Wanted>) -> Self {
        Self { net, topics, events, stored, joined: Mutex::default(), shards: watch::Sender::default() }
    }

    /// The shards that the node takes part in, now and whenever they change.
    pub fn shards(&self) -> watch::Receiver<BTreeSet<u16>> {
        self.shards.subscribe()
    }

    fn tell_shards(&self, joined: &HashMap<PubsubTopic, Reasons>) {
        let shards: BTreeSet<u16> = joined.keys().map(|topic| topic.shard).collect();
        self.shards.send_if_modified(|told| {
            let changed = *told != shards;
            *told = shards;
            changed
        });
    }

    /// The number of a topic that the node takes part in.
    pub async fn number(&self, topic: PubsubTopic) -> Option<u32> {
        self.joined.lock().await.get(&topic)?;
        self.topics.find(&topic.to_string())
    }

    /// Subscribes to `topic`, which content topics stand for at shard `shard`.
    pub async fn subscribe(&self, topic: &Topic, shard: PubsubTopic) -> Result<(), TopicError> {
        let mut joined = self.joined.lock().await;
        let contents: usize = joined.values().map(|reasons| reasons.content_topics.len()).sum();
        if let Topic::Content(content_topic) = topic {
            let held = joined.get(&shard).is_some_and(|reasons| reasons.content_topics.contains(content_topic));
            if contents >= CONTENT_TOPICS_MAX && !held {
                let text = format!(
                    "the node holds its maximum of {CONTENT_TOPICS_MAX} content topics; unsubscribe some first"
                );
                return Err(TopicError::Unavailable(text));
            }
            if content_topic.len() > CONTENT_TOPIC_BYTES_MAX {
                let text = format!("a content topic has at most {CONTENT_TOPIC_BYTES_MAX} bytes; shorten it");
                return Err(TopicError::Unavailable(text));
            }
        }
        let name = shard.to_string();
        let number = self.topics.intern(&name).map_err(|error| TopicError::Unavailable(error.to_string()))?;
        if !joined.contains_key(&shard) {
            self.net.subscribe(&name).await.map_err(unavailable)?;
            self.stored.iter().for_each(|stored| stored.fill(&name));
        }
        let reasons = joined.entry(shard).or_default();
        match topic {
            Topic::Pubsub(_) => {
                reasons.own_sake = true;
                self.events.open(Interest::Topic(number));
            }
            Topic::Content(content_topic) => {
                reasons.content_topics.insert(content_topic.clone());
                self.events.open(Interest::ContentTopic(number, content_topic));
            }
        }
        self.tell_shards(&joined);
        Ok(())
    }

    /// Ends the subscription to `topic`, and leaves the shard when it was the last reason for it.
    pub async fn unsubscribe(&self, topic: &Topic, shard: PubsubTopic) -> Result<(), TopicError> {
        let mut joined = self.joined.lock().await;
        let (Some(reasons), Some(number)) = (joined.get_mut(&shard), self.topics.find(&shard.to_string())) else {
            return Ok(());
        };
        match topic {
            Topic::Pubsub(_) => {
                reasons.own_sake = false;
                self.events.close(Interest::Topic(number));
            }
            Topic::Content(content_topic) => {
                reasons.content_topics.remove(content_topic);
                self.events.close(Interest::ContentTopic(number, content_topic));
            }
        }
        if !reasons.own_sake && reasons.content_topics.is_empty() {
            self.net.unsubscribe(&shard.to_string()).await.map_err(unavailable)?;
            joined.remove(&shard);
            self.tell_shards(&joined);
        }
        Ok(())
    }
}

fn unavailable(error: SubscribeError) -> TopicError {
    match error {
        SubscribeError::Stopped => TopicError::ShuttingDown,
        error => TopicError::Unavailable(error.to_string()),
    }
}
