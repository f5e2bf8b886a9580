//! The way out: verdicts go to the relay router, accepted publications to its peers, straight from their slots.

use std::sync::Arc;

use levada_engine::{Held, Sink};
use levada_net::{NetHandle, PeerHandle, PublishError, Verdict};
use levada_wire::waku::{self, Origin, TopicTable, WakuRecord};
use tokio::sync::Notify;

/// Empties the lanes' egress until the topology has ended. Without a network (`relay` off) envelopes are released.
pub async fn run(mut lanes: Vec<Sink<WakuRecord>>, ready: Arc<Notify>, topics: Arc<TopicTable>, net: NetHandle) {
    while !lanes.iter().all(Sink::is_finished) {
        let mut moved = false;
        for lane in &mut lanes {
            while let Some(envelope) = lane.pop() {
                moved = true;
                send(envelope, &topics, &net).await;
            }
        }
        if !moved {
            ready.notified().await;
        }
    }
}

async fn send(envelope: Held<WakuRecord>, topics: &TopicTable, net: &NetHandle) {
    let record = envelope.record();
    if record.origin == Origin::Gossip {
        drop(envelope);
        // The only error is that the network has stopped, and then no verdict matters.
        let _ = net.report(record.id, PeerHandle(record.peer), verdict(record.verdict)).await;
        return;
    }
    let Some(topic) = topics.name(record.topic) else { return };
    match net.publish(topic, envelope.into_bytes(), Some(record.id)).await {
        Ok(peers) => tracing::debug!(topic, peers, "published"),
        // Nobody to send to is no failure: the message is archived, and a peer that comes later can ask for it.
        Err(PublishError::NoPeers | PublishError::Duplicate) => tracing::debug!(topic, "published to no peer"),
        Err(error) => tracing::warn!(topic, %error, "a published message did not reach the relay"),
    }
}

fn verdict(verdict: waku::Verdict) -> Verdict {
    match verdict {
        waku::Verdict::Accept => Verdict::Accept,
        waku::Verdict::Reject => Verdict::Reject,
        waku::Verdict::Ignore | waku::Verdict::Pending => Verdict::Ignore,
    }
}
