//! The REST API of the node, compatible with nwaku's: routes, JSON forms and error texts.
//!
//! Every error is text/plain: one sentence that says what is wrong and where. Where this API is stricter than nwaku's,
//! it refuses what would otherwise be answered wrongly in silence: an unknown or repeated query parameter is a 400.

mod admin;
mod backend;
mod body;
pub mod counters;
mod error;
mod filter;
mod lightpush;
mod message;
mod openapi;
mod origin;
mod relay;
mod routes;
pub(crate) mod server;
mod starting;
mod state;
mod store;
mod store_query;
mod table;
mod text;

#[cfg(test)]
mod tests;

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

pub use backend::{
    Admin, Backend, CachedMessage, ConnectionStatus, FilterSubscriber, Health, HealthState, Info, LightpushVersion,
    ProtocolHealth, PublishMessage, Published, Topic,
};
pub use error::{NotSubscribed, PublishError, PushError, QueryError, ServeError, TopicError};
pub use filter::{FilterClient, FilterRefusal};
pub use message::META_BYTES_MAX;
pub use server::ServerLimits;
use starting::Gate;

/// The text of `GET /version`.
pub const VERSION: &str = concat!("v", env!("CARGO_PKG_VERSION"));

/// What the REST API is told at its start.
#[derive(Debug, Clone)]
pub struct Options {
    /// The largest encoded message that the node relays, in bytes (`--max-msg-size`).
    pub message_bytes_max: usize,
    /// Web origins whose pages may use the API (`--rest-allow-origin`), with `*` and `?` as wildcards.
    pub allow_origin: Vec<String>,
    /// What the server lets its clients hold.
    pub limits: ServerLimits,
}

impl Default for Options {
    /// 150 KiB messages, as on The Waku Network.
    fn default() -> Self {
        Self { message_bytes_max: 150 * 1024, allow_origin: Vec::new(), limits: ServerLimits::default() }
    }
}

/// Every route, as a method and a path with the names of its variable segments in braces.
pub fn routes() -> impl Iterator<Item = (&'static str, &'static str)> {
    let methods = |route: &'static table::Route| {
        route.operations.iter().map(move |operation| (operation.method.as_str(), route.path))
    };
    table::routes(true).flat_map(methods)
}

/// What every request sees.
struct Api {
    backend: Arc<dyn Backend>,
    options: Options,
}

const SERVICE: server::Service =
    server::Service { name: "REST", flag: "--rest-address, --rest-port", answered: counters::count };

/// A REST server that listens, whether its node is there or not.
pub struct Opened {
    address: SocketAddr,
    gate: Gate,
    options: Options,
}

impl Opened {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// From now on `backend` answers.
    pub fn ready(&self, backend: Arc<dyn Backend>) {
        self.gate.open(routes::router(Arc::new(Api { backend, options: self.options.clone() })));
    }
}

/// Listens on `address` (port 0 asks for a free one) for a node that is still to come, and returns the server with the future that serves
/// it. Until [`Opened::ready`], the health of the node is INITIALIZING, with `protocols` as they are given, and what needs the node is
/// answered 503. The future ends as that of [`serve`].
///
/// # Errors
/// [`ServeError::Bind`] when the address cannot be listened on.
pub async fn open(
    address: SocketAddr,
    protocols: Vec<ProtocolHealth>,
    options: Options,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<(Opened, impl Future<Output = ()> + Send + 'static), ServeError> {
    let gate = Gate::new(protocols, &options);
    let (routers, limits) = (gate.clone(), options.limits.clone());
    let (address, serving) = server::serve(address, SERVICE, move || routers.router(), limits, shutdown).await?;
    Ok((Opened { address, gate, options }, serving))
}

/// Serves the REST API of `backend` on `address`, and returns the address bound (port 0 asks for a free one) with the
/// future that serves it, which ends after `shutdown` once open requests are answered or their time is over.
///
/// # Errors
/// [`ServeError::Bind`] when the address cannot be listened on.
pub async fn serve(
    address: SocketAddr,
    backend: Arc<dyn Backend>,
    options: Options,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<(SocketAddr, impl Future<Output = ()> + Send + 'static), ServeError> {
    let (opened, serving) = open(address, Vec::new(), options, shutdown).await?;
    opened.ready(backend);
    Ok((opened.address(), serving))
}
