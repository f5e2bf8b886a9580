use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;

const LIMITS: FrameLimits =
    FrameLimits { frame_bytes_max: 400, data_bytes_max: 200, control_bytes_max: 100, topic_bytes_max: 20 };

/// What came out of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Out {
    Entry(Vec<u8>),
    Message { topic: Vec<u8>, data: Option<Vec<u8>>, bytes: usize, is_anonymous: bool },
}

/// Reads a stream that gives at most `step` bytes at a time.
fn read(stream: &[u8], step: usize) -> (Vec<Out>, Result<(), StreamFault>) {
    let (mut reader, mut rest, mut out, mut slot) = (FrameReader::new(LIMITS), stream, Vec::new(), None);
    loop {
        match reader.need() {
            Need::Bytes(bytes) => {
                let (some, left) = rest.split_at(bytes.min(step).min(rest.len()));
                if some.is_empty() {
                    return (out, Ok(()));
                }
                rest = left;
                if let Err(fault) = reader.feed(some) {
                    return (out, Err(fault));
                }
            }
            Need::Slot(bytes) => {
                assert!(bytes <= LIMITS.data_bytes_max as usize, "the limit comes before the slot");
                slot = Some(vec![0; bytes]);
                reader.has_slot();
            }
            Need::Data { at, end } => {
                let bytes = (end - at).min(step).min(rest.len());
                if bytes == 0 {
                    return (out, Ok(()));
                }
                let (some, left) = rest.split_at(bytes);
                slot.as_mut().expect("a slot was asked for")[at..at + bytes].copy_from_slice(some);
                rest = left;
                reader.has_read(bytes);
            }
            Need::Entry => {
                out.push(Out::Entry(reader.entry().to_vec()));
                reader.entry_done();
            }
            Need::Message => {
                let message = reader.message();
                let (topic, bytes, is_anonymous) = (message.topic.to_vec(), message.data_bytes, message.is_anonymous);
                assert_eq!(message.is_too_large, slot.is_none());
                out.push(Out::Message { topic, data: slot.take(), bytes, is_anonymous });
                reader.message_done();
            }
        }
    }
}

/// The same with every step, which must make no difference.
fn read_all(stream: &[u8]) -> (Vec<Out>, Result<(), StreamFault>) {
    let whole = read(stream, usize::MAX);
    for step in [1, 2, 3, 7] {
        assert_eq!(read(stream, step), whole, "{step} bytes at a time");
    }
    whole
}

fn field(number: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![number << 3 | 2];
    push_varint(body.len() as u32, &mut bytes);
    bytes.extend_from_slice(body);
    bytes
}

fn frame(body: &[u8]) -> Vec<u8> {
    field(0, body)[1..].to_vec()
}

fn message(topic: &[u8], data: &[u8]) -> Out {
    Out::Message { topic: topic.to_vec(), data: Some(data.to_vec()), bytes: data.len(), is_anonymous: true }
}

#[test]
fn frames_in_a_row_give_their_entries_in_order() {
    let (subscription, control) = (field(1, &[8, 1]), field(3, &[0x1a, 0]));
    let publish = field(2, &[field(2, &[7; 150]), field(4, b"topic")].concat());
    let turned = field(2, &[field(4, b"other"), field(2, b"data")].concat());
    let first = frame(&[&subscription[..], &publish, &turned, &control].concat());
    let second = frame(&field(2, &[field(2, &[8; 200]), field(4, b"t")].concat()));
    let (out, end) = read_all(&[&first[..], &frame(&[]), &second].concat());
    let expected = [
        Out::Entry(subscription),
        message(b"topic", &[7; 150]),
        message(b"other", b"data"),
        Out::Entry(control),
        message(b"t", &[8; 200]),
    ];
    assert_eq!((out, end), (expected.to_vec(), Ok(())));
}

