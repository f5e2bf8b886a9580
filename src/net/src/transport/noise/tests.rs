//! The handshake and the records against libp2p's own noise, honest and not, and the records against any bytes.

use std::sync::Arc;

use futures::{AsyncReadExt, AsyncWriteExt};
use levada_wire::noise::{Payload, SIGNED_PREFIX, encode};
use libp2p::core::upgrade::{InboundConnectionUpgrade, OutboundConnectionUpgrade};
use libp2p::identity::Keypair;
use libp2p::noise as stock;

use super::aead::{Aead, Cipher, Nonces, TAG_BYTES};
use super::handshake::Agreed;
use super::opener::Opener;
use super::sealer::{PLAIN_BYTES_MAX, Sealer};
use super::{NoiseKeys, handshake};
use crate::transport::by_hand::{Pipe, pipe};
use crate::transport::error::TransportError;
use crate::transport::mux::tests::Random;

const MUXERS: [&str; 2] = ["/yamux/1.0.0", "/mplex/6.7.0"];
const KEY: [u8; 32] = [7; 32];

type Ours = Result<Agreed<Pipe>, TransportError>;
type Theirs = Result<(libp2p::PeerId, stock::Output<Pipe>), stock::Error>;

/// Shakes hands with the stock implementation, as initiator or as responder.
async fn with_stock(ours: NoiseKeys, theirs: &Keypair, is_initiator: bool) -> (Ours, Theirs) {
    let (near, far) = pipe();
    let stock = stock::Config::new(theirs).expect("a configuration");
    let ours = handshake(near, Arc::new(ours), is_initiator);
    if is_initiator {
        futures::future::join(ours, stock.upgrade_inbound(far, "/noise")).await
    } else {
        futures::future::join(ours, stock.upgrade_outbound(far, "/noise")).await
    }
}

#[tokio::test]
async fn an_honest_peer_is_known_by_its_identity() {
    for is_initiator in [true, false] {
        let (ours, theirs) = (Keypair::generate_secp256k1(), Keypair::generate_ed25519());
        let keys = NoiseKeys::new(&ours, &MUXERS).expect("keys");
        let (near, far) = with_stock(keys, &theirs, is_initiator).await;
        let (near, far) = (near.expect("ours"), far.expect("theirs"));
        assert_eq!(near.peer, theirs.public().to_peer_id());
        assert_eq!(far.0, ours.public().to_peer_id());
        assert_eq!(near.muxer, None, "stock noise names no muxer");
        let (mut near, mut far) = (near.secure, far.1);
        let mut read = [0; 5];
        near.write_all(b"there").await.expect("written");
        near.flush().await.expect("flushed");
        far.read_exact(&mut read).await.expect("read");
        assert_eq!(&read, b"there");
        far.write_all(b"again").await.expect("written");
        far.flush().await.expect("flushed");
        near.read_exact(&mut read).await.expect("read");
        assert_eq!(&read, b"again");
    }
}

/// Signs as libp2p demands.
fn signature(identity: &Keypair, static_key: &[u8]) -> Vec<u8> {
    identity.sign(&[SIGNED_PREFIX, static_key].concat()).expect("a signature")
}

#[tokio::test]
async fn stock_noise_refuses_what_we_would_refuse() {
    type Forge = fn(&Keypair, &[u8]) -> Vec<u8>;
    let forged: [Forge; 3] = [
        // Signed by another identity.
        |identity, key| {
            encode(&identity.public().encode_protobuf(), &signature(&Keypair::generate_ed25519(), key), &[])
        },
        // A signature over another static key.
        |identity, _| encode(&identity.public().encode_protobuf(), &signature(identity, &[9; 32]), &[]),
        |identity, _| encode(&identity.public().encode_protobuf(), &[], &[]),
    ];
    for is_initiator in [true, false] {
        for forge in forged {
            let keys = NoiseKeys::with_payload(&Keypair::generate_ed25519(), forge);
            let (_, theirs) = with_stock(keys, &Keypair::generate_ed25519(), is_initiator).await;
            assert!(theirs.is_err(), "initiator {is_initiator}");
        }
    }
}

async fn with_forged(forge: fn(&Keypair, &[u8]) -> Vec<u8>, is_initiator: bool) -> Ours {
    let (near, far) = pipe();
    let honest = Arc::new(NoiseKeys::new(&Keypair::generate_ed25519(), &MUXERS).expect("keys"));
    let forged = Arc::new(NoiseKeys::with_payload(&Keypair::generate_ed25519(), forge));
    let far = handshake(far, forged, !is_initiator);
    futures::future::join(handshake(near, honest, is_initiator), far).await.0
}

