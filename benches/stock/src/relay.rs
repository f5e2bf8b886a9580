//! The router as the relay of a node. It owns its messages, so each is copied into a slot; one that finds no room waits, and with it
//! everything that the router has to tell.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use levada_engine::{ClaimError, Held};
use levada_net::relay::{Relay, RelayEvent};
use levada_net::{
    Inbound, NetConfig, NetError, NetHandle, NetTask, PeerHandle, PublishError, Refused, SubscribeError, Verdict,
    counters, start_with,
};
use levada_wire::waku::{Origin, WakuRecord};
use libp2p::core::Endpoint;
use libp2p::core::transport::PortUse;
use libp2p::gossipsub::{
    Behaviour, Event, IdentTopic, Message, MessageAcceptance, MessageId, PublishError as StockPublishError, TopicHash,
};
use libp2p::swarm::behaviour::FromSwarm;
use libp2p::swarm::{
    ConnectionDenied, ConnectionId, NetworkBehaviour, THandler, THandlerInEvent, THandlerOutEvent, ToSwarm,
};
use libp2p::{Multiaddr, PeerId};
use tokio::time::{Sleep, sleep};

use crate::gossipsub::{GRAYLIST_THRESHOLD, Gossipsub, gossipsub, topic_params};
use crate::known_id::KnownId;

/// How long until a message that found no room is offered again.
const AGAIN_AFTER: Duration = Duration::from_millis(1);

/// Starts a node whose relay is this router; otherwise as [`levada_net::start`].
///
/// # Errors
///
/// [`NetError`], as [`levada_net::start`].
pub async fn start(config: NetConfig, inbound: Arc<dyn Inbound>) -> Result<(NetHandle, NetTask), NetError> {
    let relay = config.relay.then(|| StockRelay::new(&config, inbound.clone())).transpose()?;
    start_with(config, relay).await
}

/// The router, and who takes its messages.
pub struct StockRelay {
    router: Gossipsub,
    inbound: Arc<dyn Inbound>,
    message_bytes_max: usize,
    handles: HashMap<PeerId, PeerHandle>,
    waiting: Option<(Arrived, Pin<Box<Sleep>>)>,
}

/// A message that the router has not seen before.
struct Arrived {
    from: PeerId,
    id: MessageId,
    message: Message,
}

/// What became of an offer.
enum Offer {
    Taken,
    Full(Arrived),
    Dropped(Arrived),
}

impl StockRelay {
    /// The relay of a node with this configuration.
    ///
    /// # Errors
    ///
    /// [`NetError::Relay`] if the router refuses the parameters.
    pub fn new(config: &NetConfig, inbound: Arc<dyn Inbound>) -> Result<Self, NetError> {
        let (handles, message_bytes_max) = (HashMap::new(), config.message_bytes_max);
        Ok(Self { router: gossipsub(config)?, inbound, message_bytes_max, handles, waiting: None })
    }

    fn arrive(&mut self, arrived: Arrived) {
        counters::MESSAGES_IN.add(1);
        counters::MESSAGE_BYTES_IN.add(arrived.message.data.len() as u64);
        if arrived.message.data.len() > self.message_bytes_max {
            // The router's own limit is wider, since it has to hold a frame around the message.
            counters::MESSAGES_TOO_LARGE.add(1);
            self.router.report_message_validation_result(&arrived.id, &arrived.from, MessageAcceptance::Reject);
        } else {
            self.offer(arrived);
        }
    }

    fn offer(&mut self, arrived: Arrived) {
        match self.try_offer(arrived) {
            Offer::Taken => {}
            Offer::Full(arrived) => self.waiting = Some((arrived, Box::pin(sleep(AGAIN_AFTER)))),
            Offer::Dropped(arrived) => {
                counters::MESSAGES_DROPPED.add(1);
                self.router.report_message_validation_result(&arrived.id, &arrived.from, MessageAcceptance::Ignore);
            }
        }
    }

    fn try_offer(&self, arrived: Arrived) -> Offer {
        let Some(topic) = self.inbound.topic(arrived.message.topic.as_str()) else { return Offer::Dropped(arrived) };
        let mut slot = match self.inbound.arena().claim(arrived.message.data.len()) {
            Ok(slot) => slot,
            Err(ClaimError::Full { .. }) => return Offer::Full(arrived),
            Err(_) => return Offer::Dropped(arrived),
        };
        slot.fill(&arrived.message.data);
        *slot.record_mut() = WakuRecord {
            id: arrived.id.0.as_slice().try_into().expect("the id function of this router gives 32 bytes"),
            id_known: true,
            topic,
            peer: self.handles.get(&arrived.from).map(|handle| handle.0).unwrap_or_default(),
            origin: Origin::Gossip,
            ..WakuRecord::default()
        };
        match self.inbound.offer(slot.share().hold()) {
            Ok(()) => Offer::Taken,
            Err(Refused::Full(_)) => Offer::Full(arrived),
            Err(Refused::Dropped) => Offer::Dropped(arrived),
        }
    }
}

impl NetworkBehaviour for StockRelay {
    type ConnectionHandler = <Gossipsub as NetworkBehaviour>::ConnectionHandler;
    type ToSwarm = RelayEvent;

    fn handle_established_inbound_connection(
        &mut self,
        connection: ConnectionId,
        peer: PeerId,
        local: &Multiaddr,
        remote: &Multiaddr,
    ) -> Result<THandler<Self>, ConnectionDenied> {
        self.router.handle_established_inbound_connection(connection, peer, local, remote)
    }

