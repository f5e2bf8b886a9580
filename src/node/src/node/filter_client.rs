//! Filter's client side (12/WAKU2-FILTER): what REST clients want pushed, with the filter node that is there, and kept up.
//!
//! The filter node is that of `--filternode` while it is connected, else a connected peer that serves filter. It is pinged, because it
//! forgets who is silent; when it is lost, or has forgotten, everything is subscribed to anew, with another one if need be.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use levada_net::exchange::RequestError;
use levada_net::filter::{Client, FilterCounters, FilterError};
use levada_net::{NetHandle, PeerId};
use levada_stages::shelves::Shelves;
use levada_wire::waku::TopicTable;
use levada_wire::waku::filter::{CONTENT_TOPIC_BYTES_MAX, CONTENT_TOPICS_MAX, SUBSCRIBE_PROTOCOL};
use levada_wire::waku::sharding::pubsub_topic_of;
use levada_wire::waku::topics::PubsubTopic;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until, timeout};

use crate::node::backend::cached_message;
use crate::node::ingress::Ingress;
use crate::rest::{CachedMessage, FilterClient, FilterRefusal, NotSubscribed};

/// As many criteria as nwaku's filter nodes grant a peer.
const CRITERIA_MAX: usize = 1_000;
/// Filter nodes forget who is silent for five minutes; a ping may be missed.
const PING_EVERY: Duration = Duration::from_secs(60);
/// The filter node answers by then, or counts as lost.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// Pauses between attempts to subscribe anew.
const AGAIN_AFTER_MIN: Duration = Duration::from_secs(1);
const AGAIN_AFTER_MAX: Duration = Duration::from_secs(60);

/// What the client side is made of.
pub struct Parts<'a> {
    /// The network.
    pub net: &'a NetHandle,
    /// Where pushed messages enter the path.
    pub ingress: Arc<Ingress>,
    /// What filter counts.
    pub counters: Arc<FilterCounters>,
    /// The pubsub topics and their numbers.
    pub topics: Arc<TopicTable>,
    /// Where messages are kept for REST.
    pub shelves: Arc<Shelves>,
    /// The filter node of `--filternode`.
    pub named: Option<PeerId>,
    /// The cluster of every topic.
    pub cluster_id: u16,
    /// Shards for autosharding; 0 for static sharding.
    pub num_shards_in_network: u16,
}

/// Clones are handles to the same.
#[derive(Clone)]
pub struct Subscriber(Arc<Inner>);

struct Inner {
    net: NetHandle,
    client: Client,
    topics: Arc<TopicTable>,
    shelves: Arc<Shelves>,
    named: Option<PeerId>,
    cluster_id: u16,
    num_shards_in_network: u16,
    /// Held while a filter node is asked, so that two requests do not cross.
    wanted: Mutex<Wanted>,
}

#[derive(Default)]
struct Wanted {
    /// Content topics by pubsub topic.
    criteria: Criteria,
    /// With whom they all are.
    with: Option<Filterer>,
    /// A filter node that did not answer, and is asked again only if there is no other.
    shunned: Option<PeerId>,
}

type Criteria = BTreeMap<String, BTreeSet<String>>;

/// A filter node, by a connection: when it comes again it may have forgotten.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Filterer {
    peer: PeerId,
    connection: levada_net::ConnectionId,
}

impl Subscriber {
    /// Without a subscription yet. To be made once in the life of a node.
    pub fn new(parts: Parts<'_>) -> Self {
        let Parts { net, ingress, counters, topics, shelves, named, cluster_id, num_shards_in_network } = parts;
        let client = Client::new(net.exchange().clone(), ingress, counters).expect("pushes are accepted once");
        let (net, wanted) = (net.clone(), Mutex::default());
        Self(Arc::new(Inner { net, client, topics, shelves, named, cluster_id, num_shards_in_network, wanted }))
    }

    /// Keeps the subscriptions up until the node stops.
    pub async fn keep_up(self, stopped: impl Future<Output = ()>) {
        let mut stopped = std::pin::pin!(stopped);
        let mut changes = self.0.net.changes();
        let mut upkeep = Upkeep { pause: AGAIN_AFTER_MIN, next: Instant::now() + PING_EVERY, is_pausing: false };
        loop {
            tokio::select! {
                () = &mut stopped => return,
                changed = changes.changed() => if changed.is_err() { return },
                () = sleep_until(upkeep.next) => upkeep.is_pausing = false,
            }
            tokio::select! {
                () = &mut stopped => return,
                () = self.0.look(&mut upkeep) => {}
            }
        }
    }
}

