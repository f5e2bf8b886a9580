//! The scenario behind the comparison's rows about the operator's surface: a node with peers in this process, asked over loopback.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::routing::post;
use levada_net::NetHandle;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::bench_service::peers::start;
use crate::config::Config;
use crate::node::Node;

/// The only node on its ports, with nothing that would look for others.
pub const QUIET: [&str; 8] = [
    "--listen-address=127.0.0.1",
    "--tcp-port=0",
    "--websocket-support=false",
    "--rest-port=0",
    "--metrics-server-port=0",
    "--discv5-discovery=false",
    "--log-level=NONE",
    "--ip-colocation-limit=0",
];

/// Where the servers of the node are.
#[derive(Debug, Clone, Copy)]
pub struct Servers {
    /// REST.
    pub rest: SocketAddr,
    /// Metrics.
    pub metrics: SocketAddr,
}

/// Lets `measure` ask a node with the flags of [`QUIET`] and `flags`, to which `peers` relay peers are connected, and stops it.
pub fn with_node<T: Send + 'static>(
    flags: &[&str],
    peers: usize,
    measure: impl FnOnce(Servers) -> T + Send + 'static,
) -> T {
    let runtime = Runtime::new().expect("the system grants threads");
    let figure = runtime.block_on(async {
        let flags = QUIET.iter().chain(flags).map(|flag| (*flag).into());
        let loaded = Config::load(flags, []).unwrap_or_else(|errors| panic!("{errors}"));
        let node = Node::start(&loaded.config).await.expect("a node starts");
        let listening = node.listening();
        let mut connected = Vec::new();
        for _ in 0..peers {
            connected.push(start(&listening.peers[0], true).await);
        }
        let servers = Servers {
            rest: listening.rest.expect("REST is served"),
            metrics: listening.metrics.expect("metrics are served"),
        };
        let figure = tokio::task::spawn_blocking(move || measure(servers)).await.expect("the measure does not panic");
        connected.iter().for_each(NetHandle::shutdown);
        node.stop().await;
        figure
    });
    runtime.shutdown_timeout(Duration::from_secs(5));
    figure
}

/// A server of the same HTTP library that takes the body of a POST to a path and says OK, until it is dropped.
pub struct BareHandler {
    /// Where it listens.
    pub address: SocketAddr,
    runtime: Option<Runtime>,
}

impl BareHandler {
    /// Starts it, on threads of its own.
    pub fn start(path: &str) -> Self {
        let runtime = Runtime::new().expect("the system grants threads");
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let router = Router::new().route(path, post(async |_: Bytes| "OK"));
        runtime.spawn(async { axum::serve(listener, router).await });
        Self { address, runtime: Some(runtime) }
    }
}

impl Drop for BareHandler {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
