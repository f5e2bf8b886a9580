//! Any bytes for a handshake and for the receiving half of the record layer.

use std::io;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker};

use futures::executor::block_on;
use futures::future::maybe_done;
use futures::{AsyncRead, AsyncWrite, AsyncWriteExt};
use libp2p::identity::Keypair;

use super::aead::{Aead, Cipher};
use super::opener::Opener;
use super::sealer::{PLAIN_BYTES_MAX, Sealer};
use super::{NoiseKeys, handshake as shake_hands};
use crate::transport::by_hand::{Pipe, pipe};

const KEY: [u8; 32] = [7; 32];
const MUXERS: [&str; 2] = ["/yamux/1.0.0", "/mplex/6.7.0"];

/// Records as `data` says: the first byte tells in what pieces they come, each further one starts a record of the honest peer or bytes
/// of somebody else. What the peer sealed opens, in order and whole, until the first other byte; nothing opens after it.
pub fn records(data: &[u8]) {
    let Some((piece, mut rest)) = data.split_first() else { return };
    let cipher = || Cipher::new(&KEY).expect("a key has this length");
    let (mut sealer, mut wire, mut expected, mut is_honest) = (Sealer::new(cipher()), Vec::new(), Vec::new(), true);
    while let Some((kind, after)) = rest.split_first() {
        let (bytes, after) = after.split_at(after.len().min(usize::from(*kind & 0x3f)));
        rest = after;
        if kind & 0x80 != 0 {
            is_honest &= bytes.is_empty();
            wire.extend_from_slice(bytes);
            continue;
        }
        // A full record is enough to go on with, and costs as much as a thousand short ones.
        let is_full = kind & 0x40 != 0 && wire.len() < PLAIN_BYTES_MAX;
        let plain = if is_full { bytes.repeat(PLAIN_BYTES_MAX / bytes.len().max(1)) } else { bytes.to_vec() };
        if plain.is_empty() {
            continue;
        }
        sealer.put(&plain).expect("an empty sealer has room for a record");
        sealer.seal().expect("a record is sealed");
        wire.extend_from_slice(sealer.pending());
        sealer.sent(sealer.pending().len());
        if is_honest {
            expected.push(plain);
        }
    }
    let piece = usize::from(*piece) * 97 + 1 + wire.len() / 64;
    let is_refused = open_all(Opener::new(cipher()), &wire, piece, &expected);
    assert!(!(is_honest && is_refused), "an honest record is refused");
}

/// Feeds `wire` in pieces and compares what opens; whether something was refused.
fn open_all(mut opener: Opener, mut wire: &[u8], piece: usize, expected: &[Vec<u8>]) -> bool {
    let mut expected = expected.iter();
    loop {
        match opener.open_next() {
            Ok(true) => {
                assert_eq!(opener.plain(), expected.next().expect("no more was sealed before the first other byte"));
                opener.consume(opener.plain().len());
            }
            Ok(false) if wire.is_empty() => {
                assert!(expected.next().is_none(), "a record that has come whole is opened");
                return false;
            }
            Ok(false) => {
                let Ok(space) = opener.space() else { return true };
                assert!(!space.is_empty(), "a reader without space takes the end for the connection's");
                let bytes = space.len().min(piece).min(wire.len());
                space[..bytes].copy_from_slice(&wire[..bytes]);
                wire = &wire[bytes..];
                opener.received(bytes);
            }
            Err(_) => {
                assert!(expected.next().is_none(), "a record is refused that was sealed");
                return true;
            }
        }
    }
}

fn keys() -> Arc<NoiseKeys> {
    static KEYS: OnceLock<Arc<NoiseKeys>> = OnceLock::new();
    let new = || Arc::new(NoiseKeys::new(&Keypair::generate_ed25519(), &MUXERS).expect("an identity has keys"));
    KEYS.get_or_init(new).clone()
}

/// A pipe that changes one of the bytes that are written to it.
struct Tampering {
    pipe: Pipe,
    written: usize,
    at: usize,
    change: u8,
    has_changed: Arc<AtomicBool>,
}

impl AsyncRead for Tampering {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.pipe).poll_read(cx, into)
    }
}

impl AsyncWrite for Tampering {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        let mut bytes = from.to_vec();
        let change = self.change;
        if let Some(byte) = self.at.checked_sub(self.written).and_then(|at| bytes.get_mut(at)) {
            *byte ^= change;
            self.has_changed.store(change != 0, Relaxed);
        }
        self.written += bytes.len();
        Pin::new(&mut self.pipe).poll_write(cx, &bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.pipe).poll_flush(cx)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.pipe).poll_close(cx)
    }
}

/// A handshake in the role that the first byte names: with a peer that sends the rest of `data` and ends, which proves nothing; or with
/// an honest one, one byte of which is changed on the way as the next bytes say, after which at least one side does not agree.
pub fn handshake(data: &[u8]) {
    let [flags, rest @ ..] = data else { return };
    let is_initiator = flags & 1 == 0;
    let (near, mut far) = pipe();
    if flags & 2 == 0 {
        block_on(far.write_all(rest)).expect("a pipe takes everything");
        drop(far);
        assert!(block_on(shake_hands(near, keys(), is_initiator)).is_err(), "a peer without keys is known");
        return;
    }
    let [at_high, at_low, change, ..] = *rest else { return };
    // All that a side sends takes two hundred bytes and some.
    let at = usize::from(u16::from_be_bytes([at_high & 1, at_low]));
    let has_changed = Arc::<AtomicBool>::default();
    let far = Tampering { pipe: far, written: 0, at, change, has_changed: has_changed.clone() };
    let mut ours = pin!(maybe_done(shake_hands(near, keys(), is_initiator)));
    let mut theirs = pin!(maybe_done(shake_hands(far, keys(), !is_initiator)));
    let cx = &mut Context::from_waker(Waker::noop());
    // Each polls once for a message; a length that was changed may leave both waiting for ever.
    for _ in 0..8 {
        _ = (ours.as_mut().poll(cx), theirs.as_mut().poll(cx));
    }
    let have_agreed =
        [ours.take_output().is_some_and(|end| end.is_ok()), theirs.take_output().is_some_and(|end| end.is_ok())];
    assert_eq!(have_agreed == [true; 2], !has_changed.load(Relaxed), "byte {at} xor {change}: {have_agreed:?}");
}