    fn handle_established_outbound_connection(
        &mut self,
        connection: ConnectionId,
        peer: PeerId,
        address: &Multiaddr,
        role: Endpoint,
        port: PortUse,
    ) -> Result<THandler<Self>, ConnectionDenied> {
        self.router.handle_established_outbound_connection(connection, peer, address, role, port)
    }

    fn on_swarm_event(&mut self, event: FromSwarm<'_>) {
        if let FromSwarm::ConnectionClosed(closed) = &event
            && closed.remaining_established == 0
        {
            self.handles.remove(&closed.peer_id);
        }
        self.router.on_swarm_event(event);
    }

    fn on_connection_handler_event(&mut self, peer: PeerId, connection: ConnectionId, event: THandlerOutEvent<Self>) {
        self.router.on_connection_handler_event(peer, connection, event);
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<ToSwarm<RelayEvent, THandlerInEvent<Self>>> {
        loop {
            if let Some((_, again)) = &mut self.waiting {
                ready!(again.as_mut().poll(cx));
            }
            if let Some((arrived, _)) = self.waiting.take() {
                self.offer(arrived);
                continue;
            }
            match ready!(self.router.poll(cx)) {
                ToSwarm::GenerateEvent(Event::Message { propagation_source: from, message_id: id, message }) => {
                    self.arrive(Arrived { from, id, message });
                }
                ToSwarm::GenerateEvent(event) => {
                    if let Some(event) = told(event) {
                        return Poll::Ready(ToSwarm::GenerateEvent(event));
                    }
                }
                other => return Poll::Ready(other.map_out(|_| unreachable!("events were taken out above"))),
            }
        }
    }
}

/// What the node wants to know of an event of the router's that is no message.
fn told(event: Event) -> Option<RelayEvent> {
    match event {
        Event::Message { .. } => None,
        Event::Subscribed { .. } | Event::Unsubscribed { .. } => Some(RelayEvent::Subscriptions),
        Event::GossipsubNotSupported { peer_id } => Some(RelayEvent::Unsupported { peer: peer_id }),
        Event::SlowPeer { peer_id, failed_messages } => {
            let messages = failed_messages.priority + failed_messages.non_priority;
            Some(RelayEvent::Dropped { peer: peer_id, messages })
        }
    }
}

impl Relay for StockRelay {
    fn subscribe(&mut self, topic: &str) -> Result<bool, SubscribeError> {
        let refused = |reason: String| SubscribeError::Refused { topic: topic.to_owned(), reason };
        let ident = IdentTopic::new(topic);
        self.router.set_topic_params(ident.clone(), topic_params()).map_err(|reason| refused(reason.to_owned()))?;
        self.router.subscribe(&ident).map_err(|error| refused(error.to_string()))
    }

    fn unsubscribe(&mut self, topic: &str) -> bool {
        self.router.unsubscribe(&IdentTopic::new(topic))
    }

    fn publish(&mut self, topic: String, data: Bytes, id: Option<[u8; 32]>) -> Result<(), PublishError> {
        let known = KnownId::set(id);
        let published = Behaviour::publish(&mut self.router, TopicHash::from_raw(topic), data);
        debug_assert!(
            known.was_taken() || matches!(published, Err(StockPublishError::MessageTooLarge)),
            "the router did not ask for the id of a message on this thread, so it has hashed it again"
        );
        drop(known);
        match published {
            Ok(_) => Ok(()),
            Err(StockPublishError::NoPeersSubscribedToTopic) => Err(PublishError::NoPeers),
            Err(StockPublishError::Duplicate) => Err(PublishError::Duplicate),
            Err(StockPublishError::AllQueuesFull(_)) => Err(PublishError::QueueFull),
            // The size was checked before, and nothing is signed or transformed here.
            Err(error) => {
                tracing::error!(%error, "the router refused a message for an unexpected reason");
                Err(PublishError::NoPeers)
            }
        }
    }

    /// The router keeps no such number, and its list of peers makes a `Vec` for each.
    fn subscribers(&self, topic: &str) -> usize {
        self.router.all_peers().filter(|(_, topics)| topics.iter().any(|joined| joined.as_str() == topic)).count()
    }

    fn report(&mut self, id: &[u8; 32], from: Option<&PeerId>, verdict: Verdict, _: Option<Held<WakuRecord>>) -> bool {
        let Some(from) = from else { return false };
        let acceptance = match verdict {
            Verdict::Accept => MessageAcceptance::Accept,
            Verdict::Ignore => MessageAcceptance::Ignore,
            Verdict::Reject => MessageAcceptance::Reject,
        };
        self.router.report_message_validation_result(&MessageId::new(id), from, acceptance)
    }

    fn named(&mut self, peer: &PeerId, handle: PeerHandle) {
        self.handles.insert(*peer, handle);
    }

    fn is_graylisted(&self, peer: &PeerId) -> bool {
        self.router.peer_score(peer).is_some_and(|score| score < GRAYLIST_THRESHOLD)
    }

    fn mesh_sizes(&self) -> Vec<(String, usize)> {
        self.router.topics().map(|topic| (topic.to_string(), self.router.mesh_peers(topic).count())).collect()
    }

    fn translate(event: RelayEvent) -> RelayEvent {
        event
    }
}
