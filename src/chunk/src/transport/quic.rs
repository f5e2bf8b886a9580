//! Messages on a QUIC connection: one unidirectional stream each, which ends with the message.

use std::net::{Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use levada_engine::{Arena, count_copy};
use levada_wire::autonomi::announced_len;
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{Connection, Endpoint, RecvStream, VarInt};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};
use tokio::time::timeout;

use super::{Identity, Limits, PeerId, TransportError};
use crate::outgoing::Outgoing;
use crate::stages::{Assembly, ChunkRecord};

/// What nodes are called in TLS: who they are follows from the certificate, not from a name.
pub(super) const SERVER_NAME: &str = "levada-chunk";

/// The protocol's name in TLS.
const ALPN: &[u8] = b"levada-chunk/1";

/// Bytes that a connection holds in QUIC's own buffers while its messages wait for slots.
const RECEIVE_WINDOW_BYTES: u32 = 8 << 20;

/// Bytes under way and not acknowledged, per connection. They are references, so this bounds no memory; it bounds how far a peer
/// that reads nothing can fall behind.
const SEND_WINDOW_BYTES: u64 = 16 << 20;

/// Streams that a peer may have begun and not ended.
const STREAMS_MAX: u32 = 64;

/// Silence after which a connection is given up.
const IDLE: Duration = Duration::from_secs(20);

/// How often a silent connection says that it lives.
const KEEP_ALIVE: Duration = Duration::from_secs(5);

/// The code with which a message is abandoned.
const ABANDONED: VarInt = VarInt::from_u32(1);

/// An endpoint on which clients arrive.
pub(crate) fn server(identity: &Identity, listen: SocketAddr) -> Result<Endpoint, TransportError> {
    let certificate = vec![CertificateDer::from(identity.certificate.clone())];
    let key = PrivatePkcs8KeyDer::from(identity.key.clone());
    let mut tls = rustls::ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(invalid)?
        .with_no_client_auth()
        .with_single_cert(certificate, key.into())
        .map_err(invalid)?;
    tls.alpn_protocols = vec![ALPN.to_vec()];
    let crypto = QuicServerConfig::try_from(tls).map_err(invalid)?;
    let mut config = quinn::ServerConfig::with_crypto(Arc::new(crypto));
    config.transport_config(Arc::new(transport()));
    Ok(Endpoint::server(config, listen)?)
}

/// An endpoint from which nodes are reached.
pub(crate) fn client() -> Result<Endpoint, TransportError> {
    let mut tls = rustls::ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(invalid)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(SelfSigned(provider())))
        .with_no_client_auth();
    tls.alpn_protocols = vec![ALPN.to_vec()];
    let crypto = QuicClientConfig::try_from(tls).map_err(invalid)?;
    let mut config = quinn::ClientConfig::new(Arc::new(crypto));
    config.transport_config(Arc::new(transport()));
    let mut endpoint = Endpoint::client(any_address())?;
    endpoint.set_default_client_config(config);
    Ok(endpoint)
}

