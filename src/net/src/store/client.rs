//! The client.

use bytes::Bytes;
use levada_wire::error::{DecodeError, ServiceError};
use levada_wire::hash::Digest;
use levada_wire::waku::message::{MessageSpans, decode};
use levada_wire::waku::store::{PROTOCOL, StoreRequest, StoreResponse, status};
use libp2p::PeerId;

use crate::exchange::{Exchange, RequestError};

/// The longest answer that is taken, in bytes: a hundred messages of 150 kB fit.
pub const ANSWER_BYTES_MAX: usize = 16 << 20;

/// A page of another node's archive. Everything lies in the answer as it came.
#[derive(Debug, Clone)]
pub struct FetchedPage {
    /// The messages, ascending by time and hash.
    pub messages: Vec<FetchedMessage>,
    /// The cursor of the next page, if there is one.
    pub cursor: Option<Digest>,
}

/// A message of such a page.
#[derive(Debug, Clone)]
pub struct FetchedMessage {
    /// The deterministic message hash, as the node says it; not recomputed.
    pub hash: Digest,
    /// The encoded WakuMessage, where its fields lie in it, and its pubsub topic; if asked for.
    pub body: Option<(Bytes, MessageSpans, String)>,
}

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreClientError {
    /// The exchange itself failed.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The answer is none.
    #[error("the store node's answer cannot be read: {0}")]
    Malformed(#[from] ServiceError),
    /// A message in the answer is none.
    #[error("a message in the store node's answer cannot be read: {0}")]
    Message(#[from] DecodeError),
    /// The answer is to another query.
    #[error("the store node answers another query")]
    OtherRequest,
    /// The node refused.
    #[error("the store node refuses with status {code}: {text}")]
    Refused {
        /// One of [`status`].
        code: u32,
        /// The node's reason.
        text: String,
    },
}

/// Asks a connected peer for a page.
///
/// # Errors
///
/// [`StoreClientError`].
pub async fn query(
    exchange: &Exchange,
    peer: &PeerId,
    request: &StoreRequest<'_>,
) -> Result<FetchedPage, StoreClientError> {
    let mut out = Vec::new();
    request.encode(&mut out);
    let answer = exchange.request(peer, PROTOCOL, &[&out], ANSWER_BYTES_MAX).await?;
    read(&answer, request.request_id)
}

fn read(answer: &Bytes, request_id: &str) -> Result<FetchedPage, StoreClientError> {
    let response = StoreResponse::decode(answer, ANSWER_BYTES_MAX)?;
    if response.status_code != status::OK {
        let (code, text) = (response.status_code, response.status_desc.to_owned());
        return Err(StoreClientError::Refused { code, text });
    }
    if response.request_id != request_id {
        return Err(StoreClientError::OtherRequest);
    }
    let message = |entry: &levada_wire::waku::store::ReadEntry<'_>| {
        let body = match entry.body {
            Some((message, topic)) => Some((answer.slice_ref(message), decode(message)?, topic.to_owned())),
            None => None,
        };
        Ok(FetchedMessage { hash: entry.hash, body })
    };
    let messages = response.messages.iter().map(message).collect::<Result<_, DecodeError>>()?;
    Ok(FetchedPage { messages, cursor: response.cursor })
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use levada_wire::waku::store::ResponseStatus;

    use super::{StoreClientError, read};

    fn answer(request_id: &str, status_code: u32, entries: &[u8]) -> Bytes {
        let mut out = Vec::new();
        ResponseStatus { request_id, status_code, status_desc: "why" }.put(&mut out);
        out.extend_from_slice(entries);
        out.into()
    }

    #[test]
    fn answers_that_are_no_page() {
        let refused = read(&answer("", 300, &[]), "id");
        assert!(matches!(refused, Err(StoreClientError::Refused { code: 300, text }) if text == "why"));
        assert!(matches!(read(&answer("other", 200, &[]), "id"), Err(StoreClientError::OtherRequest)));
        assert!(matches!(read(&Bytes::from_static(&[0xff]), "id"), Err(StoreClientError::Malformed(_))));
        let entry = [&[0xa2, 0x01, 38, 0x0a, 32][..], &[3; 32], &[0x12, 0, 0x1a, 0]].concat();
        assert!(matches!(read(&answer("id", 200, &entry), "id"), Err(StoreClientError::Message(_))));
    }

    #[test]
    fn a_page_is_not_copied_out_of_its_answer() {
        let message = [0x0a, 1, b'p', 0x12, 1, b't'];
        let entry = [&[0xa2, 0x01, 45, 0x0a, 32][..], &[3; 32], &[0x12, 6], &message, &[0x1a, 1, b'w']].concat();
        let answer = answer("id", 200, &entry);
        let page = read(&answer, "id").expect("a page");
        let (bytes, spans, topic) = page.messages[0].body.as_ref().expect("a body");
        assert_eq!((spans.payload.of(bytes), topic.as_str(), page.cursor), (&b"p"[..], "w", None));
        assert!(answer.as_ptr_range().contains(&bytes.as_ptr()));
    }
}
