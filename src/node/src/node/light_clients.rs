//! The node as a client of services: what REST has a lightpush or a store node do, this node itself or a peer.

use std::sync::Arc;

use bytes::Bytes;
use levada_archive::{Direction, Page, Query, StoredBody, StoredMessage};
use levada_net::lightpush::{LightpushClientError, Push, push, push_v2};
use levada_net::store::{FetchedMessage, FetchedPage, StoreClientError, query};
use levada_net::{Multiaddr, NetHandle, PeerId};
use levada_wire::waku::lightpush::{self, LightpushRequest, status};
use levada_wire::waku::sharding::pubsub_topic_of;
use levada_wire::waku::store::{self, StoreRequest};

use crate::node::pusher::Pusher;
use crate::rest::{LightpushVersion, PublishMessage, PushError, QueryError};

/// What requests to services are called; each is alone on its stream.
const REQUEST_ID: &str = "rest";

/// Asks services.
pub struct LightClients {
    /// The network.
    pub net: NetHandle,
    /// The node of `--lightpushnode`.
    pub lightpush_node: Option<PeerId>,
    /// The node of `--storenode`.
    pub store_node: Option<PeerId>,
    /// This node's own lightpush service.
    pub own_lightpush: Option<Arc<Pusher>>,
    /// The cluster of every topic.
    pub cluster_id: u16,
    /// Shards for autosharding; 0 for static sharding.
    pub num_shards_in_network: u16,
    /// Largest encoded message, in bytes.
    pub message_bytes_max: usize,
}

impl LightClients {
    /// Has a message published: by the node that is configured, else by this node's own service, else by any connected peer that serves.
    pub async fn push(
        &self,
        version: LightpushVersion,
        pubsub_topic: Option<String>,
        message: PublishMessage,
    ) -> Result<u32, PushError> {
        let topic = match (pubsub_topic, version) {
            (None, LightpushVersion::V2) => Some(self.shard_of(&message.content_topic)?),
            (topic, _) => topic,
        };
        let message = self.encode(&message)?;
        let configured = self.lightpush_node.filter(|node| self.net.exchange().is_connected(node));
        if let (None, Some(own)) = (configured, &self.own_lightpush) {
            return own.push(Push { pubsub_topic: topic, message }).await.map_err(|failure| {
                let code = failure.status_code();
                let text = match version {
                    LightpushVersion::V2 => failure.info().into_owned(),
                    LightpushVersion::V3 => failure.to_string(),
                };
                PushError::Refused { code, text }
            });
        }
        let protocol = match version {
            LightpushVersion::V2 => lightpush::PROTOCOL_V2,
            LightpushVersion::V3 => lightpush::PROTOCOL_V3,
        };
        let peer = match configured {
            Some(peer) => peer,
            None => self.serving(protocol).await.ok_or(PushError::NoService)?,
        };
        let exchange = self.net.exchange();
        let pushed = match version {
            LightpushVersion::V3 => {
                let pubsub_topic = topic.as_deref();
                let request = LightpushRequest { request_id: REQUEST_ID, pubsub_topic, message: &message };
                push(exchange, &peer, &request).await
            }
            LightpushVersion::V2 => {
                push_v2(exchange, &peer, REQUEST_ID, &topic.unwrap_or_default(), &message).await.map(|()| 0)
            }
        };
        pushed.map_err(push_error)
    }

    /// Version 2 needs the topic; the node that serves finds no shard.
    fn shard_of(&self, content_topic: &str) -> Result<String, PushError> {
        let refused = |text: String| PushError::Refused { code: status::INVALID_MESSAGE, text };
        if self.num_shards_in_network == 0 {
            return Err(refused("Pubsub topic must be specified when static sharding is enabled".to_owned()));
        }
        let shard = pubsub_topic_of(content_topic, self.cluster_id, self.num_shards_in_network);
        shard.map(|topic| topic.to_string()).map_err(|error| refused(format!("Invalid content-topic: {error}")))
    }

    fn encode(&self, message: &PublishMessage) -> Result<Bytes, PushError> {
        let message = message.to_message();
        let refused = |text: String| PushError::Refused { code: status::INVALID_MESSAGE, text };
        let bytes = message.encoded_len();
        if bytes > self.message_bytes_max {
            return Err(refused(format!("Message size exceeded maximum of {} bytes", self.message_bytes_max)));
        }
        let mut out = vec![0; bytes];
        message.encode_into(&mut out).map_err(|error| refused(error.to_string()))?;
        Ok(out.into())
    }