/// Connects to a node, whose id its certificate tells.
pub(crate) async fn connect(
    endpoint: &Endpoint,
    host_and_port: &str,
    limits: &Limits,
) -> Result<(PeerId, Connection), TransportError> {
    let connected = async {
        let address = tokio::net::lookup_host(host_and_port).await?.next();
        let address = address.ok_or_else(|| std::io::Error::from(std::io::ErrorKind::AddrNotAvailable))?;
        let connection = endpoint.connect(address, SERVER_NAME)?.await?;
        let certificates =
            connection.peer_identity().and_then(|identity| identity.downcast::<Vec<CertificateDer<'_>>>().ok());
        let first = certificates.and_then(|certificates| certificates.first().cloned());
        let certificate = first.ok_or(TransportError::NotChunk)?;
        Ok((PeerId::of_certificate(&certificate), connection))
    };
    timeout(limits.connect_within, connected).await.map_err(|_| TransportError::NoAnswer)?
}

/// Hands a message to a stream of its own, by reference. The peer may take its time, as long as it takes something.
pub(super) async fn send(connection: &Connection, message: &Outgoing, limits: &Limits) -> Result<(), TransportError> {
    let mut stream = timeout(limits.stall, connection.open_uni()).await.map_err(|_| TransportError::Stalled)??;
    let mut parts = message.without_length();
    let mut rest = &mut parts[..];
    while !rest.is_empty() {
        match timeout(limits.stall, stream.write_chunks(rest)).await {
            Ok(Ok(written)) => rest = &mut rest[written.chunks..],
            Ok(Err(quinn::WriteError::ConnectionLost(error))) => return Err(error.into()),
            Ok(Err(_)) => return Err(TransportError::StreamCut),
            Err(_) => {
                // The stream would end as if the message were complete.
                let _ = stream.reset(ABANDONED);
                return Err(TransportError::Stalled);
            }
        }
    }
    stream.finish().map_err(|_| TransportError::StreamCut)
}

/// Reads the next message into a slot: the only copy that is made of it here.
pub(super) async fn receive(
    connection: &Connection,
    arena: &Arc<Arena<ChunkRecord>>,
    limits: &Limits,
) -> Result<Option<Assembly>, TransportError> {
    let mut stream = match connection.accept_uni().await {
        Ok(stream) => stream,
        Err(quinn::ConnectionError::ApplicationClosed(_) | quinn::ConnectionError::LocallyClosed) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let first = piece(&mut stream, limits).await?.unwrap_or_default();
    let announced = announced_len(&first);
    if announced > limits.message_bytes_max {
        return Err(TransportError::too_long(announced, limits.message_bytes_max));
    }
    let mut assembly = super::claim(arena, announced.max(1)).await?;
    let mut next = Some(first);
    while let Some(mut bytes) = next {
        while !bytes.is_empty() {
            if assembly.is_full() {
                super::grow(&mut assembly, arena).await?;
            }
            let room = assembly.room();
            let taken = bytes.split_to(room.len().min(bytes.len()));
            room[..taken.len()].copy_from_slice(&taken);
            assembly.advance(taken.len());
        }
        if assembly.filled() > limits.message_bytes_max {
            return Err(TransportError::too_long(assembly.filled(), limits.message_bytes_max));
        }
        next = piece(&mut stream, limits).await?;
    }
    count_copy(assembly.filled());
    Ok(Some(assembly))
}

/// What comes next of a stream, at most as much as a packet holds; none at its end.
async fn piece(stream: &mut RecvStream, limits: &Limits) -> Result<Option<bytes::Bytes>, TransportError> {
    let read = timeout(limits.message_within, stream.read_chunk(usize::MAX, true)).await;
    match read.map_err(|_| TransportError::TooSlow)? {
        Ok(chunk) => Ok(chunk.map(|chunk| chunk.bytes)),
        Err(quinn::ReadError::ConnectionLost(error)) => Err(error.into()),
        Err(_) => Err(TransportError::StreamCut),
    }
}

fn transport() -> quinn::TransportConfig {
    let mut config = quinn::TransportConfig::default();
    config
        .max_concurrent_uni_streams(VarInt::from_u32(STREAMS_MAX))
        .max_concurrent_bidi_streams(VarInt::from_u32(0))
        .receive_window(VarInt::from_u32(RECEIVE_WINDOW_BYTES))
        .stream_receive_window(VarInt::from_u32(RECEIVE_WINDOW_BYTES))
        .send_window(SEND_WINDOW_BYTES)
        .datagram_receive_buffer_size(None)
        .keep_alive_interval(Some(KEEP_ALIVE))
        .max_idle_timeout(Some(VarInt::from_u32(IDLE.as_millis() as u32).into()));
    config
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn invalid(error: impl std::error::Error + Send + Sync + 'static) -> TransportError {
    std::io::Error::new(std::io::ErrorKind::InvalidInput, error).into()
}

/// A socket for both families where the machine has them.
fn any_address() -> SocketAddr {
    let both = SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0));
    if UdpSocket::bind(both).is_ok() { both } else { SocketAddr::from(([0, 0, 0, 0], 0)) }
}

/// Takes every certificate whose key signs the handshake: the certificate is the node's identity, and no authority vouches for
/// it.
#[derive(Debug)]
struct SelfSigned(Arc<CryptoProvider>);

impl ServerCertVerifier for SelfSigned {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
