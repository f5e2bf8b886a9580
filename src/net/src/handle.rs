//! The handle: how the rest of the node talks to the network's task.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use bytes::Bytes;
use levada_engine::Held;
use levada_wire::waku::WakuRecord;
use libp2p::multiaddr::Protocol;
use libp2p::{Multiaddr, PeerId};
use tokio::sync::{mpsc, oneshot, watch};

use crate::census::{Census, ConnectError, Connecting, Origin};
use crate::config::NetConfig;
use crate::counters;
use crate::error::{PublishError, ReportError, SubscribeError};
use crate::exchange::Exchange;
use crate::inbound::Verdict;
use crate::peers::PeerInfo;
use crate::stall::Stall;

/// Commands that wait for the task. A publish holds its message meanwhile.
pub(crate) const COMMANDS_MAX: usize = 256;
/// Verdicts that wait for the task, each with its message.
pub(crate) const VERDICTS_MAX: usize = 4_096;
/// Verdicts that find room in the channel together or not at all.
const VERDICTS_AT_ONCE: usize = 64;

/// Who asks for a connection waits no longer; the dial itself has ten seconds, and the handshakes come after.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// What the task is asked to do.
pub(crate) enum Command {
    Publish(Publication),
    Subscribe { topic: String, reply: oneshot::Sender<Result<bool, SubscribeError>> },
    Unsubscribe { topic: String, reply: oneshot::Sender<Result<bool, SubscribeError>> },
    Peers { reply: oneshot::Sender<Vec<PeerInfo>> },
    MeshSizes { reply: oneshot::Sender<Vec<(String, usize)>> },
    Subscribers { topic: String, reply: oneshot::Sender<usize> },
    Learn { addresses: Vec<Multiaddr>, origin: Origin },
    Census { reply: oneshot::Sender<Census> },
    Connect { address: Multiaddr, reply: Connecting },
    Known { reply: oneshot::Sender<usize> },
}

/// A message on its way to the task.
pub(crate) struct Publication {
    pub(crate) topic: String,
    pub(crate) data: Bytes,
    pub(crate) id: Option<[u8; 32]>,
    /// Absent if nobody waits for the outcome.
    pub(crate) reply: Option<oneshot::Sender<Result<usize, PublishError>>>,
}

/// A verdict on its way to the task.
pub(crate) struct Report {
    pub(crate) message: Held<WakuRecord>,
    pub(crate) verdict: Verdict,
}

/// What the task lets everybody see.
pub(crate) struct Shared {
    pub(crate) peer_id: PeerId,
    /// As it was configured.
    pub(crate) config: NetConfig,
    /// Whether and since when something is not read.
    pub(crate) stall: Arc<Stall>,
    pub(crate) external_addresses: Vec<Multiaddr>,
    pub(crate) listen_addresses: watch::Sender<Vec<Multiaddr>>,
    pub(crate) connected: AtomicUsize,
    /// Grows with every change of the peers.
    pub(crate) changes: watch::Sender<u64>,
    pub(crate) stop: watch::Sender<bool>,
}

/// A cheap, cloneable handle to the network. When the last one is dropped, the network stops.
#[derive(Clone)]
pub struct NetHandle {
    pub(crate) shared: Arc<Shared>,
    pub(crate) commands: mpsc::Sender<Command>,
    pub(crate) reports: mpsc::Sender<Report>,
}

impl NetHandle {
    /// This node's identity.
    pub fn peer_id(&self) -> PeerId {
        self.shared.peer_id
    }

    /// The addresses that the listeners have, with their real ports and `/p2p/` and the peer id at the end.
    pub fn listen_addresses(&self) -> Vec<Multiaddr> {
        self.named(&self.shared.listen_addresses.borrow())
    }

    /// The addresses announced besides (`--nat=extip:…`), in the same form.
    pub fn external_addresses(&self) -> Vec<Multiaddr> {
        self.named(&self.shared.external_addresses)
    }

    /// What is announced of these: the external addresses, and those listened on unless they are kept back (`--ext-multiaddr-only`).
    pub fn announced_addresses(&self) -> Vec<Multiaddr> {
        let listened = if self.shared.config.announce_listen { self.listen_addresses() } else { Vec::new() };
        [self.external_addresses(), listened].concat()
    }

