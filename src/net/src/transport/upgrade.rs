//! From a socket to a multiplexed, authenticated connection of our own.

use std::sync::Arc;

use futures::{AsyncRead, AsyncWrite};
use levada_wire::mux::mplex::{self, Mplex};
use levada_wire::mux::yamux::{self, Yamux};
use libp2p::PeerId;
use libp2p::core::muxing::StreamMuxerBox;
use multistream_select::{Version, dialer_select_proto, listener_select_proto};

use super::counters::HANDSHAKES_REFUSED;
use super::error::TransportError;
use super::mux::Muxer;
use super::noise::{self, NoiseKeys, Secure, handshake};

/// yamux is preferred; mplex is there because a stock js-waku light client offers nothing else.
pub(super) const MUXERS: [&str; 2] = [yamux::PROTOCOL, mplex::PROTOCOL];

/// Sets a connection up; whoever dialled initiates.
///
/// The muxer is agreed on inside of the handshake if the peer can do that, as js-libp2p does; that saves a round trip.
///
/// # Errors
///
/// [`TransportError`]; the socket is closed then.
pub(super) async fn upgrade<S>(
    socket: S,
    keys: Arc<NoiseKeys>,
    is_initiator: bool,
) -> Result<(PeerId, StreamMuxerBox), TransportError>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    set_up(socket, keys, is_initiator).await.inspect_err(|error| {
        // A record that did not open has been counted as that.
        if !matches!(error, TransportError::RecordRefused) {
            HANDSHAKES_REFUSED.add(1);
        }
        tracing::debug!(%error, "a connection was not set up");
    })
}

async fn set_up<S>(
    socket: S,
    keys: Arc<NoiseKeys>,
    is_initiator: bool,
) -> Result<(PeerId, StreamMuxerBox), TransportError>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let negotiated = if is_initiator {
        // With one protocol to offer, the offer travels with the first message of the handshake.
        dialer_select_proto(socket, [noise::PROTOCOL], Version::V1Lazy).await?.1
    } else {
        listener_select_proto(socket, [noise::PROTOCOL]).await?.1
    };
    let mut agreed = handshake(negotiated, keys, is_initiator).await?;
    let muxer = match agreed.muxer {
        Some(muxer) => muxer,
        None => negotiate_muxer(&mut agreed.secure, is_initiator)
            .await
            .map_err(|error| if agreed.secure.has_refused() { TransportError::RecordRefused } else { error })?,
    };
    let muxer = if muxer == yamux::PROTOCOL {
        StreamMuxerBox::new(Muxer::new(agreed.secure, Yamux::new(is_initiator)))
    } else {
        StreamMuxerBox::new(Muxer::new(agreed.secure, Mplex::default()))
    };
    Ok((agreed.peer, muxer))
}

async fn negotiate_muxer<S>(secure: &mut Secure<S>, is_initiator: bool) -> Result<&'static str, TransportError>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let (muxer, negotiated) = if is_initiator {
        dialer_select_proto(secure, MUXERS, Version::V1).await?
    } else {
        listener_select_proto(secure, MUXERS).await?
    };
    // Nothing may be left to say or to hear about it: what follows belongs to the muxer.
    negotiated.complete().await?;
    Ok(muxer)
}
