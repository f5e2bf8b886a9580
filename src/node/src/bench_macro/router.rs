//! The relay routers that a benchmark can give its nodes. The product has its own; a program that compares brings others.

use std::fmt;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use levada_net::{Inbound, NetConfig, NetError, NetHandle, NetTask};

/// What starts the network of a node with some relay router.
pub type Start = fn(NetConfig, Arc<dyn Inbound>) -> BoxFuture<'static, Result<(NetHandle, NetTask), NetError>>;

/// A relay router by its name in the report.
#[derive(Clone, Copy)]
pub struct Router {
    /// Its name.
    pub name: &'static str,
    /// Starts a node with it.
    pub start: Start,
}

impl Router {
    /// The node's own.
    pub const OWN: Self = Self { name: "levada", start: |config, inbound| levada_net::start(config, inbound).boxed() };
}

impl fmt::Debug for Router {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
