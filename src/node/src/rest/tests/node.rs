//! A node without a network: what is published is cached and archived at once.

use std::collections::{HashSet, VecDeque};
use std::sync::Mutex;

use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use levada_archive::{Archive, ArchiveMessage, MemoryArchive, Page, Query};
use levada_net::{Census, Multiaddr};
use levada_wire::hash::message_hash;
use levada_wire::waku::sharding::pubsub_topic_of;
use levada_wire::waku::topics::PubsubTopic;

use super::filter::FakeFilter;
use crate::config::LogLevel;
use crate::rest::{
    Admin, Backend, CachedMessage, ConnectionStatus, FilterClient, FilterSubscriber, Health, HealthState, Info,
    LightpushVersion, NotSubscribed, ProtocolHealth, PublishError, PublishMessage, Published, PushError, QueryError,
    Topic, TopicError,
};

const MESSAGE_BYTES_MAX: usize = 153_600;

/// The node under test; a field that holds an error makes the calls it belongs to fail with it.
#[derive(Default)]
pub(super) struct MemoryNode {
    pub(super) publish_error: Option<PublishError>,
    pub(super) topic_error: Option<TopicError>,
    pub(super) publish_hangs: bool,
    pub(super) query_error: Mutex<Option<QueryError>>,
    pub(super) push_error: Option<PushError>,
    /// What was pushed, by which version, and on which topic.
    pub(super) pushed: Mutex<Vec<(LightpushVersion, Option<String>, PublishMessage)>>,
    /// Where store nodes were asked.
    pub(super) asked: Mutex<Vec<String>>,
    /// What operators see; without it they may nothing.
    pub(super) operated: Option<Operated>,
    pub(super) archive: Shelf,
    pub(super) filter: FakeFilter,
    pub(super) relay: Mutex<Relay>,
}

/// What operators see and do.
#[derive(Default)]
pub(super) struct Operated {
    pub(super) census: Census,
    pub(super) relay_off: bool,
    pub(super) connect_error: Option<String>,
    pub(super) connected: Mutex<Vec<String>>,
    pub(super) subscribers: Option<Vec<FilterSubscriber>>,
    pub(super) log_error: Option<String>,
    pub(super) log_level: Mutex<Option<LogLevel>>,
}

impl Admin for Operated {
    fn census(&self) -> BoxFuture<'_, Census> {
        ready(self.census.clone()).boxed()
    }

    fn relays(&self) -> bool {
        !self.relay_off
    }

    fn connect(&self, address: Multiaddr) -> BoxFuture<'_, Result<(), String>> {
        self.connected.lock().expect("no test panics here").push(address.to_string());
        ready(self.connect_error.clone().map_or(Ok(()), Err)).boxed()
    }

    fn filter_subscriptions(&self) -> Option<Vec<FilterSubscriber>> {
        self.subscribers.clone()
    }

    fn set_log_level(&self, level: LogLevel) -> Result<(), String> {
        *self.log_level.lock().expect("no test panics here") = Some(level);
        self.log_error.clone().map_or(Ok(()), Err)
    }
}

#[derive(Default)]
pub(super) struct Relay {
    topics: HashSet<Topic>,
    cache: VecDeque<(PubsubTopic, CachedMessage)>,
}

/// A memory archive with room for every test.
pub(super) struct Shelf(Mutex<MemoryArchive>);

impl Default for Shelf {
    fn default() -> Self {
        Self(Mutex::new(MemoryArchive::new(1 << 20)))
    }
}

impl Shelf {
    fn insert(&self, hash: [u8; 32], pubsub_topic: &str, message: &CachedMessage) {
        let stored = ArchiveMessage {
            hash,
            pubsub_topic,
            content_topic: &message.content_topic,
            payload: &message.payload,
            version: message.version,
            timestamp: message.timestamp_ns,
            meta: message.meta.as_deref().unwrap_or_default(),
        };
        let mut archive = self.0.lock().expect("no test panics here");
        archive.insert_batch(&mut std::iter::once(stored)).expect("memory has no file to fail");
    }

    fn query(&self, query: &Query) -> Result<Page, QueryError> {
        let reader = self.0.lock().expect("no test panics here").reader();
        Ok(reader?.query(query)?)
    }
}

impl MemoryNode {
    /// What this node takes for the present, in nanoseconds since the epoch.
    pub(super) const NOW_NS: i64 = 1_700_000_000_000_000_000;

    /// A node that takes part in `/waku/2/rs/0/0` and in `/app/1/name/proto`.
    pub(super) fn taking_part() -> Self {
        let node = Self::default();
        let topics =
            [Topic::Pubsub(PubsubTopic { cluster: 0, shard: 0 }), Topic::Content("/app/1/name/proto".to_owned())];
        node.change(&topics, |all, topic| {
            all.insert(topic.clone());
        })
        .expect("no error was asked for");
        node
    }
}

fn shard_of(content_topic: &str) -> Result<PubsubTopic, TopicError> {
    let invalid = |_| TopicError::Invalid { topics: vec![content_topic.to_owned()] };
    pubsub_topic_of(content_topic, 0, 8).map_err(invalid)
}

fn covers(topic: &Topic, pubsub_topic: PubsubTopic) -> bool {
    match topic {
        Topic::Pubsub(topic) => *topic == pubsub_topic,
        Topic::Content(topic) => shard_of(topic) == Ok(pubsub_topic),
    }
}

