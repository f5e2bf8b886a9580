//! The metrics endpoint: a table of sources, read when Prometheus scrapes `/metrics`.

mod dashboard;
mod process;
mod table;
mod value;

#[cfg(test)]
mod tests;

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use prometheus_client::encoding::prometheus_text;
use prometheus_client::registry::Registry;

pub use dashboard::dashboard;
use table::Preparations;
pub use table::{Kind, Labels, Metrics};
pub use value::Value;

use crate::rest::server::{self, Service};
use crate::rest::{ServeError, ServerLimits};

const SERVICE: Service =
    Service { name: "metrics", flag: "--metrics-server-address, --metrics-server-port", answered: |_| {} };

const POINTER: &str = "the metrics of this node are at /metrics\n";

/// Serves `metrics` on `address`, and returns the address bound (port 0 asks for a free one) with the future that serves
/// it, which ends after `shutdown` once open scrapes are answered or their time is over.
///
/// # Errors
/// [`ServeError::Bind`] when the address cannot be listened on.
pub async fn serve(
    address: SocketAddr,
    metrics: Metrics,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<(SocketAddr, impl Future<Output = ()> + Send + 'static), ServeError> {
    let limits = ServerLimits { connections_max: 32, ..ServerLimits::default() };
    let router = router(metrics);
    server::serve(address, SERVICE, move || router.clone(), limits, shutdown).await
}

fn router(metrics: Metrics) -> Router {
    Router::new()
        .route("/", get(async || POINTER))
        .route("/metrics", get(scrape))
        .fallback(async || (StatusCode::NOT_FOUND, POINTER))
        .with_state(Arc::new(metrics.into_registry()))
}

async fn scrape(State(table): State<Arc<(Registry, Preparations)>>) -> Response {
    let (registry, preparations) = &*table;
    for prepare in &preparations.0 {
        prepare().await;
    }
    let mut text = String::new();
    match prometheus_text::encode(&mut text, registry) {
        Ok(()) => ([(header::CONTENT_TYPE, prometheus_text::CONTENT_TYPE)], text).into_response(),
        Err(error) => {
            let text = format!("the metrics could not be encoded: {error}");
            (StatusCode::INTERNAL_SERVER_ERROR, text).into_response()
        }
    }
}
