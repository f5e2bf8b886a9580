//! Records there and back, and records of others.

use std::collections::BTreeSet;

use libp2p_identity::secp256k1::{Keypair, SecretKey};
use multiaddr::Multiaddr;

use super::*;

fn key() -> Keypair {
    let secret = SecretKey::try_from_bytes([7_u8; 32]).expect("any small number is a secret key");
    Keypair::from(secret)
}

fn said(shards: impl IntoIterator<Item = u16>) -> Advertised {
    Advertised {
        ip4: Some(Ipv4Addr::new(10, 0, 0, 1)),
        tcp4: Some(60_000),
        udp4: Some(9_000),
        addresses: vec!["/dns4/node.example.org/tcp/8000/wss".parse().expect("an address")],
        capabilities: Capabilities::RELAY.with_if(true, Capabilities::STORE).with_if(false, Capabilities::SYNC),
        shards: Some(Shards { cluster: 16, indices: shards.into_iter().collect() }),
        ..Advertised::default()
    }
}

#[test]
fn what_is_signed_is_read_back_from_text_and_bytes() {
    let (record, left_out) = Record::sign(&key(), 3, &said([0, 32, 1_023])).expect("it is short");
    assert_eq!((left_out, record.sequence()), (0, 3));
    let text = record.to_string();
    assert!(text.starts_with("enr:"));
    for read in [text.parse::<Record>(), Record::from_rlp(&record.to_rlp())] {
        let read = read.expect("our own record is valid");
        assert_eq!(read, record);
        assert_eq!(read.advertised().expect("and well formed"), said([0, 32, 1_023]));
        assert_eq!(read.peer(), PublicKey::from(key().public().clone()).to_peer_id());
    }
}

#[test]
fn a_record_says_where_to_dial() {
    let (record, _) = Record::sign(&key(), 1, &said([])).expect("it is short");
    let id = record.peer();
    let expected: Vec<Multiaddr> = ["/ip4/10.0.0.1/tcp/60000", "/dns4/node.example.org/tcp/8000/wss"]
        .map(|address| format!("{address}/p2p/{id}").parse().expect("an address"))
        .to_vec();
    assert_eq!(record.dialable().expect("well formed"), expected);
}

/// 64 shards fit the list, one more makes it a vector, all of them still fit.
#[test]
fn many_shards_become_a_vector() {
    for (count, key_of) in [(0, "rs"), (64, "rs"), (65, "rsv"), (1_024, "rsv")] {
        let shards = Shards { cluster: 1, indices: (0..count).collect() };
        let (name, value) = shards.encode();
        assert_eq!(name, key_of);
        let read = Shards::decode(|key| Ok((key == name).then(|| value.clone().into()))).expect("well formed");
        assert_eq!(read, Some(shards));
    }
    let vector = Shards { cluster: 1, indices: (0..65).collect::<BTreeSet<_>>() }.encode().1;
    assert_eq!(
        (vector.len(), vector[129], vector[122], vector[121]),
        (130, 255, 255, 1),
        "the right-most bit is shard 0"
    );
}

#[test]
fn the_list_holds_where_both_keys_are_there() {
    let list = Shards { cluster: 2, indices: [5].into() };
    let vector = Shards { cluster: 3, indices: (0..100).collect() }.encode().1;
    let read = Shards::decode(|key| Ok(Some(if key == "rs" { list.encode().1.into() } else { vector.clone().into() })));
    assert_eq!(read, Ok(Some(list)));
}

#[test]
fn addresses_give_way_to_the_limit_of_300_bytes() {
    let mut advertised = said(0..60);
    advertised.addresses =
        (0..9).map(|n| format!("/dns4/node-{n}.example.org/tcp/443/wss").parse().expect("good")).collect();
    let (record, left_out) = Record::sign(&key(), 1, &advertised).expect("without addresses it fits");
    assert!(record.to_rlp().len() <= RECORD_BYTES_MAX && left_out > 0);
    let kept = record.advertised().expect("well formed").addresses;
    assert_eq!(kept.len() + left_out, 9);
    assert_eq!(kept[..], advertised.addresses[..kept.len()], "the last ones go first");
}

#[test]
fn whatever_breaks_a_rule_is_named() {
    let malformed = |key| Err(RecordError::Malformed { key });
    for (value, key) in [
        (&[0][..], "rs"),
        (&[0, 1, 2, 0, 1], "rs"),
        (&[0, 1, 1, 0, 1, 0], "rs"),
        (&[0, 1, 1, 4, 0], "rs"),
        (&[0, 1, 0, 0], "rsv"),
    ] {
        let read = Shards::decode(|asked| Ok((asked == key).then(|| Bytes::copy_from_slice(value))));
        assert_eq!(read, malformed(key), "{value:?}");
    }
    assert_eq!(addresses::decode(&[0, 9, 4]), None, "longer than what there is");
    assert_eq!(addresses::decode(&[0]), None);
    assert_eq!(addresses::decode(&[0, 1, 255, 0, 0]), Some(Vec::new()), "what nobody can read is left out");
}

#[test]
fn a_record_that_was_tampered_with_is_refused() {
    let (record, _) = Record::sign(&key(), 1, &said([1])).expect("it is short");
    let bytes = record.to_rlp();
    for place in 0..bytes.len() {
        let mut tampered = bytes.clone();
        tampered[place] ^= 1;
        assert!(Record::from_rlp(&tampered).is_err(), "byte {place}");
        assert!(Record::from_rlp(&bytes[..place]).is_err(), "cut at {place}");
    }
    let longer = [&bytes[..], &[0]].concat();
    assert_eq!(Record::from_rlp(&longer), Err(RecordError::Trailing(1)));
    for text in ["", "enr:", "enr:AAAA", "http://x", &record.to_string()[4..]] {
        assert!(text.parse::<Record>().is_err(), "{text}");
    }
}

/// The example of EIP-778, which another program signed.
#[test]
fn the_record_of_the_specification_is_read() {
    let text = "enr:-IS4QHCYrYZbAKWCBRlAy5zzaDZXJBGkcnh4MHcBFZntXNFrdvJjX04jRzjzCBOonrkTfj499SZuOh8R33Ls8RRcy5wBgmlkgnY0gmlwhH8AAAGJc2Vj\
                cDI1NmsxoQPKY0yuDUmstAHYpMa2_oxVtw0RW_QAdpzBQA8yWM0xOIN1ZHCCdl8";
    let record: Record = text.parse().expect("it is valid");
    let said = record.advertised().expect("well formed");
    assert_eq!((said.ip4, said.udp4, said.tcp4), (Some(Ipv4Addr::LOCALHOST), Some(30_303), None));
    assert_eq!((said.shards, record.sequence()), (None, 1));
    assert_eq!(record.to_string(), text);
}