    /// Asks the store node at an address, which is connected to first.
    pub async fn query_at(&self, address: Multiaddr, wanted: &Query) -> Result<Page, QueryError> {
        let peer =
            self.net.connect(address).await.map_err(|error| {
                QueryError::Peer(format!("the store node of peerAddr cannot be connected to: {error}"))
            })?;
        self.query_of(peer, wanted).await
    }

    /// Asks the configured store node, else any connected peer that serves an archive.
    pub async fn query_any(&self, wanted: &Query) -> Result<Page, QueryError> {
        let configured = self.store_node.filter(|node| self.net.exchange().is_connected(node));
        let peer = match configured {
            Some(peer) => peer,
            None => self.serving(store::PROTOCOL).await.ok_or(QueryError::NotMounted)?,
        };
        self.query_of(peer, wanted).await
    }

    async fn query_of(&self, peer: PeerId, wanted: &Query) -> Result<Page, QueryError> {
        let request = StoreRequest {
            request_id: REQUEST_ID,
            include_data: wanted.include_data,
            pubsub_topic: wanted.pubsub_topic.as_deref(),
            content_topics: wanted.content_topics.iter().map(String::as_str).collect(),
            time_start: wanted.time_start,
            time_end: wanted.time_end,
            message_hashes: wanted.hashes.clone(),
            cursor: wanted.cursor,
            forward: Some(wanted.direction == Direction::Forward),
            limit: wanted.page_size,
        };
        query(self.net.exchange(), &peer, &request).await.map(page_of).map_err(query_error)
    }

    /// A connected peer that says it serves a protocol.
    async fn serving(&self, protocol: &str) -> Option<PeerId> {
        let peers = self.net.peers().await;
        let serves = |peer: &levada_net::PeerInfo| peer.protocols.iter().any(|served| served == protocol);
        // The same one each time while the peers are the same.
        peers.iter().filter(|peer| serves(peer)).map(|peer| peer.peer_id).min()
    }
}

fn push_error(error: LightpushClientError) -> PushError {
    match error {
        LightpushClientError::Refused { code, text } => PushError::Refused { code, text },
        LightpushClientError::RefusedV2(text) => PushError::Refused { code: v2_code(&text), text },
        error => PushError::Failed(error.to_string()),
    }
}

/// Version 2 has no codes, and one text that clients know.
fn v2_code(text: &str) -> u32 {
    if text.starts_with("TOO_MANY_REQUESTS") { status::TOO_MANY_REQUESTS } else { status::INTERNAL_SERVER_ERROR }
}

fn query_error(error: StoreClientError) -> QueryError {
    match error {
        StoreClientError::Refused { code: store::status::TOO_MANY_REQUESTS, .. } => QueryError::TooManyRequests,
        StoreClientError::Refused { code, text } => QueryError::Refused { code, text },
        error => QueryError::Peer(format!("the store node gives no page: {error}")),
    }
}

fn page_of(fetched: FetchedPage) -> Page {
    Page { messages: fetched.messages.into_iter().map(message_of).collect(), cursor: fetched.cursor }
}

fn message_of(fetched: FetchedMessage) -> StoredMessage {
    let body = fetched.body.map(|(data, spans, pubsub_topic)| {
        let message = spans.view(&data);
        StoredBody {
            pubsub_topic,
            content_topic: message.content_topic.to_owned(),
            payload: message.payload.to_vec(),
            version: message.version,
            timestamp: message.timestamp,
            meta: message.meta.to_vec(),
        }
    });
    StoredMessage { hash: fetched.hash, body }
}

#[cfg(test)]
mod tests {
    use levada_wire::waku::lightpush::status;

    use super::{LightpushClientError, PushError, QueryError, StoreClientError, push_error, query_error};

    #[test]
    fn refusals_keep_their_codes() {
        let text = || "why".to_owned();
        let refused = push_error(LightpushClientError::Refused { code: 505, text: text() });
        assert_eq!(refused, PushError::Refused { code: 505, text: text() });
        for (words, expected) in [("TOO_MANY_REQUESTS", 429), ("not_published_to_any_peer", 500)] {
            let refused = push_error(LightpushClientError::RefusedV2(words.to_owned()));
            assert!(matches!(refused, PushError::Refused { code, .. } if code == expected), "{words}");
        }
        assert_eq!(status::TOO_MANY_REQUESTS, 429);
        let limited = query_error(StoreClientError::Refused { code: 429, text: text() });
        assert!(matches!(limited, QueryError::TooManyRequests));
        let refused = query_error(StoreClientError::Refused { code: 300, text: text() });
        assert!(matches!(refused, QueryError::Refused { code: 300, .. }));
        assert!(matches!(query_error(StoreClientError::OtherRequest), QueryError::Peer(_)));
    }
}
