//! The reference workload: payloads of 10, 50 and 150 kB at 25, 50 and 25 %, the same for one seed everywhere.

use levada_wire::waku::message::Message;

/// Payload sizes in bytes (1 kB = 1 000 bytes), and the quarter of the messages each makes up.
pub const PROFILE: [(usize, usize); 3] = [(10_000, 1), (50_000, 2), (150_000, 1)];

/// The profile's name in reports.
pub const PROFILE_NAME: &str = "10/50/150kB@25/50/25";

/// The pubsub topic of every message: the one a node subscribes to by default.
pub const PUBSUB_TOPIC: &str = "/waku/2/rs/0/0";

/// The content topic of every message.
pub const CONTENT_TOPIC: &str = "/levada/1/bench/proto";

/// A content topic no message has.
pub const OTHER_CONTENT_TOPIC: &str = "/levada/1/other/proto";

/// Bytes of the unique prefix of each payload: its number, big-endian.
const PREFIX_BYTES: usize = 8;

/// SplitMix64 (Steele, Lea, Flood 2014): the one source of randomness of the workload.
#[derive(Debug, Clone)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// A generator in the state `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number below `bound`, by remainder: the bias for bounds far below 2⁶⁴ is nil.
    fn below(&mut self, bound: usize) -> usize {
        (self.next_u64() % bound as u64) as usize
    }
}

/// The payload sizes of `count` messages: exact shares (what does not divide goes to the largest size), shuffled by
/// Fisher and Yates with SplitMix64 seeded `seed`.
pub fn payload_sizes(seed: u64, count: usize) -> Vec<usize> {
    let quarters: usize = PROFILE.iter().map(|(_, quarters)| quarters).sum();
    let mut sizes = Vec::with_capacity(count);
    for (bytes, share) in &PROFILE[..PROFILE.len() - 1] {
        sizes.extend(std::iter::repeat_n(*bytes, count * share / quarters));
    }
    sizes.resize(count, PROFILE[PROFILE.len() - 1].0);
    let mut random = SplitMix64::new(seed);
    for last in (1..count).rev() {
        sizes.swap(last, random.below(last + 1));
    }
    sizes
}

/// Fills `payload` with what message `number` of `seed` carries: a unique prefix, then pseudo-random bytes.
pub fn fill_payload(seed: u64, number: u64, payload: &mut [u8]) {
    let mut random = SplitMix64::new(seed ^ number.rotate_left(32));
    for chunk in payload.chunks_mut(8) {
        chunk.copy_from_slice(&random.next_u64().to_le_bytes()[..chunk.len()]);
    }
    let prefix = PREFIX_BYTES.min(payload.len());
    payload[..prefix].copy_from_slice(&number.to_be_bytes()[..prefix]);
}

/// A message of the workload with the given payload and timestamp (nanoseconds since the epoch).
pub fn message(payload: &[u8], timestamp: i64) -> Message<'_> {
    Message { payload, content_topic: CONTENT_TOPIC, version: 0, timestamp, meta: &[], proof: &[], ephemeral: false }
}

/// Bytes of a timestamp of this century as a zig-zag varint.
const TIMESTAMP_BYTES: usize = 9;

/// Bytes the encoder writes behind the timestamp: empty meta, empty proof, not ephemeral.
const TRAILER_BYTES: usize = 8;

/// Bytes at the end of an encoded message, from the timestamp on, that differ from run to run.
pub const STAMPED_BYTES: usize = TIMESTAMP_BYTES + TRAILER_BYTES;

/// Gives a message of the workload, as encoded, another timestamp (nanoseconds since the epoch) in place.
pub fn restamp(encoded: &mut [u8], timestamp: i64) {
    let end = encoded.len() - TRAILER_BYTES;
    let mut bits = (timestamp << 1).cast_unsigned();
    for (position, byte) in encoded[end - TIMESTAMP_BYTES..end].iter_mut().enumerate() {
        let more = if position + 1 < TIMESTAMP_BYTES { 0x80 } else { 0 };
        *byte = (bits & 0x7f) as u8 | more;
        bits >>= 7;
    }
    assert_eq!(bits, 0, "timestamp {timestamp} does not take {TIMESTAMP_BYTES} bytes");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_exact_and_the_order_is_of_the_seed() {
        let sizes = payload_sizes(42, 1_000);
        let count = |bytes| sizes.iter().filter(|size| **size == bytes).count();
        assert_eq!([10_000, 50_000, 150_000].map(count), [250, 500, 250]);
        assert_eq!(sizes.iter().sum::<usize>(), 65_000_000);
        assert_eq!(sizes, payload_sizes(42, 1_000));
        assert_ne!(sizes, payload_sizes(43, 1_000));
    }

    #[test]
    fn payloads_are_unique_and_repeatable() {
        let payload = |seed, number| {
            let mut payload = vec![0; 100];
            fill_payload(seed, number, &mut payload);
            payload
        };
        assert_eq!(payload(42, 7), payload(42, 7));
        assert_eq!(payload(42, 7)[..8], 7_u64.to_be_bytes());
        assert_ne!(payload(42, 7)[8..], payload(42, 8)[8..]);
        assert_ne!(payload(42, 7)[8..], payload(43, 7)[8..]);
    }

    #[test]
    fn a_restamped_message_is_what_the_encoder_writes() {
        let (before, after) = (1_700_000_000_000_000_000, 1_900_000_000_123_456_789);
        let encode = |timestamp| {
            let message = message(b"payload", timestamp);
            let mut encoded = vec![0; message.encoded_len()];
            message.encode_into(&mut encoded).expect("the buffer has the encoded length");
            encoded
        };
        let mut encoded = encode(before);
        restamp(&mut encoded, after);
        assert_eq!(encoded, encode(after));
    }

    #[test]
    fn the_generator_is_splitmix64() {
        let mut random = SplitMix64::new(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| random.next_u64()).collect();
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }
}