#[tokio::test]
async fn a_forged_identity_is_refused_in_both_roles() {
    for is_initiator in [true, false] {
        let wrong_signer = with_forged(
            |own, key| encode(&own.public().encode_protobuf(), &signature(&Keypair::generate_ed25519(), key), &[]),
            is_initiator,
        );
        assert!(matches!(wrong_signer.await, Err(TransportError::IdentitySignature)));
        // The signature is real, and over the static key of somebody else.
        let swapped =
            with_forged(|own, _| encode(&own.public().encode_protobuf(), &signature(own, &[3; 32]), &[]), is_initiator);
        assert!(matches!(swapped.await, Err(TransportError::IdentitySignature)));
        let no_key = with_forged(|own, key| encode(b"", &signature(own, key), &[]), is_initiator);
        assert!(matches!(no_key.await, Err(TransportError::IdentityKey(_))));
        let cut = with_forged(|_, _| vec![0x0a, 0x7f, 1], is_initiator);
        assert!(matches!(cut.await, Err(TransportError::Payload)));
        let other_muxers = with_forged(
            |own, key| encode(&own.public().encode_protobuf(), &signature(own, key), &["/other/1"]),
            is_initiator,
        );
        assert!(matches!(other_muxers.await, Err(TransportError::NoMuxer)));
        let fellow = with_forged(
            |own, key| encode(&own.public().encode_protobuf(), &signature(own, key), &["/mplex/6.7.0"]),
            is_initiator,
        );
        assert_eq!(fellow.await.expect("agreed").muxer, Some("/mplex/6.7.0"));
    }
}

#[test]
fn payloads_are_read_as_they_are_written() {
    let bytes = encode(b"key", b"signature", &MUXERS);
    let payload = Payload::decode(&bytes).expect("a payload");
    assert_eq!((payload.identity_key, payload.signature), (&b"key"[..], &b"signature"[..]));
    assert!(payload.muxers().eq(MUXERS.map(str::as_bytes)));
    // Certificate hashes and fields of later versions are stepped over.
    let more = [&bytes[..], &[0x22, 0x04, 0x0a, 0x02, 1, 2, 0x28, 0x05, 0x31, 0, 0, 0, 0, 0, 0, 0, 0]].concat();
    assert_eq!(Payload::decode(&more).expect("a payload").muxers().count(), 0);
    for end in 0..bytes.len() {
        // A cut payload is refused or has lost whole fields.
        assert!(Payload::decode(&bytes[..end]).map_or(true, |cut| cut != payload));
    }
}

/// What a dishonest carrier does to the records of one direction.
#[derive(Debug, Clone, Copy)]
enum Trick {
    Tamper(usize),
    Replay,
    Reorder,
    LeaveOut,
}

/// Three sealed records, one of them full.
fn records() -> Vec<Vec<u8>> {
    let mut sealer = Sealer::new(Cipher::new(&KEY).expect("a cipher"));
    [vec![1; 100], vec![2; PLAIN_BYTES_MAX], vec![3; 1]]
        .iter()
        .map(|plain| {
            sealer.put(plain).expect("room");
            sealer.seal().expect("sealed");
            let record = sealer.pending().to_vec();
            sealer.sent(record.len());
            record
        })
        .collect()
}

/// Feeds `wire` in pieces of `piece` bytes and gives the lengths of the records that opened, and whether one was refused.
fn open_all(wire: &[u8], piece: usize) -> (Vec<usize>, bool) {
    let mut opener = Opener::new(Cipher::new(&KEY).expect("a cipher"));
    let (mut opened, mut left) = (Vec::new(), wire);
    loop {
        match opener.open_next() {
            Ok(true) => {
                opened.push(opener.plain().len());
                opener.consume(usize::MAX / 2);
            }
            Ok(false) if left.is_empty() => return (opened, false),
            Ok(false) => {
                let Ok(space) = opener.space() else { return (opened, true) };
                assert!(!space.is_empty(), "a reader that has no space takes the end for the connection's");
                let bytes = space.len().min(piece).min(left.len());
                space[..bytes].copy_from_slice(&left[..bytes]);
                left = &left[bytes..];
                opener.received(bytes);
            }
            Err(_) => return (opened, true),
        }
    }
}