#[test]
fn a_message_may_lack_its_data_or_its_topic() {
    let stream = frame(&[field(2, b""), field(2, &field(4, b"t")), field(2, &field(2, b"d")), field(1, b"")].concat());
    let expected = [message(b"", b""), message(b"t", b""), message(b"", b"d"), Out::Entry(vec![0x0a, 0])];
    assert_eq!(read_all(&stream), (expected.to_vec(), Ok(())));
}

#[test]
fn unknown_fields_are_stepped_over_and_forbidden_ones_noticed() {
    let numbers = [0x50, 0x96, 0x01, 0x59, 1, 2, 3, 4, 5, 6, 7, 8, 0x5d, 1, 2, 3, 4];
    let unknown = [&numbers[..], &field(9, b"unknown")].concat();
    let plain = [&unknown[..], &field(2, b"d"), &unknown, &field(4, b"t")].concat();
    let stream = |message: &[u8]| frame(&[&unknown[..], &field(2, message), &unknown].concat());
    assert_eq!(read_all(&stream(&plain)), (vec![message(b"t", b"d")], Ok(())));
    for forbidden in [1, 3, 5, 6] {
        let signed = [&field(forbidden, b"someone")[..], &plain].concat();
        let (out, end) = read_all(&stream(&signed));
        assert!(matches!(&out[..], [Out::Message { is_anonymous: false, .. }]) && end.is_ok(), "{forbidden}");
    }
}

#[test]
fn a_message_over_the_limit_is_stepped_over_and_the_next_one_is_read() {
    let large = field(2, &[field(2, &[7; 201]), field(4, b"t")].concat());
    let (out, end) = read_all(&[frame(&large), frame(&field(2, &field(2, b"d")))].concat());
    let large = Out::Message { topic: b"t".to_vec(), data: None, bytes: 201, is_anonymous: true };
    assert_eq!((out, end), (vec![large, message(b"", b"d")], Ok(())));
}

#[test]
fn each_fault_ends_the_stream() {
    use StreamFault::{ControlTooLong, FrameTooLong, Overrun, TopicTooLong, Twice, Varint, WireType};
    let data = field(2, b"d");
    for (stream, fault) in [
        (vec![0x91, 0x03], FrameTooLong { bytes: 401, bytes_max: 400 }),
        (vec![0xff; 9].into_iter().chain([1]).collect(), FrameTooLong { bytes: u64::MAX, bytes_max: 400 }),
        (vec![0xff; 10], Varint),
        (frame(&field(3, &[0; 101])), ControlTooLong { bytes: 101, bytes_max: 100 }),
        (frame(&field(2, &field(4, &[0; 21]))), TopicTooLong { bytes: 21, bytes_max: 20 }),
        (frame(&field(2, &[&data[..], &data].concat())), Twice),
        (frame(&field(2, &[field(4, b"t"), field(4, b"t")].concat())), Twice),
        (frame(&[0x12, 2, 0x12, 1]), Overrun),
        (frame(&[0x12, 3]), Overrun),
        ([frame(&[0x12]), vec![0]].concat(), Overrun),
        (vec![1, 0x80, 0x01], Overrun),
        (frame(&[0x09, 1, 2, 3]), Overrun),
        (frame(&[0x0b]), WireType),
        (frame(&[0x0e]), WireType),
        (frame(&[0x02, 0]), WireType),
    ] {
        let (out, end) = read_all(&stream);
        assert_eq!((out, end), (Vec::new(), Err(fault)), "{stream:02x?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    /// Whatever comes, the reader asks for no more than its limits and always goes on or ends.
    #[test]
    fn any_bytes_neither_panic_nor_pass_the_limits(
        bytes in vec(prop_oneof![select(&[0x0a, 0x12, 0x1a, 0x22, 0x80][..]), any::<u8>()], 0..64),
    ) {
        let (entries, _) = read_all(&bytes);
        prop_assert!(entries.len() <= bytes.len());
    }
}