/// When to do what.
struct Upkeep {
    pause: Duration,
    /// The next ping or attempt.
    next: Instant,
    /// A filter node has just refused or not answered; changes among the peers do not cut the pause short.
    is_pausing: bool,
}

impl Inner {
    async fn look(&self, upkeep: &mut Upkeep) {
        let mut wanted = self.wanted.lock().await;
        let is_due = upkeep.next <= Instant::now();
        if wanted.criteria.is_empty() || (!is_due && (upkeep.is_pausing || self.is_kept(&wanted))) {
            if is_due {
                upkeep.next = Instant::now() + PING_EVERY;
            }
            return;
        }
        if self.is_kept(&wanted) {
            self.check(&mut wanted).await;
        }
        match self.settle(&mut wanted).await {
            Ok(()) => {
                (upkeep.pause, upkeep.is_pausing) = (AGAIN_AFTER_MIN, false);
                upkeep.next = Instant::now() + PING_EVERY;
            }
            Err(refusal) => {
                tracing::debug!(reason = refusal.text, "the filter subscriptions are not kept for the moment");
                upkeep.next = Instant::now() + upkeep.pause;
                // Without any filter node nobody is troubled by trying again at once when one comes.
                upkeep.is_pausing = refusal.text != no_peer().text;
                upkeep.pause = (upkeep.pause * 2).min(AGAIN_AFTER_MAX);
            }
        }
    }

    fn is_kept(&self, wanted: &Wanted) -> bool {
        wanted.with.is_some_and(|with| self.net.exchange().connection(&with.peer) == Some(with.connection))
    }

    /// Pings the filter node; one that has forgotten is asked anew, one that does not answer is left.
    async fn check(&self, wanted: &mut Wanted) {
        let Some(with) = wanted.with else { return };
        let pinged = in_time(self.client.ping(&with.peer)).await;
        if let Err(failure) = pinged {
            tracing::debug!(peer = %with.peer, reason = failure.text, "the filter node does not keep the subscriptions");
            self.leave(wanted);
            if failure.status != 404 {
                wanted.shunned = Some(with.peer);
            }
        }
    }

    /// Has every criterion with a filter node that is connected.
    async fn settle(&self, wanted: &mut Wanted) -> Result<(), FilterRefusal> {
        if self.is_kept(wanted) {
            return Ok(());
        }
        self.leave(wanted);
        let with = self.choose(wanted.shunned).await.ok_or_else(no_peer)?;
        for (pubsub_topic, content_topics) in &wanted.criteria {
            let names: Vec<&str> = content_topics.iter().map(String::as_str).collect();
            if let Err(failure) = self.ask(&with.peer, pubsub_topic, &names).await {
                self.client.forget(&with.peer);
                wanted.shunned = Some(with.peer);
                return Err(failure);
            }
        }
        (wanted.with, wanted.shunned) = (Some(with), None);
        tracing::debug!(peer = %with.peer, topics = wanted.criteria.len(), "filter subscriptions are with this node");
        Ok(())
    }

    async fn ask(&self, peer: &PeerId, pubsub_topic: &str, names: &[&str]) -> Result<(), FilterRefusal> {
        for some in names.chunks(CONTENT_TOPICS_MAX) {
            in_time(self.client.subscribe(peer, pubsub_topic, some)).await?;
        }
        Ok(())
    }

    fn leave(&self, wanted: &mut Wanted) {
        if let Some(with) = wanted.with.take() {
            self.client.forget(&with.peer);
        }
    }

    /// The named filter node if it is connected, else one of those that are; `shunned` only if there is no other.
    async fn choose(&self, shunned: Option<PeerId>) -> Option<Filterer> {
        let filterer = |peer| Some(Filterer { peer, connection: self.net.exchange().connection(&peer)? });
        let named = self.named.filter(|named| Some(*named) != shunned);
        if let Some(named) = named.and_then(filterer) {
            return Some(named);
        }
        let peers = self.net.peers().await;
        let serving = peers.iter().filter(|peer| peer.protocols.iter().any(|protocol| protocol == SUBSCRIBE_PROTOCOL));
        let other = serving.map(|peer| peer.peer_id).filter(|peer| Some(*peer) != shunned).find_map(filterer);
        other.or_else(|| shunned.and_then(filterer))
    }

