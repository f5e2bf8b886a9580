//! The node as its REST interface sees it.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use levada_archive::{Page, Query};
use levada_engine::Held;
use levada_net::{Multiaddr, NetHandle};
use levada_stages::event::{EventCache, Interest};
use levada_wire::waku::sharding::pubsub_topic_of;
use levada_wire::waku::topics::PubsubTopic;
use levada_wire::waku::{TopicTable, WakuRecord};
use tokio::time::timeout;

use crate::node::discovery::Discovery;
use crate::node::filter_client::Subscriber;
use crate::node::health::{self, Parts};
use crate::node::in_order;
use crate::node::ingress::Ingress;
use crate::node::light_clients::LightClients;
use crate::node::operator::Operator;
use crate::node::publish::{self, SizeLimits, Tickets};
use crate::node::resume::ResumeCounters;
use crate::node::store::Store;
use crate::node::subscriptions::Subscriptions;
use crate::rest::{
    Admin, Backend, CachedMessage, FilterClient, Health, HealthState, Info, LightpushVersion, NotSubscribed,
    PublishError, PublishMessage, Published, PushError, QueryError, Topic, TopicError,
};

/// Everything REST asks of the node.
pub struct NodeBackend {
    /// Filter's client side.
    pub filter_client: Subscriber,
    /// Where published messages enter.
    pub ingress: Arc<Ingress>,
    /// Who waits for them.
    pub tickets: Arc<Tickets>,
    /// The REST cache.
    pub events: Arc<EventCache>,
    /// The pubsub topics and their numbers.
    pub topics: Arc<TopicTable>,
    /// What the node takes part in.
    pub subscriptions: Arc<Subscriptions>,
    /// The archive's readers; `None` without an archive.
    pub store: Option<Store>,
    /// What is fetched from other archives.
    pub resumed: Arc<ResumeCounters>,
    /// The network.
    pub net: NetHandle,
    /// The cluster of every topic.
    pub cluster_id: u16,
    /// Shards for autosharding; 0 for static sharding.
    pub num_shards_in_network: u16,
    /// Largest encoded message, in bytes.
    pub message_bytes_max: usize,
    /// Whether relay is on.
    pub relay: bool,
    /// Who asks services.
    pub clients: LightClients,
    /// What operators may do, if they may.
    pub operator: Option<Operator>,
    /// Who signs the node's record, once it is there.
    pub discovery: Option<Arc<Discovery>>,
}

impl NodeBackend {
    /// The shard of a topic that a REST client names, if this network has it.
    fn shard_of(&self, topic: &Topic) -> Result<PubsubTopic, TopicError> {
        match topic {
            Topic::Content(content_topic) => self.autoshard(content_topic),
            Topic::Pubsub(topic) => {
                let shards = if self.num_shards_in_network == 0 { SHARDS_MAX } else { self.num_shards_in_network };
                let in_network = topic.shard < shards;
                if topic.cluster == self.cluster_id && in_network {
                    Ok(*topic)
                } else {
                    Err(TopicError::Invalid { topics: vec![topic.to_string()] })
                }
            }
        }
    }

    /// The shards of all topics; one error names every topic that has none.
    fn shards_of(&self, topics: &[Topic]) -> Result<Vec<(Topic, PubsubTopic)>, TopicError> {
        let mut invalid = Vec::new();
        let mut shards = Vec::new();
        for topic in topics {
            match self.shard_of(topic) {
                Ok(shard) => shards.push((topic.clone(), shard)),
                Err(TopicError::Invalid { topics }) => invalid.extend(topics),
                Err(error) => return Err(error),
            }
        }
        if invalid.is_empty() { Ok(shards) } else { Err(TopicError::Invalid { topics: invalid }) }
    }

    /// Subscribes to all of `topics`, or ends their subscriptions.
    async fn change(&self, topics: &[Topic], subscribe: bool) -> Result<(), TopicError> {
        let shards = self.shards_of(topics)?;
        let subscriptions = self.subscriptions.clone();
        // A task of its own, so that a client that hangs up does not leave router and table at odds.
        let work = async move {
            for (topic, shard) in shards {
                if subscribe {
                    subscriptions.subscribe(&topic, shard).await?;
                } else {
                    subscriptions.unsubscribe(&topic, shard).await?;
                }
            }
            Ok(())
        };
        tokio::spawn(work).await.unwrap_or(Err(TopicError::ShuttingDown))
    }
}

