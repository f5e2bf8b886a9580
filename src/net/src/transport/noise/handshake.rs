//! Noise XX: three messages, after which both sides know each other's identity and share two keys.

use std::io;
use std::sync::Arc;

use futures::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use levada_wire::noise::{self as payload, Payload, SIGNED_PREFIX};
use libp2p::PeerId;
use libp2p::identity::{Keypair, PublicKey};
use snow::{Builder, HandshakeState};

use super::secure::Secure;
use crate::transport::error::TransportError;

const PATTERN: &str = "Noise_XX_25519_ChaChaPoly_SHA256";
/// Far above an RSA identity with certificate hashes, far below what the length could announce.
const MESSAGE_BYTES_MAX: usize = 16 * 1_024;
/// What the length, the keys and the tags of a handshake message add to its payload, at most.
const MESSAGE_OVERHEAD_BYTES: usize = 98;

/// The static key of this process, and what proves to peers whose it is.
pub(crate) struct NoiseKeys {
    private: Vec<u8>,
    /// The payload that this side sends: identity, signature over the static key, muxers.
    payload: Vec<u8>,
    muxers: &'static [&'static str],
}

/// Who is at the other end, and what was agreed on the way.
pub(crate) struct Agreed<S> {
    pub(crate) peer: PeerId,
    pub(crate) secure: Secure<S>,
    /// The muxer, if the peer named its own inside of the handshake; else it is to be negotiated.
    pub(crate) muxer: Option<&'static str>,
}

impl NoiseKeys {
    /// A fresh static key, signed by `identity`. `muxers` are offered inside of the handshake, the best one first.
    pub(crate) fn new(identity: &Keypair, muxers: &'static [&'static str]) -> Result<Self, TransportError> {
        let keys = builder()?.generate_keypair()?;
        let signature = identity.sign(&[SIGNED_PREFIX, &keys.public].concat())?;
        let payload = payload::encode(&identity.public().encode_protobuf(), &signature, muxers);
        Ok(Self { private: keys.private, payload, muxers })
    }

    /// The same with another payload, to see what the other side makes of it.
    #[cfg(test)]
    pub(super) fn with_payload(identity: &Keypair, payload: impl Fn(&Keypair, &[u8]) -> Vec<u8>) -> Self {
        let keys = builder().and_then(|builder| Ok(builder.generate_keypair()?)).expect("a key pair");
        Self { payload: payload(identity, &keys.public), private: keys.private, muxers: &[] }
    }

    /// The first muxer of ours that the peer has.
    ///
    /// js-libp2p takes the first of its peer's list that it has itself, so each side follows this side's order, whoever dialled.
    /// A peer that follows the initiator's order agrees, unless it prefers the muxers the other way around.
    fn choose(&self, payload: &Payload<'_>) -> Result<Option<&'static str>, TransportError> {
        if payload.muxers().next().is_none() || self.muxers.is_empty() {
            return Ok(None);
        }
        let common = |ours: &&&'static str| payload.muxers().any(|theirs| theirs == ours.as_bytes());
        self.muxers.iter().find(common).map(|muxer| Some(*muxer)).ok_or(TransportError::NoMuxer)
    }
}

fn builder() -> Result<Builder<'static>, TransportError> {
    Ok(Builder::new(PATTERN.parse()?))
}

/// Runs the handshake on `socket`.
///
/// # Errors
///
/// [`TransportError`]: nothing is known of the peer then, and nothing was sent to it beyond the handshake.
pub(crate) async fn handshake<S>(
    mut socket: S,
    keys: Arc<NoiseKeys>,
    is_initiator: bool,
) -> Result<Agreed<S>, TransportError>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let builder = builder()?.local_private_key(&keys.private)?;
    let mut noise = if is_initiator { builder.build_initiator()? } else { builder.build_responder()? };
    let mut message = vec![0; MESSAGE_BYTES_MAX];
    let (peer, muxer) = if is_initiator {
        send(&mut socket, &mut noise, &[], &mut message).await?;
        let theirs = receive(&mut socket, &mut noise, &mut message).await?;
        // Who we are is told to nobody who has not proved who it is.
        let known = check(&theirs, &noise, &keys)?;
        send(&mut socket, &mut noise, &keys.payload, &mut message).await?;
        known
    } else {
        if !receive(&mut socket, &mut noise, &mut message).await?.is_empty() {
            return Err(TransportError::Payload);
        }
        send(&mut socket, &mut noise, &keys.payload, &mut message).await?;
        let theirs = receive(&mut socket, &mut noise, &mut message).await?;
        check(&theirs, &noise, &keys)?
    };
    Ok(Agreed { peer, secure: split(socket, noise, is_initiator)?, muxer })
}

async fn send<S: AsyncWrite + Unpin>(
    socket: &mut S,
    noise: &mut HandshakeState,
    payload: &[u8],
    message: &mut Vec<u8>,
) -> Result<(), TransportError> {
    message.resize(MESSAGE_BYTES_MAX.max(payload.len() + MESSAGE_OVERHEAD_BYTES), 0);
    let bytes = noise.write_message(payload, message)?;
    let length = u16::try_from(bytes).map_err(|_| TransportError::Payload)?;
    // One write, so that one packet carries both.
    message.copy_within(..bytes, 2);
    message[..2].copy_from_slice(&length.to_be_bytes());
    socket.write_all(&message[..2 + bytes]).await?;
    socket.flush().await?;
    Ok(())
}

/// Reads one message and gives its payload.
async fn receive<S: AsyncRead + Unpin>(
    socket: &mut S,
    noise: &mut HandshakeState,
    message: &mut Vec<u8>,
) -> Result<Vec<u8>, TransportError> {
    let mut length = [0; 2];
    socket.read_exact(&mut length).await?;
    let bytes = usize::from(u16::from_be_bytes(length));
    if bytes > MESSAGE_BYTES_MAX {
        return Err(TransportError::HandshakeBytes { bytes, bytes_max: MESSAGE_BYTES_MAX });
    }
    message.resize(bytes, 0);
    socket.read_exact(message).await?;
    let mut payload = vec![0; bytes];
    let payload_bytes = noise.read_message(message, &mut payload)?;
    payload.truncate(payload_bytes);
    Ok(payload)
}

/// Checks that the identity in a payload has signed the static key that the peer has proved to hold, and chooses the muxer.
fn check(
    payload: &[u8],
    noise: &HandshakeState,
    keys: &NoiseKeys,
) -> Result<(PeerId, Option<&'static str>), TransportError> {
    let payload = Payload::decode(payload)?;
    let identity = PublicKey::try_decode_protobuf(payload.identity_key)?;
    let static_key = noise.get_remote_static().ok_or(TransportError::Payload)?;
    if !identity.verify(&[SIGNED_PREFIX, static_key].concat(), payload.signature) {
        return Err(TransportError::IdentitySignature);
    }
    Ok((identity.to_peer_id(), keys.choose(&payload)?))
}

fn split<S>(socket: S, mut noise: HandshakeState, is_initiator: bool) -> Result<Secure<S>, TransportError>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    if !noise.is_handshake_finished() {
        return Err(TransportError::Io(io::ErrorKind::InvalidData.into()));
    }
    // The initiator sends with the first key.
    let (first, second) = noise.dangerously_get_raw_split();
    let (send, receive) = if is_initiator { (first, second) } else { (second, first) };
    Secure::new(socket, &send, &receive)
}
