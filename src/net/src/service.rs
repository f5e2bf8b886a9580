//! The task that runs the network: one loop over the swarm, the commands, the verdicts, and the dials that are due.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use futures::StreamExt;
use levada_engine::Held;
use levada_wire::waku::WakuRecord;
use libp2p::Swarm;
use libp2p::swarm::{ConnectionId, SwarmEvent};
use tokio::sync::{mpsc, watch};
use tokio::time::{MissedTickBehavior, interval, sleep_until};

use crate::behaviour::{Behaviour, BehaviourEvent};
use crate::census::{Connecting, Origin};
use crate::config::NetConfig;
use crate::counters;
use crate::dialler::Dialler;
use crate::error::{PublishError, SubscribeError};
use crate::handle::{Command, Publication, Report, Shared};
use crate::inbound::Verdict;
use crate::lookout::{LOOK_EVERY, Lookout};
use crate::peers::{PeerHandle, Peers};
use crate::relay::Relay;
use crate::shards::Shards;

/// Verdicts applied before anything else gets its turn.
const REPORTS_PER_TURN: usize = 256;
/// At the end: for what is queued to leave, and for connections to close. The router does not tell when its queues are empty.
const LINGER: Duration = Duration::from_millis(200);

/// Everything that the task owns.
pub(crate) struct Service<R: Relay> {
    pub(crate) config: NetConfig,
    pub(crate) swarm: Swarm<Behaviour<R>>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) peers: Peers,
    pub(crate) dialler: Dialler,
    pub(crate) lookout: Lookout,
    pub(crate) shards: Shards,
    /// Who waits for which dial.
    pub(crate) connecting: HashMap<ConnectionId, Connecting>,
    commands: mpsc::Receiver<Command>,
    reports: mpsc::Receiver<Report>,
    stop: watch::Receiver<bool>,
}

impl<R: Relay> Service<R> {
    pub(crate) fn new(
        config: NetConfig,
        swarm: Swarm<Behaviour<R>>,
        shared: Arc<Shared>,
        commands: mpsc::Receiver<Command>,
        reports: mpsc::Receiver<Report>,
    ) -> Self {
        let dialler = Dialler::new(&config.static_peers, Instant::now());
        let lookout = Lookout::new(&config);
        let shards = Shards::new(&config);
        if let Some(shortfall) = shards.shortfall() {
            tracing::warn!("{shortfall}");
        }
        let stop = shared.stop.subscribe();
        let (peers, connecting) = (Peers::default(), HashMap::new());
        Self { config, swarm, shared, peers, dialler, lookout, shards, connecting, commands, reports, stop }
    }

