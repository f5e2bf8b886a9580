//! What is answered while the node starts: its health, its version, and to all else that it is too early.

use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::http::{Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::backend::{ConnectionStatus, Health, HealthState, ProtocolHealth};
use super::error::Refusal;
use super::{Options, VERSION, origin, state, text};

/// How long a client should wait before it asks again, in seconds.
const RETRY_AFTER_S: &str = "1";

/// The router of the moment: that of the node, once there is one.
#[derive(Clone)]
pub(super) struct Gate {
    node: Arc<OnceLock<Router>>,
    starting: Router,
}

impl Gate {
    pub(super) fn new(protocols: Vec<ProtocolHealth>, options: &Options) -> Self {
        Self { node: Arc::default(), starting: router(protocols, options) }
    }

    /// From now on `router` answers, on connections that are open already too.
    pub(super) fn open(&self, router: Router) {
        // A node becomes ready once.
        let _ = self.node.set(router);
    }

    pub(super) fn router(&self) -> Router {
        self.node.get().unwrap_or(&self.starting).clone()
    }
}

fn router(protocols: Vec<ProtocolHealth>, options: &Options) -> Router {
    let (node, connection) = (HealthState::Initializing, ConnectionStatus::Disconnected);
    let health = Arc::new(Health { node, connection, protocols });
    let router = Router::new()
        .route("/health", get(async move || state::health_answer(&health)))
        .route("/version", get(async || VERSION))
        .route("/debug/v1/version", get(async || VERSION))
        .method_not_allowed_fallback(too_early)
        .fallback(too_early);
    origin::checked(router, &options.allow_origin)
}

async fn too_early(method: Method, uri: Uri) -> Response {
    let path = text::shortened(uri.path());
    let text = format!("{method} {path} is not available while the node is initializing; GET /health says when it is");
    ([(header::RETRY_AFTER, RETRY_AFTER_S)], Refusal::new(StatusCode::SERVICE_UNAVAILABLE, text)).into_response()
}
