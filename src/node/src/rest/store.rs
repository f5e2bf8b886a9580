//! GET /store/v3/messages: the node's own archive, or that of a peer, over HTTP (13/WAKU2-STORE).

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use levada_archive::{Page, StoredMessage};
use levada_wire::hash::Hex;
use serde::Serialize;
use tokio::time::timeout;

use super::error::{QueryError, Refusal};
use super::message::Outgoing;
use super::table::{Operation, Parameter, Route, in_json, in_text};
use super::{Api, store_query};

/// How long a query may take inside the node.
const QUERY_TIME_MAX: Duration = Duration::from_secs(30);

const fn parameter(name: &'static str, kind: &'static str, meaning: &'static str) -> Parameter {
    Parameter { name, kind, meaning }
}

const PARAMETERS: &[Parameter] = &[
    parameter(
        "peerAddr",
        "string",
        "The multiaddress of the store node to ask; the node itself if it has an archive and this is left out.",
    ),
    parameter("includeData", "boolean", "Whether messages are wanted, or their hashes only; false by default."),
    parameter("pubsubTopic", "string", "Only messages of this pubsub topic."),
    parameter("contentTopics", "string", "Only messages with one of these content topics, separated by commas."),
    parameter("startTime", "integer", "Only messages at or after this time, nanoseconds since the epoch."),
    parameter("endTime", "integer", "Only messages at or before this time, nanoseconds since the epoch."),
    parameter(
        "hashes",
        "string",
        "Only messages with one of these hashes, 0x and 64 hexadecimal digits, separated by commas.",
    ),
    parameter("cursor", "string", "Goes on behind the message with this hash."),
    parameter("ascending", "boolean", "Whether to walk from the oldest message to the newest; true by default."),
    parameter("pageSize", "integer", "Messages per page; 20 by default, at most 100."),
];

pub(super) const ROUTES: &[Route] = &[Route {
    path: "/store/v3/messages",
    operations: &[Operation {
        summary: "A page of archived messages.",
        mount: || get(messages),
        parameters: PARAMETERS,
        answers: &[
            in_json(
                200,
                "StorePage",
                "The page; or, with a statusCode other than 200 in it, why the store node asked has none.",
            ),
            in_text(400, "A parameter is wrong; the text names it."),
            in_text(412, "The node has no archive, and no connected peer serves one."),
            in_text(429, "The store node asked has had too many requests."),
            in_text(500, "The archive failed, or the store node asked cannot be reached or understood."),
            in_text(503, "The archive is busy, or the node shutting down."),
        ],
        ..Operation::PLAIN
    }],
}];

/// Answers one page of messages.
async fn messages(
    State(api): State<Arc<Api>>,
    pairs: Result<Query<Vec<(String, String)>>, QueryRejection>,
) -> Result<Response, Refusal> {
    let Query(pairs) = pairs.map_err(|_| Refusal::bad_request("the query string is not a list of name=value pairs"))?;
    let (query, peer) = store_query::parse(&pairs)?;
    let found = match peer {
        Some(peer) => {
            let asked = timeout(QUERY_TIME_MAX, api.backend.query_peer(peer, query)).await;
            asked.unwrap_or(Err(QueryError::NoAnswer))
        }
        None => timeout(QUERY_TIME_MAX, api.backend.query(query)).await.unwrap_or(Err(QueryError::Busy)),
    };
    match found {
        Ok(page) => Ok(answer(200, "OK", &page)),
        // What a store node says of its refusal is handed on, as in nwaku.
        Err(QueryError::Refused { code, text }) => Ok(answer(code, &text, &Page::default())),
        Err(error) => Err(error.into()),
    }
}

fn answer(status_code: u32, status_desc: &str, page: &Page) -> Response {
    let messages = page.messages.iter().map(MessageAnswer::from).collect();
    let pagination_cursor = page.cursor.map(hex_text);
    Json(PageAnswer { request_id: "", status_code, status_desc, messages, pagination_cursor }).into_response()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PageAnswer<'a> {
    /// HTTP joins answer and request, so that this field of the wire protocol has nothing to say.
    request_id: &'static str,
    status_code: u32,
    status_desc: &'a str,
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