    /// The criteria that a request means, which this node could be sent.
    fn criteria(&self, pubsub_topic: Option<&str>, content_topics: &[String]) -> Result<Criteria, FilterRefusal> {
        if content_topics.is_empty() {
            return Err(FilterRefusal::bad_request("contentFilters must name at least one content topic"));
        }
        let mut criteria = Criteria::new();
        for content_topic in content_topics {
            if content_topic.is_empty() || content_topic.len() > CONTENT_TOPIC_BYTES_MAX {
                let reason = format!("a content topic has 1 to {CONTENT_TOPIC_BYTES_MAX} bytes");
                return Err(FilterRefusal::bad_request(reason));
            }
            let topic = self.pubsub_topic(pubsub_topic, content_topic)?;
            criteria.entry(topic).or_default().insert(content_topic.clone());
        }
        Ok(criteria)
    }

    fn pubsub_topic(&self, named: Option<&str>, content_topic: &str) -> Result<String, FilterRefusal> {
        let invalid = |what: &str| FilterRefusal::bad_request(format!("Invalid {what}"));
        match named {
            Some(name) => {
                let topic =
                    PubsubTopic::parse(name).map_err(|_| invalid("pubsubTopic, give /waku/2/rs/CLUSTER/SHARD"))?;
                let is_ours = topic.cluster == self.cluster_id;
                let other = || format!("pubsubTopic, this node is in cluster {}", self.cluster_id);
                if is_ours { Ok(topic.to_string()) } else { Err(invalid(&other())) }
            }
            None if self.num_shards_in_network == 0 => {
                Err(FilterRefusal::bad_request("Pubsub topic must be specified when static sharding is enabled"))
            }
            None => pubsub_topic_of(content_topic, self.cluster_id, self.num_shards_in_network)
                .map(|topic| topic.to_string())
                .map_err(|error| invalid(&format!("content topic: {error}"))),
        }
    }

    async fn subscribe(&self, criteria: Criteria) -> Result<(), FilterRefusal> {
        let mut wanted = self.wanted.lock().await;
        let held: usize = wanted.criteria.values().map(BTreeSet::len).sum();
        let opened = self.open(&criteria)?;
        let outcome = if held + opened.len() > CRITERIA_MAX {
            Err(FilterRefusal::unavailable(format!("this node holds at most {CRITERIA_MAX} filter criteria")))
        } else {
            self.extend(&mut wanted, &criteria).await
        };
        match &outcome {
            Ok(()) => {
                criteria.into_iter().for_each(|(topic, names)| wanted.criteria.entry(topic).or_default().extend(names))
            }
            Err(_) => opened.iter().for_each(|(topic, name)| self.shelves.close(*topic, name)),
        }
        outcome
    }

    /// Shelves for criteria that are new. They come first, because a push may be here before the answer.
    fn open(&self, criteria: &Criteria) -> Result<Vec<(u32, String)>, FilterRefusal> {
        let mut opened = Vec::new();
        for (topic, names) in criteria {
            let topic = self.topics.intern(topic).map_err(FilterRefusal::unavailable)?;
            let new = names.iter().filter(|name| self.shelves.open(topic, name));
            opened.extend(new.map(|name| (topic, name.clone())));
        }
        Ok(opened)
    }

    async fn extend(&self, wanted: &mut Wanted, criteria: &Criteria) -> Result<(), FilterRefusal> {
        self.settle(wanted).await?;
        let Some(with) = wanted.with else { return Err(no_peer()) };
        for (topic, names) in criteria {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            self.ask(&with.peer, topic, &names).await?;
        }
        Ok(())
    }

    async fn unsubscribe(&self, criteria: Criteria) -> Result<(), FilterRefusal> {
        let mut wanted = self.wanted.lock().await;
        for (topic, names) in &criteria {
            if let Some(held) = wanted.criteria.get_mut(topic) {
                held.retain(|name| !names.contains(name));
            }
            if let Some(number) = self.topics.find(topic) {
                names.iter().for_each(|name| self.shelves.close(number, name));
            }
        }
        wanted.criteria.retain(|_, names| !names.is_empty());
        let peer = self.asked(&wanted).await?;
        let mut outcome = Ok(());
        for (topic, names) in &criteria {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            for some in names.chunks(CONTENT_TOPICS_MAX) {
                outcome = outcome.and(in_time(self.client.unsubscribe(&peer, topic, some)).await);
            }
        }
        if wanted.criteria.is_empty() {
            self.leave(&mut wanted);
        }
        outcome
    }

