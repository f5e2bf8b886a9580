//! The side that subscribes: asks a service node, and takes what it pushes.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use levada_wire::error::ServiceError;
use levada_wire::waku::filter::{
    FilterSubscribeRequest, FilterSubscribeResponse, FilterSubscribeType, PUSH_PROTOCOL, RESPONSE_BYTES_MAX,
    SUBSCRIBE_PROTOCOL,
};
use libp2p::PeerId;

use super::counters::FilterCounters;
use super::reading;
use crate::exchange::{AlreadyServed, Exchange, RequestError};
use crate::inbound::Inbound;

/// Push streams that a service node may have open, as js-waku lets it: some open a new one for each push.
const STREAMS_PER_PEER_MAX: u32 = 100;
/// Service nodes that are trusted to push.
const SERVICE_NODES_MAX: usize = 1_024;

/// Why a service node did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FilterError {
    /// There is no answer.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The answer is none.
    #[error("the service node's answer cannot be read: {0}")]
    Response(#[from] ServiceError),
    /// The answer is to another request.
    #[error("the service node answered the request {answered:?} instead of {asked:?}")]
    OtherRequest {
        /// What was asked.
        asked: String,
        /// What was answered.
        answered: String,
    },
    /// The service node refused.
    #[error("the service node refused with status {status_code}: {status_desc}")]
    Refused {
        /// One of [`levada_wire::waku::filter::status`].
        status_code: u32,
        /// In its words.
        status_desc: String,
    },
    /// More service nodes than are kept in mind.
    #[error("this node is subscribed to {SERVICE_NODES_MAX} service nodes, which is the maximum")]
    TooManyNodes,
}

/// Subscribes to service nodes. Clones are handles to the same.
#[derive(Clone, Debug)]
pub struct Client {
    exchange: Exchange,
    /// Whose pushes are taken.
    nodes: Arc<Mutex<HashSet<PeerId>>>,
    requests: Arc<AtomicU64>,
}

impl Client {
    /// A client among the peers of `exchange`. Messages that are pushed to it go to `inbound`, each in a slot of its arena, with
    /// [`levada_wire::waku::Origin::Push`] in its record and without an id.
    ///
    /// # Errors
    ///
    /// [`AlreadyServed`].
    pub fn new(
        exchange: Exchange,
        inbound: Arc<dyn Inbound>,
        counters: Arc<FilterCounters>,
    ) -> Result<Self, AlreadyServed> {
        let nodes = Arc::new(Mutex::new(HashSet::new()));
        let pushers = nodes.clone();
        exchange.accept(PUSH_PROTOCOL, STREAMS_PER_PEER_MAX, move |place, stream| {
            if !lock(&pushers).contains(&place.peer()) {
                counters.unexpected.add(1);
                // Dropped, the stream is reset.
                return Box::pin(std::future::ready(()));
            }
            Box::pin(reading::run(place, stream, inbound.clone(), counters.clone()))
        })?;
        Ok(Self { exchange, nodes, requests: Arc::default() })
    }

    /// Has `node`, which is connected, push the messages of these content topics.
    ///
    /// # Errors
    ///
    /// [`FilterError`].
    pub async fn subscribe(
        &self,
        node: &PeerId,
        pubsub_topic: &str,
        content_topics: &[&str],
    ) -> Result<(), FilterError> {
        let is_new = {
            let mut nodes = lock(&self.nodes);
            if nodes.len() >= SERVICE_NODES_MAX && !nodes.contains(node) {
                return Err(FilterError::TooManyNodes);
            }
            // Before the answer, because the first push may come sooner.
            nodes.insert(*node)
        };
        let outcome = self.ask(node, FilterSubscribeType::Subscribe, Some(pubsub_topic), content_topics).await;
        if outcome.is_err() && is_new {
            lock(&self.nodes).remove(node);
        }
        outcome
    }

    /// Ends the subscription to these content topics.
    ///
    /// # Errors
    ///
    /// [`FilterError`].
    pub async fn unsubscribe(
        &self,
        node: &PeerId,
        pubsub_topic: &str,
        content_topics: &[&str],
    ) -> Result<(), FilterError> {
        self.ask(node, FilterSubscribeType::Unsubscribe, Some(pubsub_topic), content_topics).await
    }

    /// Ends all subscriptions; what the node pushes all the same is refused.
    ///
    /// # Errors
    ///
    /// [`FilterError`].
    pub async fn unsubscribe_all(&self, node: &PeerId) -> Result<(), FilterError> {
        lock(&self.nodes).remove(node);
        self.ask(node, FilterSubscribeType::UnsubscribeAll, None, &[]).await
    }

    /// Asks whether there is a subscription, which then lives on. nwaku ends one after five minutes without this.
    ///
    /// # Errors
    ///
    /// [`FilterError`].
    pub async fn ping(&self, node: &PeerId) -> Result<(), FilterError> {
        self.ask(node, FilterSubscribeType::SubscriberPing, None, &[]).await
    }

    /// Takes no more pushes of `node`, without telling it.
    pub fn forget(&self, node: &PeerId) {
        lock(&self.nodes).remove(node);
    }

    async fn ask(
        &self,
        node: &PeerId,
        kind: FilterSubscribeType,
        pubsub_topic: Option<&str>,
        content_topics: &[&str],
    ) -> Result<(), FilterError> {
        let asked = format!("levada-{}", self.requests.fetch_add(1, Relaxed));
        let content_topics = content_topics.to_vec();
        let mut message = Vec::new();
        FilterSubscribeRequest { request_id: &asked, kind, pubsub_topic, content_topics }.encode(&mut message);
        let answer = self.exchange.request(node, SUBSCRIBE_PROTOCOL, &[&message], RESPONSE_BYTES_MAX).await?;
        let response = FilterSubscribeResponse::decode(&answer)?;
        if !response.is_success() {
            let (status_code, status_desc) = (response.status_code, response.status_desc.unwrap_or_default());
            return Err(FilterError::Refused { status_code, status_desc: status_desc.to_owned() });
        }
        if response.request_id != asked {
            return Err(FilterError::OtherRequest { asked, answered: response.request_id.to_owned() });
        }
        Ok(())
    }
}

fn lock(nodes: &Mutex<HashSet<PeerId>>) -> MutexGuard<'_, HashSet<PeerId>> {
    nodes.lock().unwrap_or_else(PoisonError::into_inner)
}
