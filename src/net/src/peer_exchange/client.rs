//! The client.

use bytes::Bytes;
use levada_wire::error::ServiceError;
use levada_wire::waku::peer_exchange::{
    PROTOCOL, PeerExchangeQuery, PeerExchangeResponse, RECORD_BYTES_MAX, RESPONSE_BYTES_MAX, status,
};
use libp2p::PeerId;

use crate::counters;
use crate::exchange::{Exchange, RequestError};

/// Why there are no records.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PeerExchangeClientError {
    /// The exchange itself failed.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The answer is none.
    #[error("the peer's answer cannot be read: {0}")]
    Malformed(#[from] ServiceError),
    /// The peer refused.
    #[error("the peer refuses with status {code}: {text}")]
    Refused {
        /// One of [`status`].
        code: u32,
        /// The peer's reason.
        text: String,
    },
}

/// Asks a connected peer for the records of at most `peers` nodes. Nothing in them is verified yet.
///
/// # Errors
///
/// [`PeerExchangeClientError`].
pub async fn ask(exchange: &Exchange, peer: &PeerId, peers: u64) -> Result<Vec<Bytes>, PeerExchangeClientError> {
    let told = told(exchange, peer, peers).await;
    match &told {
        Ok(records) => counters::PEER_EXCHANGE_RECEIVED.add(records.len() as u64),
        Err(_) => counters::PEER_EXCHANGE_ASK_FAILURES.add(1),
    }
    told
}

async fn told(exchange: &Exchange, peer: &PeerId, peers: u64) -> Result<Vec<Bytes>, PeerExchangeClientError> {
    let mut out = Vec::new();
    PeerExchangeQuery { peers }.encode(&mut out);
    read(&exchange.request(peer, PROTOCOL, &[&out], RESPONSE_BYTES_MAX).await?)
}

/// A peer that says no status is an older one that had no failure.
fn read(answer: &Bytes) -> Result<Vec<Bytes>, PeerExchangeClientError> {
    let response = PeerExchangeResponse::decode(answer)?;
    match response.status_code {
        None | Some(status::SUCCESS) => {
            let fitting = response.records.iter().filter(|record| record.len() <= RECORD_BYTES_MAX);
            Ok(fitting.map(|record| answer.slice_ref(record)).collect())
        }
        Some(code) => {
            Err(PeerExchangeClientError::Refused { code, text: response.status_desc.unwrap_or_default().to_owned() })
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use levada_wire::waku::peer_exchange::PeerExchangeResponse;

    use super::{PeerExchangeClientError, RECORD_BYTES_MAX, read};

    #[test]
    fn records_with_and_without_a_status() {
        let long = [1; RECORD_BYTES_MAX + 1];
        for status_code in [None, Some(200)] {
            let mut out = Vec::new();
            PeerExchangeResponse { records: vec![b"one", &long, b"two"], status_code, status_desc: None }
                .encode(&mut out);
            assert_eq!(read(&out.into()).expect("records"), ["one", "two"], "one is too long to be a record");
        }
        let mut out = Vec::new();
        PeerExchangeResponse { status_code: Some(503), ..PeerExchangeResponse::default() }.encode(&mut out);
        assert!(matches!(read(&out.into()), Err(PeerExchangeClientError::Refused { code: 503, .. })));
        assert!(matches!(read(&Bytes::from_static(&[1])), Err(PeerExchangeClientError::Malformed(_))));
    }
}