    async fn unsubscribe_all(&self) -> Result<(), FilterRefusal> {
        let mut wanted = self.wanted.lock().await;
        wanted.criteria.clear();
        self.shelves.close_all();
        let peer = self.asked(&wanted).await?;
        let outcome = in_time(self.client.unsubscribe_all(&peer)).await;
        self.leave(&mut wanted);
        outcome
    }

    async fn ping(&self) -> Result<(), FilterRefusal> {
        let wanted = self.wanted.lock().await;
        let peer = self.asked(&wanted).await?;
        in_time(self.client.ping(&peer)).await
    }

    /// Whom a question about the subscriptions goes to.
    async fn asked(&self, wanted: &Wanted) -> Result<PeerId, FilterRefusal> {
        match wanted.with.filter(|_| self.is_kept(wanted)) {
            Some(with) => Ok(with.peer),
            None => self.choose(wanted.shunned).await.map(|with| with.peer).ok_or_else(no_peer),
        }
    }
}

/// nwaku's words; the network finds peers by itself, and has found none that serves filter.
fn no_peer() -> FilterRefusal {
    FilterRefusal::unavailable("No suitable service peer & none discovered")
}

async fn in_time(asked: impl Future<Output = Result<(), FilterError>>) -> Result<(), FilterRefusal> {
    match timeout(ANSWER_TIMEOUT, asked).await {
        Ok(outcome) => outcome.map_err(|error| refusal(&error)),
        Err(_) => {
            let text = format!("PEER_DIAL_FAILURE: no answer within {} s", ANSWER_TIMEOUT.as_secs());
            Err(FilterRefusal { status: 504, text })
        }
    }
}

/// As nwaku maps the statuses of filter to those of HTTP.
fn refusal(error: &FilterError) -> FilterRefusal {
    match error {
        FilterError::Refused { status_code: status @ (400 | 404 | 429 | 503), status_desc } => {
            FilterRefusal { status: *status as u16, text: status_desc.clone() }
        }
        FilterError::TooManyNodes => FilterRefusal::unavailable(error),
        FilterError::Request(
            RequestError::NotConnected { .. } | RequestError::Unsupported { .. } | RequestError::TimedOut { .. },
        ) => FilterRefusal { status: 504, text: format!("PEER_DIAL_FAILURE: {error}") },
        _ => FilterRefusal { status: 500, text: format!("BAD_RESPONSE: {error}") },
    }
}

/// Runs on a task of its own, so that a client that hangs up leaves filter node and shelves in step.
fn apart(
    work: impl Future<Output = Result<(), FilterRefusal>> + Send + 'static,
) -> BoxFuture<'static, Result<(), FilterRefusal>> {
    let task = tokio::spawn(work);
    async move { task.await.unwrap_or_else(|_| Err(FilterRefusal::unavailable("the node is shutting down"))) }.boxed()
}

impl FilterClient for Subscriber {
    fn subscribe(
        &self,
        pubsub_topic: Option<String>,
        content_topics: Vec<String>,
    ) -> BoxFuture<'static, Result<(), FilterRefusal>> {
        let inner = self.0.clone();
        apart(async move {
            let criteria = inner.criteria(pubsub_topic.as_deref(), &content_topics)?;
            inner.subscribe(criteria).await
        })
    }

    fn unsubscribe(
        &self,
        pubsub_topic: Option<String>,
        content_topics: Vec<String>,
    ) -> BoxFuture<'static, Result<(), FilterRefusal>> {
        let inner = self.0.clone();
        apart(async move {
            let criteria = inner.criteria(pubsub_topic.as_deref(), &content_topics)?;
            inner.unsubscribe(criteria).await
        })
    }

    fn unsubscribe_all(&self) -> BoxFuture<'static, Result<(), FilterRefusal>> {
        let inner = self.0.clone();
        apart(async move { inner.unsubscribe_all().await })
    }

    fn ping(&self) -> BoxFuture<'static, Result<(), FilterRefusal>> {
        let inner = self.0.clone();
        apart(async move { inner.ping().await })
    }

    fn take(&self, pubsub_topic: Option<&str>, content_topic: &str) -> Result<Vec<CachedMessage>, NotSubscribed> {
        let topic = pubsub_topic.map(|name| self.0.topics.find(name).ok_or(NotSubscribed)).transpose()?;
        let taken = self.0.shelves.take(topic, content_topic).ok_or(NotSubscribed)?;
        Ok(taken.iter().map(cached_message).collect())
    }
}