    /// Runs until it is told to stop or nobody has a handle any more.
    pub(crate) async fn run(mut self) {
        let mut reports = Vec::with_capacity(REPORTS_PER_TURN);
        let mut look = interval(LOOK_EVERY);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let dial_at = self.dialler.next_due();
            tokio::select! {
                _ = self.stop.changed() => break,
                command = self.commands.recv() => match command {
                    Some(command) => self.on_command(command),
                    None => break,
                },
                _ = self.reports.recv_many(&mut reports, REPORTS_PER_TURN) => {
                    reports.drain(..).for_each(|report| self.on_report(report));
                }
                _ = look.tick() => self.look_around(),
                () = sleep_until(dial_at.unwrap_or_else(Instant::now).into()), if dial_at.is_some() => self.dial(),
                event = self.swarm.select_next_some() => self.on_event(event),
            }
        }
        self.finish().await;
    }

    fn dial(&mut self) {
        for opts in self.dialler.due(Instant::now()) {
            let connection = opts.connection_id();
            Origin::Static.count_dial();
            if let Err(error) = self.swarm.dial(opts) {
                counters::DIALS_FAILED.add(1);
                self.dialler.on_failed(connection, &error, Instant::now());
            }
        }
    }

    pub(crate) fn on_report(&mut self, report: Report) {
        let Report { message, verdict } = report;
        let record = message.record();
        self.apply(&record.id, PeerHandle(record.peer), verdict, Some(message));
    }

    /// Applies a verdict, and disconnects a peer that one was too many for.
    pub(crate) fn apply(
        &mut self,
        id: &[u8; 32],
        peer: PeerHandle,
        verdict: Verdict,
        message: Option<Held<WakuRecord>>,
    ) {
        let counter = match verdict {
            Verdict::Accept => &counters::VERDICTS_ACCEPT,
            Verdict::Ignore => &counters::VERDICTS_IGNORE,
            Verdict::Reject => &counters::VERDICTS_REJECT,
        };
        counter.add(1);
        let Some(relay) = self.swarm.behaviour_mut().relay.as_mut() else { return };
        let peer = self.peers.peer_id(peer);
        if !relay.report(id, peer.as_ref(), verdict, message) {
            counters::VERDICTS_LATE.add(1);
        }
        if verdict == Verdict::Reject
            && let Some(peer) = peer
            && relay.is_graylisted(&peer)
            && self.swarm.disconnect_peer_id(peer).is_ok()
        {
            counters::SCORE_DISCONNECTS.add(1);
            tracing::info!(%peer, "disconnected: its relay score is below the graylist threshold");
        }
    }

    fn on_command(&mut self, command: Command) {
        // A caller that no longer waits for its answer is no error.
        match command {
            Command::Publish(publication) => self.publish(publication),
            Command::Subscribe { topic, reply } => {
                let _ = reply.send(self.subscribe(topic));
            }
            Command::Unsubscribe { topic, reply } => {
                let _ = reply.send(self.unsubscribe(&topic));
            }
            Command::Peers { reply } => {
                let _ = reply.send(self.peers.snapshot());
            }
            Command::MeshSizes { reply } => {
                let relay = self.swarm.behaviour().relay.as_ref();
                let _ = reply.send(relay.map(Relay::mesh_sizes).unwrap_or_default());
            }
            Command::Subscribers { topic, reply } => {
                let relay = self.swarm.behaviour().relay.as_ref();
                let _ = reply.send(relay.map_or(0, |relay| relay.subscribers(&topic)));
            }
            Command::Learn { addresses, origin } => self.learn(&addresses, origin),
            Command::Census { reply } => {
                let _ = reply.send(self.census());
            }
            Command::Connect { address, reply } => self.connect(&address, reply),
            Command::Known { reply } => {
                let _ = reply.send(self.lookout.known.len());
            }
        }
    }

    fn publish(&mut self, publication: Publication) {
        let Publication { topic, data, id, reply } = publication;
        let bytes = data.len();
        let sent = self.swarm.behaviour_mut().relay.as_mut().map_or(Err(PublishError::RelayOff), |relay| {
            let peers = reply.as_ref().map_or(0, |_| relay.subscribers(&topic));
            relay.publish(topic, data, id).map(|()| peers)
        });
        count_publish(bytes, sent);
        if let Some(reply) = reply {
            let _ = reply.send(sent);
        }
    }

    fn subscribe(&mut self, topic: String) -> Result<bool, SubscribeError> {
        let relay = self.swarm.behaviour_mut().relay.as_mut().ok_or(SubscribeError::RelayOff)?;
        let Some(shard) = self.shards.shard_of(&topic) else {
            return Err(SubscribeError::OtherCluster { topic, cluster: self.config.cluster_id });
        };
        let is_new = relay.subscribe(&topic)?;
        counters::TOPICS_JOINED.add(u64::from(is_new));
        self.shards.join(shard);
        Ok(is_new)
    }

    fn unsubscribe(&mut self, topic: &str) -> Result<bool, SubscribeError> {
        let relay = self.swarm.behaviour_mut().relay.as_mut().ok_or(SubscribeError::RelayOff)?;
        if let Some(shard) = self.shards.shard_of(topic) {
            self.shards.leave(shard);
        }
        let was_joined = relay.unsubscribe(topic);
        counters::TOPICS_LEFT.add(u64::from(was_joined));
        Ok(was_joined)
    }

    /// Applies the verdicts and commands that have come, lets queued messages leave, and closes the connections.
    async fn finish(mut self) {
        self.reports.close();
        while let Ok(report) = self.reports.try_recv() {
            self.on_report(report);
        }
        self.commands.close();
        while let Ok(command) = self.commands.try_recv() {
            self.on_command(command);
        }
        self.remember_at_last();
        self.linger().await;
        let peers: Vec<_> = self.swarm.connected_peers().copied().collect();
        for peer in peers {
            // It may have closed by itself meanwhile.
            let _ = self.swarm.disconnect_peer_id(peer);
        }
        self.linger().await;
        self.shared.connected.store(0, Relaxed);
        self.shared.changed();
        tracing::debug!("the network has stopped");
    }

    /// Polls the swarm without taking messages, until nobody is connected or the time is over.
    async fn linger(&mut self) {
        let until = tokio::time::Instant::now() + LINGER;
        while self.swarm.network_info().num_peers() > 0 {
            match tokio::time::timeout_at(until, self.swarm.select_next_some()).await {
                Ok(SwarmEvent::Behaviour(BehaviourEvent::Relay(_))) => {}
                Ok(event) => self.on_event(event),
                Err(_) => break,
            }
        }
    }
}

fn count_publish(bytes: usize, sent: Result<usize, PublishError>) {
    match sent {
        Ok(_) => {
            counters::PUBLISHED.add(1);
            counters::PUBLISHED_BYTES.add(bytes as u64);
        }
        Err(PublishError::NoPeers) => counters::PUBLISH_NO_PEERS.add(1),
        Err(PublishError::Duplicate) => counters::PUBLISH_DUPLICATE.add(1),
        Err(PublishError::QueueFull) => counters::PUBLISH_QUEUE_FULL.add(1),
        Err(PublishError::TooLarge { .. } | PublishError::RelayOff | PublishError::Stopped) => {}
    }
}
