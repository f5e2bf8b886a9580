//! The table of routes, the plain answers (health, info, version), and what a request gets that no route serves.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, Uri, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use axum::{Json, Router};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::backend::{Health, ProtocolHealth};
use super::error::Refusal;
use super::{Api, VERSION, counters, relay, store, text};

/// Every route, for the answer to a request that matches none.
const ROUTES: &str = "/health, /info, /version, /debug/v1/info, /debug/v1/version, /relay/v1/subscriptions, \
    /relay/v1/messages/{pubsubTopic}, /relay/v1/auto/subscriptions, /relay/v1/auto/messages, \
    /relay/v1/auto/messages/{contentTopic}, /store/v3/messages";

/// The router of the REST API.
pub(super) fn router(api: Arc<Api>) -> Router {
    let subscriptions = route().post(relay::subscribe).delete(relay::unsubscribe);
    let auto_subscriptions = route().post(relay::auto_subscribe).delete(relay::auto_unsubscribe);
    // A HEAD request must not empty the cache, which it would through GET.
    let messages = head_refused(route().get(relay::take).post(relay::publish), "GET, POST, OPTIONS");
    let auto_messages = head_refused(route().get(relay::auto_take), "GET, OPTIONS");
    Router::new()
        .route("/health", get(health))
        .route("/info", get(info))
        .route("/debug/v1/info", get(info))
        .route("/version", get(async || VERSION))
        .route("/debug/v1/version", get(async || VERSION))
        .route("/relay/v1/subscriptions", options(subscriptions, "POST, DELETE, OPTIONS"))
        .route("/relay/v1/messages/{pubsub_topic}", options(messages, "GET, POST, OPTIONS"))
        .route("/relay/v1/auto/subscriptions", options(auto_subscriptions, "POST, DELETE, OPTIONS"))
        .route("/relay/v1/auto/messages", options(route().post(relay::auto_publish), "POST, OPTIONS"))
        .route("/relay/v1/auto/messages/{content_topic}", options(auto_messages, "GET, OPTIONS"))
        .route("/store/v3/messages", get(store::messages))
        .method_not_allowed_fallback(wrong_method)
        .fallback(not_found)
        .layer(middleware::from_fn(count))
        .with_state(api)
}

fn route() -> MethodRouter<Arc<Api>> {
    MethodRouter::new()
}

/// Answers OPTIONS, which browsers send before they post, with the methods of the route.
fn options(route: MethodRouter<Arc<Api>>, allowed: &'static str) -> MethodRouter<Arc<Api>> {
    route.options(async move || (StatusCode::NO_CONTENT, [(header::ALLOW, allowed)]))
}

fn head_refused(route: MethodRouter<Arc<Api>>, allowed: &'static str) -> MethodRouter<Arc<Api>> {
    route.head(async move || (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, allowed)]))
}

async fn count(request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    counters::REQUESTS.add(1);
    if response.status().is_client_error() {
        counters::REFUSED.add(1);
    } else if response.status().is_server_error() {
        counters::FAILED.add(1);
    }
    response
}

async fn not_found(method: Method, uri: Uri) -> Refusal {
    let path = text::shortened(uri.path());
    let hint = if uri.path().starts_with("/relay/v1/") {
        "; a topic in a path is percent-encoded: %2Fwaku%2F2%2Frs%2F0%2F0"
    } else {
        ""
    };
    Refusal::new(StatusCode::NOT_FOUND, format!("no route serves {method} {path}; the routes are {ROUTES}{hint}"))
}

async fn wrong_method(method: Method, uri: Uri) -> Refusal {
    let path = text::shortened(uri.path());
    let text = format!("{path} does not take {method}; the methods it takes are in the Allow header");
    Refusal::new(StatusCode::METHOD_NOT_ALLOWED, text)
}

async fn health(State(api): State<Arc<Api>>) -> Response {
    let Health { node, connection, protocols } = api.backend.health();
    Json(HealthAnswer {
        node_health: node.as_str(),
        connection_status: connection.as_str(),
        protocols_health: protocols.iter().map(ProtocolAnswer).collect(),
    })
    .into_response()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct HealthAnswer<'a> {
    node_health: &'static str,
    connection_status: &'static str,
    protocols_health: Vec<ProtocolAnswer<'a>>,
}

/// One protocol as clients expect it: the name is the key of the state, and `desc` is there only if it says something.
struct ProtocolAnswer<'a>(&'a ProtocolHealth);

impl Serialize for ProtocolAnswer<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(self.0.name, self.0.state.as_str())?;
        if let Some(description) = &self.0.description {
            map.serialize_entry("desc", description)?;
        }
        map.end()
    }
}

async fn info(State(api): State<Arc<Api>>) -> Response {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct InfoAnswer {
        listen_addresses: Vec<String>,
        enr_uri: String,
    }

    let info = api.backend.info();
    Json(InfoAnswer { listen_addresses: info.listen_addresses, enr_uri: info.enr_uri }).into_response()
}
