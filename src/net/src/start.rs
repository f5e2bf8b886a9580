//! Opening the listeners and building the task.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use libp2p::core::transport::ListenerId;
use libp2p::multiaddr::Protocol;
use libp2p::swarm::{Config, SwarmEvent};
use libp2p::{Multiaddr, Swarm, TransportError};
use tokio::sync::{mpsc, watch};

use crate::behaviour::Behaviour;
use crate::config::NetConfig;
use crate::error::NetError;
use crate::handle::{COMMANDS_MAX, NetHandle, Shared, VERDICTS_MAX};
use crate::inbound::Inbound;
use crate::relay::{Relay, own};
use crate::service::Service;
use crate::stall::Stall;
use crate::transport;
use crate::workers::{Placement, Workers};

/// Peers outside of every mesh, and clients between two requests, have no stream open and are still wanted.
const IDLE_TIMEOUT: Duration = Duration::from_secs(u64::MAX);
const TCP_FLAG: &str = "--tcp-port";
const WEBSOCKET_FLAG: &str = "--websocket-port";

/// The network's task: a future that ends after [`NetHandle::shutdown`], or when no handle is left. Nothing happens unless it is
/// polled; spawn it, or await it on a thread of its own.
#[must_use = "the network does nothing unless its task is polled"]
pub struct NetTask(BoxFuture<'static, ()>);

impl Future for NetTask {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.0.poll_unpin(cx)
    }
}

/// Opens every listener and gives the handle, and the task to be run. Must be called inside of a tokio runtime with I/O and time.
///
/// # Errors
///
/// [`NetError`]: a port in use is [`NetError::Listen`], which names the address and the flag.
pub async fn start(config: NetConfig, inbound: Arc<dyn Inbound>) -> Result<(NetHandle, NetTask), NetError> {
    config.validate()?;
    let stall = Arc::new(Stall::default());
    let relay = config.relay.then(|| own(&config, inbound.clone(), stall.clone())).transpose()?;
    launch(config, relay, stall).await
}

/// The same with another relay router, or without one.
///
/// # Errors
///
/// [`NetError`], as [`start`].
pub async fn start_with<R: Relay + Send>(
    config: NetConfig,
    relay: Option<R>,
) -> Result<(NetHandle, NetTask), NetError> {
    config.validate()?;
    launch(config, relay, Arc::default()).await
}

async fn launch<R: Relay + Send>(
    config: NetConfig,
    relay: Option<R>,
    stall: Arc<Stall>,
) -> Result<(NetHandle, NetTask), NetError> {
    let placement = (config.workers > 0).then(|| Arc::new(Placement::new(config.workers)));
    let swarm_config = match &placement {
        Some(placement) => {
            Config::with_executor(Workers::start(placement.clone(), &config.worker_cores).map_err(NetError::Workers)?)
        }
        None => Config::with_tokio_executor(),
    };
    let mut swarm = Swarm::<Behaviour<R>>::new(
        transport::build(config.key.keypair(), config.transport, config.websocket_tls.as_ref())?,
        Behaviour::new(&config, relay, placement),
        config.key.peer_id(),
        swarm_config.with_idle_connection_timeout(IDLE_TIMEOUT),
    );
    for address in &config.external_addresses {
        swarm.add_external_address(address.clone());
    }
    let shared = Arc::new(Shared {
        peer_id: config.key.peer_id(),
        config: config.clone(),
        stall,
        external_addresses: config.external_addresses.clone(),
        listen_addresses: watch::Sender::default(),
        connected: AtomicUsize::new(0),
        changes: watch::Sender::default(),
        stop: watch::Sender::default(),
    });
    let (commands, command_queue) = mpsc::channel(COMMANDS_MAX);
    let (reports, report_queue) = mpsc::channel(VERDICTS_MAX);
    let listeners = open(&config, &mut swarm)?;
    let mut service = Service::new(config, swarm, shared.clone(), command_queue, report_queue);
    settle(&mut service, listeners).await?;
    Ok((NetHandle { shared, commands, reports }, NetTask(service.run().boxed())))
}

type Listeners = Vec<(ListenerId, &'static str)>;

fn open<R: Relay>(config: &NetConfig, swarm: &mut Swarm<Behaviour<R>>) -> Result<Listeners, NetError> {
    if !config.listen {
        return Ok(Listeners::new());
    }
    let tcp = |port| Multiaddr::from(config.listen_address).with(Protocol::Tcp(port));
    let mut wanted = vec![(tcp(config.tcp_port), config.tcp_port, TCP_FLAG)];
    if let Some(port) = config.websocket_port {
        let websocket =
            if config.websocket_tls.is_some() { Protocol::Wss("/".into()) } else { Protocol::Ws("/".into()) };
        wanted.push((tcp(port).with(websocket), port, WEBSOCKET_FLAG));
    }
    let mut listeners = Vec::with_capacity(wanted.len());
    for (address, port, flag) in wanted {
        let failed = |source| NetError::Listen { address: address.clone(), flag, source };
        check_free(config.listen_address, port).map_err(failed)?;
        let listener = swarm.listen_on(address.clone()).map_err(|error| match error {
            TransportError::Other(source) => failed(source),
            TransportError::MultiaddrNotSupported(_) => failed(io::ErrorKind::Unsupported.into()),
        })?;
        listeners.push((listener, flag));
    }
    Ok(listeners)
}

/// libp2p's listeners let several processes of one user share a port, and the system would spread the peers over them. So the port
/// is tried without that option first.
fn check_free(address: IpAddr, port: u16) -> io::Result<()> {
    if port == 0 { Ok(()) } else { TcpListener::bind(SocketAddr::new(address, port)).map(drop) }
}

/// Waits until every listener knows an address. Other events are handled as ever: a peer may come at once.
async fn settle<R: Relay>(service: &mut Service<R>, mut waiting: Listeners) -> Result<(), NetError> {
    while !waiting.is_empty() {
        let event = service.swarm.select_next_some().await;
        match &event {
            SwarmEvent::NewListenAddr { listener_id, .. } => waiting.retain(|(id, _)| id != listener_id),
            SwarmEvent::ListenerClosed { listener_id, .. } => {
                if let Some((_, flag)) = waiting.iter().find(|(id, _)| id == listener_id) {
                    return Err(NetError::ListenerClosed { flag });
                }
            }
            _ => {}
        }
        service.on_event(event);
    }
    // A listener on all interfaces tells their addresses one by one; those that are known by now belong to the answer.
    while let Some(event) = service.swarm.select_next_some().now_or_never() {
        service.on_event(event);
    }
    Ok(())
}
