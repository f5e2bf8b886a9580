//! rust-libp2p's own noise, yamux and mplex, with no more between them than what has their frames share records.

use libp2p::core::Transport;
use libp2p::core::muxing::StreamMuxerBox;
use libp2p::core::transport::Boxed;
use libp2p::core::upgrade::{SelectUpgrade, Version};
use libp2p::identity::Keypair;
use libp2p::{PeerId, noise, yamux};

use futures::{AsyncRead, AsyncWrite};

use super::gathered::OnGathered;

/// Sets connections up on `socket`. yamux is preferred; mplex is there because a stock js-waku light client offers nothing else.
pub(super) fn upgrade<T>(socket: T, keypair: &Keypair) -> Result<Boxed<(PeerId, StreamMuxerBox)>, noise::Error>
where
    T: Transport + Send + Unpin + 'static,
    T::Output: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    T::Error: Send + Sync,
    T::Dial: Send,
    T::ListenerUpgrade: Send,
{
    let muxers = SelectUpgrade::new(yamux::Config::default(), libp2p_mplex::Config::default());
    let upgraded = socket
        .upgrade(Version::V1Lazy)
        .authenticate(noise::Config::new(keypair)?)
        .multiplex(OnGathered(muxers))
        .map(|(peer, muxer), _| (peer, StreamMuxerBox::new(muxer)));
    Ok(upgraded.boxed())
}
