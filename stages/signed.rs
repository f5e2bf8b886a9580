//! The rule of protected shards: a message there carries the signature of whoever may publish on it (`--protected-shard`).
//!
//! The signature is ECDSA over secp256k1, the 64 bytes of `r` and `s` in the field `meta`, with `s` in the lower half of its range. It is
//! over SHA-256 of pubsub topic, payload, content topic, timestamp (8 bytes, little-endian) and ephemeral (one byte, 0 or 1), as nwaku and
//! go-waku have it. The timestamp must be within five minutes of the clock, so that a message cannot be brought again later; but for one
//! that comes from another archive, where it was judged when it was new.
//!
//! Cost: nothing but a look-up on other shards; one SHA-256 over the payload and about 100 µs on a protected one.

use std::collections::HashMap;
use std::str::FromStr;
use std::sync::Arc;

use k256::ecdsa::signature::hazmat::{PrehashSigner, PrehashVerifier};
use k256::ecdsa::{Signature, SigningKey, VerifyingKey};
use levada_wire::hash::{Digest, sha256_parts};
use levada_wire::waku::{Origin, RejectReason, TopicTable, WakuRecord};

use crate::validate::{ValidateCounters, Validator};

/// How far the timestamp may lie from the clock, in nanoseconds: nwaku's five minutes.
const WINDOW_NS: u64 = 300 * 1_000_000_000;

/// The public key of whoever may publish on a shard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignerKey(VerifyingKey);

/// A text is no public key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a public key is 66 or 130 hexadecimal digits that are a point of secp256k1")]
pub struct NoSignerKey;

impl FromStr for SignerKey {
    type Err = NoSignerKey;

    /// Reads 33 bytes (compressed) or 65 bytes (not) in hexadecimal digits, with or without `0x`.
    fn from_str(text: &str) -> Result<Self, NoSignerKey> {
        let digits = text.strip_prefix("0x").unwrap_or(text);
        let mut bytes = [0; 65];
        let bytes =
            bytes.get_mut(..digits.len() / 2).filter(|bytes| matches!(bytes.len(), 33 | 65)).ok_or(NoSignerKey)?;
        hex::decode_to_slice(digits, bytes).map_err(|_| NoSignerKey)?;
        VerifyingKey::from_sec1_bytes(bytes).map(Self).map_err(|_| NoSignerKey)
    }
}

impl SignerKey {
    /// Whether `signature` is this key's over the message.
    pub fn has_signed(&self, message: &SignedParts<'_>, signature: &[u8]) -> bool {
        let Ok(signature) = Signature::from_slice(signature) else { return false };
        self.0.verify_prehash(&message.digest(), &signature).is_ok()
    }
}

/// The secret key of whoever may publish on a shard.
pub struct Signer(SigningKey);

/// Bytes are no secret key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a secret key of secp256k1 is a number from 1 to below the order of the curve")]
pub struct NoSecretKey;

impl Signer {
    /// Takes a key, big-endian.
    ///
    /// # Errors
    /// [`NoSecretKey`] for nought and for what lies beyond the curve.
    pub fn new(secret: &[u8; 32]) -> Result<Self, NoSecretKey> {
        SigningKey::from_slice(secret).map(Self).map_err(|_| NoSecretKey)
    }

    /// What `--protected-shard` is told.
    pub fn public(&self) -> SignerKey {
        SignerKey(*self.0.verifying_key())
    }

    /// The signature over a message, for its field `meta`.
    pub fn sign(&self, message: &SignedParts<'_>) -> [u8; 64] {
        let signature: Signature = self.0.sign_prehash(&message.digest()).expect("a digest is as long as a key");
        signature.to_bytes().into()
    }
}

impl std::fmt::Debug for Signer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Signer").field(&self.public()).finish()
    }
}

/// What of a message is signed.
#[derive(Debug, Clone, Copy)]
pub struct SignedParts<'a> {
    /// The pubsub topic.
    pub pubsub_topic: &'a str,
    /// The payload.
    pub payload: &'a [u8],
    /// The content topic.
    pub content_topic: &'a [u8],
    /// The timestamp, nanoseconds since the epoch.
    pub timestamp: i64,
    /// Whether it is not to be archived.
    pub ephemeral: bool,
}

impl SignedParts<'_> {
    /// What the signature is over.
    pub fn digest(&self) -> Digest {
        let Self { pubsub_topic, payload, content_topic, timestamp, ephemeral } = *self;
        let parts = [pubsub_topic.as_bytes(), payload, content_topic, &timestamp.to_le_bytes(), &[u8::from(ephemeral)]];
        sha256_parts(&parts)
    }
}

/// The protected shards, by pubsub topic.
#[derive(Debug, Default)]
pub struct SignedShards(HashMap<String, SignerKey>);

impl SignedShards {
    /// These pubsub topics with the keys that sign there.
    pub fn new(shards: impl IntoIterator<Item = (String, SignerKey)>) -> Self {
        Self(shards.into_iter().collect())
    }

