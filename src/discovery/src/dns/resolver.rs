//! Who is asked for the texts of a name.

use std::future::Future;
use std::net::SocketAddr;

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{NameServerConfig, ResolverConfig};
use hickory_resolver::net::runtime::TokioRuntimeProvider;

/// A name that could not be looked up.
#[derive(Debug, thiserror::Error)]
#[error("{name}: {reason}")]
pub struct LookupError {
    /// The name.
    pub name: String,
    /// What the resolver said.
    pub reason: String,
}

/// Looks texts up.
pub trait Resolver: Sync {
    /// Every TXT record of `name`, the parts of each joined.
    fn texts(&self, name: &str) -> impl Future<Output = Result<Vec<String>, LookupError>> + Send;
}

/// The system's resolver, or name servers given by address.
#[derive(Debug)]
pub struct SystemResolver(TokioResolver);

impl SystemResolver {
    /// Asks `servers`, or those of the system when there are none.
    ///
    /// # Errors
    /// When the system's configuration cannot be read.
    pub fn new(servers: &[SocketAddr]) -> Result<Self, LookupError> {
        let failed = |error: &dyn std::fmt::Display| LookupError { name: "resolver".into(), reason: error.to_string() };
        let builder = if servers.is_empty() {
            TokioResolver::builder_tokio().map_err(|error| failed(&error))?
        } else {
            let server = |address: &SocketAddr| {
                let mut server = NameServerConfig::udp_and_tcp(address.ip());
                server.connections.iter_mut().for_each(|connection| connection.port = address.port());
                server
            };
            let config = ResolverConfig::from_parts(None, Vec::new(), servers.iter().map(server).collect());
            TokioResolver::builder_with_config(config, TokioRuntimeProvider::default())
        };
        builder.build().map(Self).map_err(|error| failed(&error))
    }
}

impl Resolver for SystemResolver {
    async fn texts(&self, name: &str) -> Result<Vec<String>, LookupError> {
        // With a dot at its end no search domain is tried.
        let found = self.0.txt_lookup(format!("{name}.")).await;
        let found = found.map_err(|error| LookupError { name: name.to_owned(), reason: error.to_string() })?;
        Ok(found.answers().iter().filter_map(|record| text_of(&record.data)).collect())
    }
}

fn text_of(data: &hickory_resolver::proto::rr::RData) -> Option<String> {
    match data {
        hickory_resolver::proto::rr::RData::TXT(text) => String::from_utf8(text.txt_data.concat()).ok(),
        _ => None,
    }
}