impl Backend for NodeBackend {
    fn publish(
        &self,
        pubsub_topic: PubsubTopic,
        message: PublishMessage,
    ) -> BoxFuture<'_, Result<Published, PublishError>> {
        async move {
            if !self.relay {
                return Err(PublishError::Invalid(RELAY_OFF.to_owned()));
            }
            let Some(topic) = self.subscriptions.number(pubsub_topic).await else {
                return Err(PublishError::NotSubscribed { topic: pubsub_topic.to_string() });
            };
            let limits = SizeLimits {
                message_bytes_max: self.message_bytes_max,
                on_topic_bytes_max: self.net.message_bytes_max(&pubsub_topic.to_string()),
            };
            publish::publish(&self.ingress, &self.tickets, topic, message, limits).await
        }
        .boxed()
    }

    fn subscribe<'a>(&'a self, topics: &'a [Topic]) -> BoxFuture<'a, Result<(), TopicError>> {
        self.change(topics, true).boxed()
    }

    fn unsubscribe<'a>(&'a self, topics: &'a [Topic]) -> BoxFuture<'a, Result<(), TopicError>> {
        self.change(topics, false).boxed()
    }

    fn take_messages(&self, topic: &Topic) -> Result<Vec<CachedMessage>, NotSubscribed> {
        let shard = self.shard_of(topic).map_err(|_| NotSubscribed)?;
        let number = self.topics.find(&shard.to_string()).ok_or(NotSubscribed)?;
        let interest = match topic {
            Topic::Pubsub(_) => Interest::Topic(number),
            Topic::Content(content_topic) => Interest::ContentTopic(number, content_topic),
        };
        let taken = self.events.take(interest).ok_or(NotSubscribed)?;
        Ok(taken.iter().map(cached_message).collect())
    }

    fn autoshard(&self, content_topic: &str) -> Result<PubsubTopic, TopicError> {
        if self.num_shards_in_network == 0 {
            let text =
                "this node uses static sharding; name the pubsub topic, or start it with --num-shards-in-network";
            return Err(TopicError::Unavailable(text.to_owned()));
        }
        pubsub_topic_of(content_topic, self.cluster_id, self.num_shards_in_network)
            .map_err(|_| TopicError::Invalid { topics: vec![content_topic.to_owned()] })
    }

    fn query(&self, query: Query) -> BoxFuture<'_, Result<Page, QueryError>> {
        match &self.store {
            Some(store) => store.query(query).boxed(),
            None => async move { self.clients.query_any(&query).await }.boxed(),
        }
    }

    fn filter(&self) -> &dyn FilterClient {
        &self.filter_client
    }

    fn query_peer(&self, peer: Multiaddr, query: Query) -> BoxFuture<'_, Result<Page, QueryError>> {
        async move { self.clients.query_at(peer, &query).await }.boxed()
    }

    fn push(
        &self,
        version: LightpushVersion,
        pubsub_topic: Option<String>,
        message: PublishMessage,
    ) -> BoxFuture<'_, Result<u32, PushError>> {
        self.clients.push(version, pubsub_topic, message).boxed()
    }

    fn health(&self) -> BoxFuture<'_, Health> {
        async move {
            // A network that does not answer in time is too busy to serve.
            let census = timeout(CENSUS_TIME_MAX, self.net.census()).await;
            let node = match &census {
                _ if self.ingress.is_closed() => HealthState::ShuttingDown,
                Ok(_) => HealthState::Ready,
                Err(_) => HealthState::EventLoopLagging,
            };
            let (census, served) = (census.unwrap_or_default(), self.net.exchange().protocols());
            let (store, resuming) = (self.store.is_some(), self.resumed.is_running());
            let parts = Parts { relay: self.relay, store, resuming, served: &served, census: &census };
            let protocols = match node {
                HealthState::ShuttingDown => health::all_in(node, parts.protocols()),
                // Relay serves publishers and the archive without peers, so the node as a whole is ready.
                _ => parts.protocols(),
            };
            Health { node, connection: parts.connection(), protocols }
        }
        .boxed()
    }

    fn admin(&self) -> Option<&dyn Admin> {
        self.operator.as_ref().map(|operator| operator as &dyn Admin)
    }

    fn info(&self) -> Info {
        let mut addresses = in_order(self.net.announced_addresses());
        let external = self.net.external_addresses();
        addresses.sort_by_key(|address| !external.contains(address));
        let listen_addresses = addresses.iter().map(ToString::to_string).collect();
        let enr_uri = self.discovery.as_ref().map(|discovery| discovery.record().to_string()).unwrap_or_default();
        Info { listen_addresses, enr_uri }
    }
}

const RELAY_OFF: &str = "relay is off on this node; start it with --relay=true";

/// Shards of a cluster (51/WAKU2-RELAY-SHARDING).
const SHARDS_MAX: u16 = 1_024;

/// How long the network may take to say who is connected.
const CENSUS_TIME_MAX: Duration = Duration::from_secs(2);

pub fn cached_message(held: &Held<WakuRecord>) -> CachedMessage {
    let (data, record) = (held.payload(), held.record());
    let meta = record.meta.of(data);
    CachedMessage {
        payload: record.payload.of(data).to_vec(),
        content_topic: String::from_utf8_lossy(record.content_topic.of(data)).into_owned(),
        version: record.version,
        timestamp_ns: record.timestamp,
        meta: (!meta.is_empty()).then(|| meta.to_vec()),
        ephemeral: record.ephemeral,
        proof: record.proof.of(data).to_vec(),
    }
}
