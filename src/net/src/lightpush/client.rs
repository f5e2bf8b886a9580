//! The client of both versions.

use levada_wire::error::ServiceError;
use levada_wire::waku::lightpush::{
    LightpushRequest, LightpushResponse, PROTOCOL_V2, PROTOCOL_V3, PushRequest, PushResponse, RESPONSE_BYTES_MAX,
    status,
};
use libp2p::PeerId;

use crate::exchange::{Exchange, RequestError};

/// Why a message was not published.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LightpushClientError {
    /// The exchange itself failed.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The response is none.
    #[error("the lightpush node's response cannot be read: {0}")]
    Malformed(#[from] ServiceError),
    /// The node refused.
    #[error("the lightpush node refuses with status {code}: {text}")]
    Refused {
        /// One of [`status`].
        code: u32,
        /// The node's reason.
        text: String,
    },
    /// The node refused, by version 2, which has no codes.
    #[error("the lightpush node refuses: {0}")]
    RefusedV2(String),
}

/// Has a connected peer publish an encoded WakuMessage, by version 3; gives to how many peers it went.
///
/// # Errors
///
/// [`LightpushClientError`]. A node that published to nobody counts as one without peers.
pub async fn push(
    exchange: &Exchange,
    peer: &PeerId,
    request: &LightpushRequest<'_>,
) -> Result<u32, LightpushClientError> {
    let mut head = Vec::new();
    request.put_before_message(&mut head);
    let answer = exchange.request(peer, PROTOCOL_V3, &[&head, request.message], RESPONSE_BYTES_MAX).await?;
    outcome(&answer)
}

fn outcome(answer: &[u8]) -> Result<u32, LightpushClientError> {
    let response = LightpushResponse::decode(answer)?;
    let refused = |code, text: &str| Err(LightpushClientError::Refused { code, text: text.to_owned() });
    match (response.status_code, response.relay_peer_count) {
        (status::SUCCESS, Some(0) | None) => refused(status::NO_PEERS_TO_RELAY, "published to no peer"),
        (status::SUCCESS, Some(peers)) => Ok(peers),
        (code, _) => refused(code, response.status_desc.unwrap_or_default()),
    }
}

/// Has a connected peer publish an encoded WakuMessage, by version 2.
///
/// # Errors
///
/// [`LightpushClientError`].
pub async fn push_v2(
    exchange: &Exchange,
    peer: &PeerId,
    request_id: &str,
    pubsub_topic: &str,
    message: &[u8],
) -> Result<(), LightpushClientError> {
    let mut head = Vec::new();
    PushRequest { request_id, push: Some((pubsub_topic, message)) }.put_before_message(&mut head);
    let answer = exchange.request(peer, PROTOCOL_V2, &[&head, message], RESPONSE_BYTES_MAX).await?;
    outcome_v2(&answer)
}

fn outcome_v2(answer: &[u8]) -> Result<(), LightpushClientError> {
    let result = PushResponse::decode(answer)?.result.ok_or(ServiceError::Missing { field: "response" })?;
    if result.is_success {
        Ok(())
    } else {
        Err(LightpushClientError::RefusedV2(result.info.unwrap_or_default().to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::{LightpushClientError, outcome, outcome_v2};

    #[test]
    fn a_success_without_peers_is_none() {
        assert_eq!(outcome(&[0x50, 0xc8, 0x01, 0x60, 3]).expect("published"), 3);
        for answer in [&[0x50, 0xc8, 0x01, 0x60, 0][..], &[0x50, 0xc8, 0x01]] {
            assert!(matches!(outcome(answer), Err(LightpushClientError::Refused { code: 505, .. })));
        }
        assert!(matches!(outcome(&[0x50, 0xad, 0x03]), Err(LightpushClientError::Refused { code: 429, .. })));
        assert!(matches!(outcome(&[]), Err(LightpushClientError::Malformed(_))));
    }

    #[test]
    fn version_2_says_it_in_words() {
        outcome_v2(&[0x1a, 2, 0x08, 1]).expect("published");
        let refused = outcome_v2(&[0x1a, 5, 0x08, 0, 0x12, 1, b'x']);
        assert!(matches!(refused, Err(LightpushClientError::RefusedV2(text)) if text == "x"));
        assert!(matches!(outcome_v2(&[0x0a, 0]), Err(LightpushClientError::Malformed(_))));
    }
}