#[test]
fn records_arrive_in_pieces_of_any_size() {
    let wire = records().concat();
    for piece in [1, 2, 3, 17, 4_096, 65_537, usize::MAX] {
        assert_eq!(open_all(&wire, piece), (vec![100, PLAIN_BYTES_MAX, 1], false), "pieces of {piece}");
    }
}

#[test]
fn tricks_with_records_are_refused_at_the_first_record_they_touch() {
    let honest = records();
    let play = |trick| {
        let mut records = honest.clone();
        match trick {
            Trick::Tamper(byte) => records[1][byte] ^= 1,
            Trick::Replay => records.insert(1, honest[0].clone()),
            Trick::Reorder => records.swap(1, 2),
            Trick::LeaveOut => _ = records.remove(1),
        }
        open_all(&records.concat(), 10_000)
    };
    let last = honest[1].len() - 1;
    for trick in [
        Trick::Tamper(2),
        Trick::Tamper(30_000),
        Trick::Tamper(last - TAG_BYTES),
        Trick::Tamper(last),
        Trick::Replay,
        Trick::Reorder,
        Trick::LeaveOut,
    ] {
        assert_eq!(play(trick), (vec![100], true), "{trick:?}");
    }
    // A length that was changed moves the tag.
    assert_eq!(play(Trick::Tamper(1)), (vec![100], true));
}

#[tokio::test]
async fn a_tampered_replayed_or_reordered_record_of_stock_noise_ends_the_connection() {
    for is_initiator in [true, false] {
        for trick in [Trick::Tamper(5), Trick::Replay, Trick::Reorder] {
            let keys = NoiseKeys::new(&Keypair::generate_ed25519(), &MUXERS).expect("keys");
            let (near, far) = with_stock(keys, &Keypair::generate_ed25519(), is_initiator).await;
            let (mut near, mut far) = (near.expect("ours").secure, far.expect("theirs").1);
            for text in [b"first", b"other"] {
                far.write_all(text).await.expect("written");
                far.flush().await.expect("flushed");
            }
            near.socket_of_test().edit_unread(|wire| {
                let (first, second) = wire.split_at(2 + 5 + TAG_BYTES);
                let (mut first, second) = (first.to_vec(), second.to_vec());
                *wire = match trick {
                    Trick::Tamper(byte) => {
                        first[byte] ^= 0x80;
                        [first, second].concat()
                    }
                    Trick::Replay => [&first[..], &first].concat(),
                    _ => [second, first].concat(),
                };
            });
            let mut read = Vec::new();
            assert!(near.read_to_end(&mut read).await.is_err(), "{trick:?}");
            assert_eq!(read, if matches!(trick, Trick::Replay) { &b"first"[..] } else { b"" }, "{trick:?}");
        }
    }
}

#[test]
fn nonces_count_up_in_the_last_eight_bytes_and_end() {
    let mut nonces = Nonces::default();
    assert_eq!(nonces.next(), Some([0; 12]));
    assert_eq!(nonces.next(), Some([0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]));
    let mut last = Nonces::at(u64::MAX - 1);
    assert_eq!(last.next(), Some([0, 0, 0, 0, 0xfe, 255, 255, 255, 255, 255, 255, 255]));
    assert_eq!(last.next(), None);
    assert_eq!(last.next(), None);
}

#[test]
fn any_bytes_for_records_are_refused_without_harm() {
    let honest = {
        let mut sealer = Sealer::new(Cipher::new(&KEY).expect("a cipher"));
        for plain in [&[5; 40][..], &[6; 7]] {
            sealer.put(plain).expect("room");
            sealer.seal().expect("sealed");
        }
        sealer.pending().to_vec()
    };
    let seed = 0x5eed_0001;
    let mut random = Random::new(seed);
    for round in 0..100_000 {
        let mut wire = honest.clone();
        for _ in 0..=random.below(3) {
            random.mutate(&mut wire);
        }
        let (opened, is_refused) = open_all(&wire, 1 + random.below(80));
        let is_prefix = opened.iter().zip([40, 7]).all(|(bytes, expected)| *bytes == expected);
        assert!(opened.len() <= 2 && is_prefix, "seed {seed:#x}, round {round}: {opened:?}");
        assert!(is_refused || honest.starts_with(&wire) || wire.starts_with(&honest) || opened.len() < 2);
    }
}
