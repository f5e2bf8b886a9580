//! The counters that tell how often a message is decoded and hashed. Alone in its file: other tests would add to them.

use levada_wire::hash::{self, HASHED_BYTES, Job, MESSAGE_HASHES, MESSAGE_IDS, Scratch};
use levada_wire::waku::message::{DECODED_BYTES, DECODES, decode};
use levada_wire::waku::sharding::shard_of;

fn counts() -> [u64; 5] {
    [&DECODES, &DECODED_BYTES, &MESSAGE_HASHES, &MESSAGE_IDS, &HASHED_BYTES].map(|counter| counter.value())
}

#[test]
fn each_pass_over_a_message_counts_once() {
    assert_eq!(counts(), [0; 5]);
    let data = [0x0a, 1, b'p', 0x12, 1, b't'];
    let spans = decode(&data).expect("a well-formed message");
    assert_eq!(counts(), [1, 6, 0, 0, 0]);
    assert!(decode(&data[..2]).is_err());
    assert_eq!(counts(), [2, 8, 0, 0, 0], "a failed pass is a pass");
    hash::message_id(&data);
    assert_eq!(counts(), [2, 8, 0, 1, 6]);
    hash::message_hash("topic", spans.payload.of(&data), spans.content_topic.of(&data), b"meta", 1);
    assert_eq!(counts(), [2, 8, 1, 1, 6 + 5 + 1 + 1 + 4 + 8]);
    hash::sha256(b"not a message");
    assert_eq!(shard_of("/toychat/2/huilong/proto", 8), Ok(3));
    assert_eq!(counts(), [2, 8, 1, 1, 25]);

    let jobs = [
        Job::message_hash("topic", spans.payload.of(&data), spans.content_topic.of(&data), b"meta", 1),
        Job::message_id(&data),
        Job::uncounted([b"not a message"]),
        Job::message_id(&data),
    ];
    assert_eq!(counts(), [2, 8, 1, 1, 25], "a job is no hash yet");
    hash::hash_many(&jobs, &mut [[0; 32]; 4], &mut Scratch::new());
    assert_eq!(counts(), [2, 8, 2, 3, 25 + 19 + 6 + 6]);
}
