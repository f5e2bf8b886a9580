//! The way out: verdicts go to the relay router, accepted publications to its peers, straight from their slots.

use std::sync::Arc;

use levada_engine::{Held, Sink};
use levada_net::{NetHandle, Verdict};
use levada_wire::waku::{self, Origin, TopicTable, WakuRecord};
use tokio::sync::Notify;

/// Verdicts told to the router at once, so that one busy lane does not keep the others waiting.
const PASS_ENVELOPES: usize = 64;

/// Empties the lanes' egress in turns until the topology has ended.
pub async fn run(mut lanes: Vec<Sink<WakuRecord>>, ready: Arc<Notify>, topics: Arc<TopicTable>, net: NetHandle) {
    let mut verdicts = Vec::with_capacity(PASS_ENVELOPES);
    while !lanes.iter().all(Sink::is_finished) {
        let mut moved = false;
        for lane in &mut lanes {
            for envelope in std::iter::from_fn(|| lane.pop()).take(PASS_ENVELOPES) {
                moved = true;
                let record = envelope.record();
                match record.origin {
                    Origin::Gossip => verdicts.push((envelope, verdict(record.verdict))),
                    Origin::Publish => publish(envelope, &topics, &net).await,
                    // The relay stage keeps it back.
                    Origin::Push | Origin::Resume => {}
                }
            }
            // The only error is that the network has stopped, and then no verdict matters.
            let _ = net.report_many(verdicts.drain(..)).await;
        }
        if !moved {
            ready.notified().await;
        }
    }
}

/// Nobody to send to is no failure: the message is archived, and what becomes of it at the router is counted.
async fn publish(envelope: Held<WakuRecord>, topics: &TopicTable, net: &NetHandle) {
    let record = envelope.record();
    let Some(topic) = topics.name(record.topic) else { return };
    if let Err(error) = net.queue_publish(topic, envelope.into_bytes(), Some(record.id)).await {
        tracing::warn!(topic, %error, "a published message did not reach the relay");
    }
}

fn verdict(verdict: waku::Verdict) -> Verdict {
    match verdict {
        waku::Verdict::Accept => Verdict::Accept,
        waku::Verdict::Reject => Verdict::Reject,
        waku::Verdict::Ignore | waku::Verdict::Pending => Verdict::Ignore,
    }
}