    /// Whether no shard is protected.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The validator.
pub struct Signed {
    shards: Arc<SignedShards>,
    topics: Arc<TopicTable>,
    counters: Arc<ValidateCounters>,
    now_ns: fn() -> i64,
}

impl Signed {
    /// A validator of `shards`, whose outcomes are counted.
    pub fn new(shards: Arc<SignedShards>, topics: Arc<TopicTable>, counters: Arc<ValidateCounters>) -> Self {
        Self { shards, topics, counters, now_ns: crate::unix_ns }
    }

    fn is_signed(&self, pubsub_topic: &str, key: &SignerKey, payload: &[u8], record: &WakuRecord) -> bool {
        let timestamp = record.timestamp;
        let is_of_now = || timestamp != 0 && (self.now_ns)().abs_diff(timestamp) < WINDOW_NS;
        let is_timely = record.origin == Origin::Resume || is_of_now();
        let parts = SignedParts {
            pubsub_topic,
            payload: record.payload.of(payload),
            content_topic: record.content_topic.of(payload),
            timestamp,
            ephemeral: record.ephemeral,
        };
        is_timely && key.has_signed(&parts, record.meta.of(payload))
    }
}

impl Validator for Signed {
    fn check(&self, payload: &[u8], record: &WakuRecord) -> RejectReason {
        let Some(topic) = self.topics.name(record.topic) else { return RejectReason::None };
        let Some(key) = self.shards.0.get(topic) else { return RejectReason::None };
        if self.is_signed(topic, key, payload, record) {
            self.counters.signed.add(1);
            RejectReason::None
        } else {
            self.counters.unsigned.add(1);
            RejectReason::BadSignature
        }
    }
}

#[cfg(test)]
mod tests {
    use k256::ecdsa::SigningKey;
    use k256::ecdsa::signature::hazmat::PrehashSigner;
    use levada_wire::waku::message::{Message, decode};

    use super::*;

    /// The test vector of 57/STATUS-Simple-Scaling, which nwaku and go-waku check too.
    const SECRET: &str = "5526a8990317c9b7b58d07843d270f9cd1d9aaee129294c1c478abf7261dd9e6";
    const PUBLIC: &str = "049c5fac802da41e07e6cdf51c3b9a6351ad5e65921527f2df5b7d59fd9b56ab02\
                          bab736cdcfc37f25095e78127500da371947217a8cd5186ab890ea866211c3f6";
    const PAYLOAD: &str = "1A12E077D0E89F9CAC11FBBB6A676C86120B5AD3E248B1F180E98F15EE43D2DF\
                           CF62F00C92737B2FF6F59B3ABA02773314B991C41DC19ADB0AD8C17C8E26757B";
    const HASH: &str = "662F8C20A335F170BD60ABC1F02AD66F0C6A6EE285DA2A53C95259E7937C0AE9";
    const SIGNATURE: &str = "127FA211B2514F0E974A055392946DC1A14052182A6ABEFB8A6CD7C51DA1BF2E\
                             40595D28EF1A9488797C297EED3AAC45430005FB3A7F037BDD9FC4BD99F59E63";
    const TIMESTAMP: i64 = 1_683_208_172_339_052_800;
    const TOPIC: &str = "pubsub-topic";

    fn bytes(text: &str) -> Vec<u8> {
        hex::decode(text).expect("hexadecimal digits")
    }

    fn secret() -> SigningKey {
        SigningKey::from_slice(&bytes(SECRET)).expect("a key")
    }

    fn now() -> i64 {
        TIMESTAMP
    }

    /// A validator whose clock stands at the timestamp of the vector, and its counters.
    fn validator() -> (Signed, Arc<ValidateCounters>) {
        let topics = Arc::new(TopicTable::new(4));
        for topic in [TOPIC, "other"] {
            topics.intern(topic).expect("room");
        }
        let counters = Arc::<ValidateCounters>::default();
        let shards = Arc::new(SignedShards::new([(TOPIC.to_owned(), PUBLIC.parse().expect("a key"))]));
        (Signed { now_ns: now, ..Signed::new(shards, topics, counters.clone()) }, counters)
    }

    fn message<'a>(payload: &'a [u8], meta: &'a [u8]) -> Message<'a> {
        Message {
            payload,
            content_topic: "content-topic",
            timestamp: TIMESTAMP,
            ephemeral: true,
            meta,
            ..Message::default()
        }
    }

    fn verdict(validator: &Signed, topic: u32, message: &Message<'_>) -> RejectReason {
        verdict_of(validator, topic, message, Origin::Gossip)
    }

    fn verdict_of(validator: &Signed, topic: u32, message: &Message<'_>, origin: Origin) -> RejectReason {
        let mut data = vec![0; message.encoded_len()];
        message.encode_into(&mut data).expect("room");
        let mut record = WakuRecord { topic, origin, ..WakuRecord::default() };
        record.fill(&decode(&data).expect("a message"));
        validator.check(&data, &record)
    }

