//! How large a message may be so that the frame around it stays within the limit.

/// Bytes of the largest message that fits a frame body of `rpc_bytes_max` bytes, on a topic whose name has `topic_bytes` bytes.
///
/// The frame of one message (libp2p pubsub, RPC field 2, Message fields 2 and 4) is `12 L₁ (12 L₂ data)(22 L₃ topic)`, lengths as
/// varints. For `/waku/2/rs/1/0` they and the topic take 24 bytes.
pub fn message_bytes_max(rpc_bytes_max: u32, topic_bytes: usize) -> u32 {
    let frame = |data: u64| {
        let message = field_bytes(data) + field_bytes(topic_bytes as u64);
        field_bytes(message)
    };
    // The lengths take at most five bytes each, so the answer lies close below the limit without them; and no closer than the frame
    // around less than it is wide, with which the search begins, as this is asked for every message.
    let most = u64::from(rpc_bytes_max).saturating_sub(topic_bytes as u64);
    let less = most.saturating_sub(SPARE_MAX);
    let spare_min = frame(less) - less - topic_bytes as u64;
    (spare_min..=SPARE_MAX)
        .filter_map(|spare| most.checked_sub(spare))
        .find(|data| frame(*data) <= rpc_bytes_max.into())
        .unwrap_or(0) as u32
}

/// Bytes of keys and lengths in a frame at most.
const SPARE_MAX: u64 = 24;

/// Bytes of a field with a one-byte key, a length and `bytes` bytes.
fn field_bytes(bytes: u64) -> u64 {
    let length = u64::from(64 - (bytes | 1).leading_zeros()).div_ceil(7);
    1 + length + bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_of_waku_is_exact() {
        // 12 + 3 bytes of length, 12 + 3, 22 + 1, and 14 of the name.
        assert_eq!(message_bytes_max(153_600, "/waku/2/rs/1/0".len()), 153_576);
        assert_eq!(message_bytes_max(153_600, "/waku/2/rs/1/10".len()), 153_575);
    }

    #[test]
    fn one_byte_more_never_fits() {
        for topic_bytes in [0_usize, 1, 14, 127, 128, 1_024] {
            for limit in (1_100..20_000).step_by(7) {
                let data = u64::from(message_bytes_max(limit, topic_bytes));
                let frame = |data| field_bytes(field_bytes(data) + field_bytes(topic_bytes as u64));
                assert!(frame(data) <= limit.into() && frame(data + 1) > limit.into(), "{topic_bytes} {limit}");
            }
        }
        assert_eq!(message_bytes_max(10, 100), 0);
    }
}
