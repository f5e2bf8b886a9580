//! Where a node is reached: both transports let clients in, as many as there may be.

use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;

use super::connections::Inbound;
use super::{NodeOptions, StartError};
use crate::transport::{Identity, PeerAddress, PeerId, Receiver, Scheme, Sender, quic, tcp};

/// Sockets that listen.
#[derive(Debug)]
pub(super) struct Listeners {
    tcp: Option<TcpListener>,
    quic: Option<quinn::Endpoint>,
    /// Where.
    pub addresses: Vec<PeerAddress>,
}

impl Listeners {
    /// Opens those that the options name.
    pub async fn open(options: &NodeOptions, identity: &Identity) -> Result<Self, StartError> {
        let mut listeners = Self { tcp: None, quic: None, addresses: Vec::new() };
        if let Some(address) = options.tcp {
            let failed =
                |source: std::io::Error| StartError::Listen { scheme: Scheme::Tcp, address, source: source.into() };
            let listener = TcpListener::bind(address).await.map_err(failed)?;
            listeners.addresses.push(PeerAddress::of(Scheme::Tcp, listener.local_addr().map_err(failed)?));
            listeners.tcp = Some(listener);
        }
        if let Some(address) = options.quic {
            let failed = |source| StartError::Listen { scheme: Scheme::Quic, address, source };
            let endpoint = quic::server(identity, address).map_err(failed)?;
            let local = endpoint.local_addr().map_err(|error| failed(error.into()))?;
            listeners.addresses.push(PeerAddress::of(Scheme::Quic, local));
            listeners.quic = Some(endpoint);
        }
        if listeners.addresses.is_empty() { Err(StartError::NoAddress) } else { Ok(listeners) }
    }

    /// Lets clients in until the node stops.
    pub fn serve(self, tasks: &mut JoinSet<()>, inbound: &Inbound, id: PeerId, connections_max: usize) {
        let room = Arc::new(Semaphore::new(connections_max.clamp(1, Semaphore::MAX_PERMITS)));
        if let Some(listener) = self.tcp {
            tasks.spawn(accept_tcp(listener, inbound.clone(), id, room.clone()));
        }
        if let Some(endpoint) = self.quic {
            tasks.spawn(accept_quic(endpoint, inbound.clone(), room));
        }
    }
}

/// Room for one more connection; none once the node stops.
async fn admitted(room: &Arc<Semaphore>, stopping: &mut watch::Receiver<bool>) -> Option<OwnedSemaphorePermit> {
    tokio::select! {
        permit = room.clone().acquire_owned() => permit.ok(),
        _ = stopping.wait_for(|stopping| *stopping) => None,
    }
}

async fn accept_tcp(listener: TcpListener, inbound: Inbound, id: PeerId, room: Arc<Semaphore>) {
    let mut stopping = inbound.stopping.clone();
    let mut clients = JoinSet::new();
    while let Some(permit) = admitted(&room, &mut stopping).await {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stopping.wait_for(|stopping| *stopping) => break,
        };
        let Ok((stream, peer)) = accepted else {
            // Out of descriptors, or a client that left at once: others must not spin on it.
            tokio::time::sleep(inbound.limits.stall / 50).await;
            continue;
        };
        let inbound = inbound.clone();
        clients.spawn(async move {
            let _permit = permit;
            match tcp::accept(stream, &id, &inbound.limits).await {
                Ok((reader, writer)) => {
                    inbound.serve(format!("tcp://{peer}"), Receiver::Tcp(reader), Sender::Tcp(writer)).await;
                }
                Err(error) => tracing::warn!(%peer, %error, "a client was not let in"),
            }
        });
        while clients.try_join_next().is_some() {}
    }
    drop(listener);
    while clients.join_next().await.is_some() {}
}

async fn accept_quic(endpoint: quinn::Endpoint, inbound: Inbound, room: Arc<Semaphore>) {
    let mut stopping = inbound.stopping.clone();
    let mut clients = JoinSet::new();
    while let Some(permit) = admitted(&room, &mut stopping).await {
        let incoming = tokio::select! {
            incoming = endpoint.accept() => incoming,
            _ = stopping.wait_for(|stopping| *stopping) => break,
        };
        let Some(incoming) = incoming else { break };
        let inbound = inbound.clone();
        clients.spawn(async move {
            let _permit = permit;
            let peer = incoming.remote_address();
            match incoming.await {
                Ok(connection) => {
                    let halves = (Receiver::Quic(connection.clone()), Sender::Quic(connection));
                    inbound.serve(format!("quic://{peer}"), halves.0, halves.1).await;
                }
                Err(error) => tracing::warn!(%peer, %error, "a client was not let in"),
            }
        });
        while clients.try_join_next().is_some() {}
    }
    while clients.join_next().await.is_some() {}
    endpoint.close(0_u32.into(), b"the node stops");
    endpoint.wait_idle().await;
}