    #[test]
    fn the_vector_of_the_specification_is_met() {
        let payload = bytes(PAYLOAD);
        let parts = SignedParts {
            pubsub_topic: TOPIC,
            payload: &payload,
            content_topic: b"content-topic",
            timestamp: TIMESTAMP,
            ephemeral: true,
        };
        assert_eq!(parts.digest().to_vec(), bytes(HASH));
        let signature: Signature = secret().sign_prehash(&parts.digest()).expect("a signature");
        assert_eq!(signature.to_bytes().to_vec(), bytes(SIGNATURE));
        let key: SignerKey = PUBLIC.parse().expect("a key");
        assert!(key.has_signed(&parts, &bytes(SIGNATURE)));
        let compressed = hex::encode(secret().verifying_key().to_sec1_point(true));
        assert_eq!(compressed.parse(), Ok(key.clone()), "both forms of a key are one");
        assert_eq!(format!("0x{PUBLIC}").parse(), Ok(key));
    }

    #[test]
    fn only_what_the_key_has_signed_passes() {
        let (validator, counters) = validator();
        let (payload, signature) = (bytes(PAYLOAD), bytes(SIGNATURE));
        let good = message(&payload, &signature);
        assert_eq!(verdict(&validator, 0, &good), RejectReason::None);
        assert_eq!((counters.signed.value(), counters.unsigned.value()), (1, 0));
        let mut flipped = signature.clone();
        flipped[9] ^= 1;
        let other: Signature =
            SigningKey::from_slice(&[7; 32]).expect("a key").sign_prehash(&bytes(HASH)).expect("one");
        let high = high_s(&signature);
        let bad = [
            Message { meta: b"", ..good },
            Message { meta: &signature[..63], ..good },
            Message { meta: &flipped, ..good },
            Message { meta: &[0; 64], ..good },
            Message { meta: &[0xff; 64], ..good },
            Message { meta: &other.to_bytes(), ..good },
            // Who sees a signature can make this second one of it; accepted, it would make one message two.
            Message { meta: &high, ..good },
            Message { payload: &payload[1..], ..good },
            Message { content_topic: "content-topi", ..good },
            Message { ephemeral: false, ..good },
            Message { timestamp: TIMESTAMP + 1, ..good },
            Message { timestamp: 0, ..good },
        ];
        for (number, bad) in bad.iter().enumerate() {
            assert_eq!(verdict(&validator, 0, bad), RejectReason::BadSignature, "{number}");
        }
        assert_eq!((counters.signed.value(), counters.unsigned.value()), (1, bad.len() as u64));
    }

    /// The other signature that is valid for the same digest: `s` subtracted from the order of the curve.
    fn high_s(signature: &[u8]) -> Vec<u8> {
        let low = Signature::from_slice(signature).expect("a signature");
        let (r, s) = low.split_scalars();
        Signature::from_scalars(r, -s).expect("a signature").to_bytes().to_vec()
    }

    #[test]
    fn a_message_must_be_of_now() {
        let payload = bytes(PAYLOAD);
        for (offset_s, expected) in [
            (0, RejectReason::None),
            (299, RejectReason::None),
            (-299, RejectReason::None),
            (300, RejectReason::BadSignature),
            (-300, RejectReason::BadSignature),
            (i64::MAX / 1_000_000_000 - 1, RejectReason::BadSignature),
        ] {
            let timestamp = TIMESTAMP.saturating_add(offset_s * 1_000_000_000);
            let parts = SignedParts {
                pubsub_topic: TOPIC,
                payload: &payload,
                content_topic: b"t",
                timestamp,
                ephemeral: false,
            };
            let signature: Signature = secret().sign_prehash(&parts.digest()).expect("a signature");
            let meta = signature.to_bytes();
            let message =
                Message { payload: &payload, content_topic: "t", timestamp, meta: &meta, ..Message::default() };
            assert_eq!(verdict(&validator().0, 0, &message), expected, "{offset_s} s");
            let fetched = verdict_of(&validator().0, 0, &message, Origin::Resume);
            assert_eq!(fetched, RejectReason::None, "{offset_s} s, from another archive");
            let forged = verdict_of(&validator().0, 0, &Message { payload: b"p", ..message }, Origin::Resume);
            assert_eq!(forged, RejectReason::BadSignature, "{offset_s} s, from another archive");
        }
    }

    #[test]
    fn other_shards_need_no_signature() {
        let (validator, counters) = validator();
        for topic in [1, 3, u32::MAX] {
            assert_eq!(verdict(&validator, topic, &message(b"p", b"")), RejectReason::None, "{topic}");
        }
        assert_eq!((counters.signed.value(), counters.unsigned.value()), (0, 0));
    }

    #[test]
    fn what_is_no_key_is_refused() {
        let off_the_curve = format!("04{}", "11".repeat(64));
        for text in
            ["", "0x", "04ab", "02", &"g".repeat(66), &"é".repeat(33), &off_the_curve, &"00".repeat(33), &PUBLIC[1..]]
        {
            assert_eq!(text.parse::<SignerKey>(), Err(NoSignerKey), "{text}");
        }
    }
}
