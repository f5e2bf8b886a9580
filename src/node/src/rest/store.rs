//! GET /store/v3/messages: the node's own archive over HTTP (13/WAKU2-STORE).

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use levada_archive::StoredMessage;
use levada_wire::hash::Hex;
use serde::Serialize;
use tokio::time::timeout;

use super::error::{QueryError, Refusal};
use super::message::Outgoing;
use super::{Api, store_query};

/// How long a query may take inside the node.
const QUERY_TIME_MAX: Duration = Duration::from_secs(30);

/// Answers one page of messages.
pub(super) async fn messages(
    State(api): State<Arc<Api>>,
    pairs: Result<Query<Vec<(String, String)>>, QueryRejection>,
) -> Result<Response, Refusal> {
    let Query(pairs) = pairs.map_err(|_| Refusal::bad_request("the query string is not a list of name=value pairs"))?;
    let query = store_query::parse(pairs)?;
    let page = timeout(QUERY_TIME_MAX, api.backend.query(query)).await.unwrap_or(Err(QueryError::Busy))?;
    Ok(Json(PageAnswer {
        request_id: "",
        status_code: 200,
        status_desc: "OK",
        messages: page.messages.iter().map(MessageAnswer::from).collect(),
        pagination_cursor: page.cursor.map(hex_text),
    })
    .into_response())
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PageAnswer<'a> {
    /// HTTP joins answer and request, so that this field of the wire protocol has nothing to say.
    request_id: &'static str,
    status_code: u32,
    status_desc: &'static str,
    messages: Vec<MessageAnswer<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pagination_cursor: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MessageAnswer<'a> {
    message_hash: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Outgoing<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pubsub_topic: Option<&'a str>,
}

fn hex_text(hash: [u8; 32]) -> String {
    format!("0x{}", Hex(&hash))
}

impl<'a> From<&'a StoredMessage> for MessageAnswer<'a> {
    fn from(stored: &'a StoredMessage) -> Self {
        let body = stored.body.as_ref();
        Self {
            message_hash: hex_text(stored.hash),
            message: body.map(Outgoing::from),
            pubsub_topic: body.map(|body| body.pubsub_topic.as_str()),
        }
    }
}