    fn named(&self, addresses: &[Multiaddr]) -> Vec<Multiaddr> {
        let named =
            |address: &Multiaddr| address.clone().with_p2p(self.shared.peer_id).unwrap_or_else(|address| address);
        addresses.iter().map(named).collect()
    }

    /// Publishes an encoded WakuMessage on a pubsub topic. `id` is its SHA-256 if the caller has it, which saves hashing it again.
    /// Gives the number of subscribed peers; a few of them may still miss it if their send queue is full.
    ///
    /// # Errors
    ///
    /// [`PublishError`].
    pub async fn publish(&self, topic: &str, data: Bytes, id: Option<[u8; 32]>) -> Result<usize, PublishError> {
        self.check_publication(topic, &data)?;
        let topic = topic.to_owned();
        let publication = |reply| Command::Publish(Publication { topic, data, id, reply: Some(reply) });
        self.ask(publication).await.unwrap_or(Err(PublishError::Stopped))
    }

    /// As [`Self::publish`], but waits for no more than a place among the 256 commands that the task has yet to do. What becomes
    /// of the message is counted ([`crate::counters`]): published, no peers, duplicate, or send queues full. Those that are in
    /// the channel at [`Self::shutdown`] are still published.
    ///
    /// # Errors
    ///
    /// [`PublishError::TooLarge`], [`PublishError::RelayOff`] and [`PublishError::Stopped`] only.
    pub async fn queue_publish(&self, topic: &str, data: Bytes, id: Option<[u8; 32]>) -> Result<(), PublishError> {
        self.check_publication(topic, &data)?;
        let publication = Publication { topic: topic.to_owned(), data, id, reply: None };
        self.commands.send(Command::Publish(publication)).await.map_err(|_| PublishError::Stopped)
    }

    /// Bytes of the largest message that may be published on a topic.
    pub fn message_bytes_max(&self, topic: &str) -> usize {
        self.shared.config.largest_message(topic)
    }

    fn check_publication(&self, topic: &str, data: &Bytes) -> Result<(), PublishError> {
        let (bytes, bytes_max) = (data.len(), self.message_bytes_max(topic));
        if bytes > bytes_max {
            counters::PUBLISH_TOO_LARGE.add(1);
            return Err(PublishError::TooLarge { bytes, bytes_max });
        }
        if self.shared.config.relay { Ok(()) } else { Err(PublishError::RelayOff) }
    }

    /// Joins a pubsub topic; `false` if it was joined before.
    ///
    /// # Errors
    ///
    /// [`SubscribeError`].
    pub async fn subscribe(&self, topic: &str) -> Result<bool, SubscribeError> {
        let topic = topic.to_owned();
        self.ask(|reply| Command::Subscribe { topic, reply }).await.unwrap_or(Err(SubscribeError::Stopped))
    }

    /// Leaves a pubsub topic; `false` if it was not joined.
    ///
    /// # Errors
    ///
    /// [`SubscribeError`].
    pub async fn unsubscribe(&self, topic: &str) -> Result<bool, SubscribeError> {
        let topic = topic.to_owned();
        self.ask(|reply| Command::Unsubscribe { topic, reply }).await.unwrap_or(Err(SubscribeError::Stopped))
    }

    /// Hands in the verdict on a message that was offered, with the message, and waits for room among 4 096 that the task has yet to
    /// apply. The record of the message must not be written any more.
    ///
    /// # Errors
    ///
    /// [`ReportError::Stopped`].
    pub async fn report(&self, message: Held<WakuRecord>, verdict: Verdict) -> Result<(), ReportError> {
        self.reports.send(Report { message, verdict }).await.map_err(|_| ReportError::Stopped)
    }

    /// As [`Self::report`], for many verdicts, which enter the channel up to 64 at a time.
    ///
    /// # Errors
    ///
    /// [`ReportError::Stopped`]; those that entered before may have been applied.
    pub async fn report_many(
        &self,
        verdicts: impl ExactSizeIterator<Item = (Held<WakuRecord>, Verdict)>,
    ) -> Result<(), ReportError> {
        let mut verdicts = verdicts;
        while verdicts.len() > 0 {
            let places = verdicts.len().min(VERDICTS_AT_ONCE);
            let places = self.reports.reserve_many(places).await.map_err(|_| ReportError::Stopped)?;
            for (place, (message, verdict)) in places.zip(&mut verdicts) {
                place.send(Report { message, verdict });
            }
        }
        Ok(())
    }

