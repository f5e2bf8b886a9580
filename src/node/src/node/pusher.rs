//! Publishing for light clients (19/WAKU2-LIGHTPUSH): a pushed message goes the path of every message, as it came.

use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use levada_net::NetHandle;
use levada_net::lightpush::{Publisher, Push, PushFailure};
use levada_wire::waku::message::{MessageSpans, decode};
use levada_wire::waku::sharding::pubsub_topic_of;
use levada_wire::waku::topics::PubsubTopic;

use crate::node::ingress::Ingress;
use crate::node::publish::{self, SizeLimits, Tickets};
use crate::node::subscriptions::Subscriptions;
use crate::rest::PublishError;

/// What publishing takes.
#[derive(Clone)]
pub struct Pusher {
    /// Where messages enter.
    pub ingress: Arc<Ingress>,
    /// Who waits for them.
    pub tickets: Arc<Tickets>,
    /// What the node takes part in.
    pub subscriptions: Arc<Subscriptions>,
    /// The network.
    pub net: NetHandle,
    /// The cluster of every topic.
    pub cluster_id: u16,
    /// Shards for autosharding; 0 for static sharding.
    pub num_shards_in_network: u16,
    /// Largest encoded message, in bytes.
    pub message_bytes_max: usize,
}

impl Publisher for Pusher {
    fn publish(&self, push: Push) -> BoxFuture<'static, Result<u32, PushFailure>> {
        let pusher = self.clone();
        async move { pusher.push(push).await }.boxed()
    }
}

impl Pusher {
    /// The message is judged before peers are looked for, as nwaku does: a bad one is told so whoever is there.
    pub async fn push(&self, push: Push) -> Result<u32, PushFailure> {
        let Push { pubsub_topic, message } = push;
        if message.len() > self.message_bytes_max {
            return Err(PushFailure::TooLarge { bytes_max: self.message_bytes_max });
        }
        let spans = decode(&message).map_err(|error| PushFailure::Invalid(error.to_string()))?;
        let topic = self.topic_of(pubsub_topic.as_deref(), &message, &spans)?;
        let number = self.subscriptions.number(topic).await.ok_or(PushFailure::UnsupportedTopic)?;
        let name = topic.to_string();
        let peers = self.net.subscribers(&name).await;
        if peers == 0 {
            return Err(PushFailure::NoPeers);
        }
        let limits = SizeLimits {
            message_bytes_max: self.message_bytes_max,
            on_topic_bytes_max: self.net.message_bytes_max(&name),
        };
        let published = publish::publish_encoded(&self.ingress, &self.tickets, number, &message, &spans, limits).await;
        match published {
            Ok(published) if published.repeated => Err(PushFailure::Duplicate),
            Ok(_) => Ok(u32::try_from(peers).unwrap_or(u32::MAX)),
            Err(error) => Err(failure_of(error, self.message_bytes_max)),
        }
    }

    fn topic_of(&self, name: Option<&str>, message: &Bytes, spans: &MessageSpans) -> Result<PubsubTopic, PushFailure> {
        match name {
            Some(name) => PubsubTopic::parse(name).map_err(|_| PushFailure::UnsupportedTopic),
            None if self.num_shards_in_network == 0 => Err(PushFailure::TopicMissing),
            None => pubsub_topic_of(spans.view(message).content_topic, self.cluster_id, self.num_shards_in_network)
                .map_err(|error| PushFailure::ContentTopic(error.to_string())),
        }
    }
}

fn failure_of(error: PublishError, bytes_max: usize) -> PushFailure {
    match error {
        PublishError::TooLarge { .. } => PushFailure::TooLarge { bytes_max },
        PublishError::Invalid(text) => PushFailure::Invalid(text),
        PublishError::NotSubscribed { .. } => PushFailure::UnsupportedTopic,
        other => PushFailure::Unavailable(other.to_string()),
    }
}