impl MemoryNode {
    fn publish_now(&self, pubsub_topic: PubsubTopic, message: PublishMessage) -> Result<Published, PublishError> {
        if let Some(error) = &self.publish_error {
            return Err(error.clone());
        }
        let mut relay = self.relay.lock().expect("no test panics here");
        if !relay.topics.iter().any(|topic| covers(topic, pubsub_topic)) {
            return Err(PublishError::NotSubscribed { topic: pubsub_topic.to_string() });
        }
        if message.payload.len() + message.content_topic.len() > MESSAGE_BYTES_MAX {
            return Err(PublishError::TooLarge { limit_bytes: MESSAGE_BYTES_MAX });
        }
        let message = CachedMessage {
            payload: message.payload,
            content_topic: message.content_topic,
            version: message.version,
            timestamp_ns: message.timestamp_ns.unwrap_or(Self::NOW_NS),
            meta: message.meta,
            ephemeral: message.ephemeral,
            proof: message.proof.unwrap_or_default(),
        };
        let topic = pubsub_topic.to_string();
        let meta = message.meta.as_deref().unwrap_or_default();
        let message_hash = message_hash(&topic, &message.payload, &message.content_topic, meta, message.timestamp_ns);
        self.archive.insert(message_hash, &topic, &message);
        relay.cache.push_back((pubsub_topic, message));
        Ok(Published { message_hash })
    }

    fn change(&self, topics: &[Topic], change: fn(&mut HashSet<Topic>, &Topic)) -> Result<(), TopicError> {
        match &self.topic_error {
            Some(error) => Err(error.clone()),
            None => {
                let mut relay = self.relay.lock().expect("no test panics here");
                topics.iter().for_each(|topic| change(&mut relay.topics, topic));
                Ok(())
            }
        }
    }
}

impl Backend for MemoryNode {
    fn publish(
        &self,
        pubsub_topic: PubsubTopic,
        message: PublishMessage,
    ) -> BoxFuture<'_, Result<Published, PublishError>> {
        if self.publish_hangs {
            return futures::future::pending().boxed();
        }
        ready(self.publish_now(pubsub_topic, message)).boxed()
    }

    fn subscribe<'a>(&'a self, topics: &'a [Topic]) -> BoxFuture<'a, Result<(), TopicError>> {
        ready(self.change(topics, |all, topic| {
            all.insert(topic.clone());
        }))
        .boxed()
    }

    fn unsubscribe<'a>(&'a self, topics: &'a [Topic]) -> BoxFuture<'a, Result<(), TopicError>> {
        ready(self.change(topics, |all, topic| {
            all.remove(topic);
        }))
        .boxed()
    }

    fn take_messages(&self, topic: &Topic) -> Result<Vec<CachedMessage>, NotSubscribed> {
        let mut relay = self.relay.lock().expect("no test panics here");
        if !relay.topics.contains(topic) {
            return Err(NotSubscribed);
        }
        let matches = |(pubsub_topic, message): &(PubsubTopic, CachedMessage)| match topic {
            Topic::Pubsub(topic) => topic == pubsub_topic,
            Topic::Content(topic) => *topic == message.content_topic,
        };
        let (taken, kept): (VecDeque<_>, _) = std::mem::take(&mut relay.cache).into_iter().partition(matches);
        relay.cache = kept;
        Ok(taken.into_iter().map(|(_, message)| message).collect())
    }

    fn autoshard(&self, content_topic: &str) -> Result<PubsubTopic, TopicError> {
        self.topic_error.clone().map_or_else(|| shard_of(content_topic), Err)
    }

    fn query(&self, query: Query) -> BoxFuture<'_, Result<Page, QueryError>> {
        let error = self.query_error.lock().expect("no test panics here").take();
        ready(error.map_or_else(|| self.archive.query(&query), Err)).boxed()
    }

    fn filter(&self) -> &dyn FilterClient {
        &self.filter
    }

    fn query_peer(&self, peer: Multiaddr, query: Query) -> BoxFuture<'_, Result<Page, QueryError>> {
        self.asked.lock().expect("no test panics here").push(peer.to_string());
        self.query(query)
    }

    fn push(
        &self,
        version: LightpushVersion,
        pubsub_topic: Option<String>,
        message: PublishMessage,
    ) -> BoxFuture<'_, Result<u32, PushError>> {
        self.pushed.lock().expect("no test panics here").push((version, pubsub_topic, message));
        ready(self.push_error.clone().map_or(Ok(3), Err)).boxed()
    }

    fn admin(&self) -> Option<&dyn Admin> {
        self.operated.as_ref().map(|operated| operated as &dyn Admin)
    }

    fn health(&self) -> BoxFuture<'_, Health> {
        let protocol = |name, state, description| ProtocolHealth { name, state, description };
        ready(Health {
            node: HealthState::Ready,
            connection: ConnectionStatus::Disconnected,
            protocols: vec![
                protocol("Relay", HealthState::NotReady, Some("no peer is connected".to_owned())),
                protocol("Store", HealthState::Ready, None),
                protocol("Filter", HealthState::NotMounted, None),
            ],
        })
        .boxed()
    }

    fn info(&self) -> Info {
        Info { listen_addresses: vec!["/ip4/127.0.0.1/tcp/60000/p2p/16Uiu2".to_owned()], enr_uri: "enr:-x".to_owned() }
    }
}