    /// For how long at least one peer has not been read now because the receiver of inbound messages is full; `None` while all are read.
    /// Verdicts and publications are served all the same.
    pub fn stalled_for(&self) -> Option<Duration> {
        self.shared.stall.lasts_for()
    }

    /// The connected peers; empty when the network has stopped.
    pub async fn peers(&self) -> Vec<PeerInfo> {
        self.ask(|reply| Command::Peers { reply }).await.unwrap_or_default()
    }

    /// The number of connected peers.
    pub fn connected_count(&self) -> usize {
        self.shared.connected.load(Relaxed)
    }

    /// The joined topics and the number of peers in the mesh of each; empty when the network has stopped.
    pub async fn mesh_sizes(&self) -> Vec<(String, usize)> {
        self.ask(|reply| Command::MeshSizes { reply }).await.unwrap_or_default()
    }

    /// Serves and asks protocols of requests and answers.
    pub fn exchange(&self) -> &Exchange {
        &self.shared.config.exchange
    }

    /// The number of connected peers that have subscribed to a topic, which is to how many at most a message would go; 0 when the network
    /// has stopped.
    pub async fn subscribers(&self, topic: &str) -> usize {
        let topic = topic.to_owned();
        self.ask(|reply| Command::Subscribers { topic, reply }).await.unwrap_or_default()
    }

    /// Makes addresses of peers known, each with `/p2p/…` at its end. The peers are dialled while too few connections go out, and left for
    /// longer and longer when they cannot be reached. Those that are too many push out who gave no sign of life for the longest.
    pub async fn learn(&self, addresses: Vec<Multiaddr>, origin: Origin) {
        // A network that has stopped needs to know nobody.
        let _ = self.commands.send(Command::Learn { addresses, origin }).await;
    }

    /// Everybody who is known, and what the router thinks of them; empty when the network has stopped.
    pub async fn census(&self) -> Census {
        self.ask(|reply| Command::Census { reply }).await.unwrap_or_default()
    }

    /// Connects to the peer that `address` names by `/p2p/…` at its end, and waits for the connection. One that is connected already is no
    /// error.
    ///
    /// # Errors
    ///
    /// [`ConnectError`].
    pub async fn connect(&self, address: Multiaddr) -> Result<PeerId, ConnectError> {
        let connected = self.ask(|reply| Command::Connect { address, reply });
        let connected = tokio::time::timeout(CONNECT_TIMEOUT, connected).await;
        let timed_out = ConnectError::TimedOut { seconds: CONNECT_TIMEOUT.as_secs() };
        connected.map_err(|_| timed_out)?.unwrap_or(Err(ConnectError::Stopped))
    }

    /// Peers that are known, connected or not; 0 when the network has stopped.
    pub async fn known_count(&self) -> usize {
        self.ask(|reply| Command::Known { reply }).await.unwrap_or_default()
    }

    /// A number that grows whenever a peer connects, disconnects, identifies itself, or joins or leaves a topic.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.shared.changes.subscribe()
    }

    /// Asks the task to end: it applies the verdicts that it has, closes the connections, and returns.
    pub fn shutdown(&self) {
        self.shared.stop.send_replace(true);
    }

    async fn ask<T>(&self, command: impl FnOnce(oneshot::Sender<T>) -> Command) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.commands.send(command(reply)).await.ok()?;
        answer.await.ok()
    }
}

impl Shared {
    /// Tells everybody that the peers have changed.
    pub(crate) fn changed(&self) {
        self.changes.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// A listener has got or lost an address.
    pub(crate) fn set_listening(&self, address: &Multiaddr, open: bool) {
        let bare = address.iter().filter(|part| !matches!(part, Protocol::P2p(_))).collect::<Multiaddr>();
        self.listen_addresses.send_modify(|addresses| {
            addresses.retain(|known| *known != bare);
            if open {
                addresses.push(bare);
            }
        });
    }
}
