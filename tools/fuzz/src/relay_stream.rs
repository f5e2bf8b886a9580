//! The reader of a relay peer's stream beside prost: the same messages and entries, however the bytes are cut, or a departure that
//! is known. Whatever comes, no slot above the limit is asked for.
#![no_main]

mod reference;

use fuzz::mutate::mutate;
use fuzz::shapes::FRAME;
use fuzz::tree::put_varint;
use levada_wire::gossipsub::stream::{FrameLimits, FrameReader, Need, StreamFault};
use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use prost::Message;
use reference::{Frame, Publication};

/// Small, so that the fuzzer comes to exceed each of them.
const LIMITS: FrameLimits =
    FrameLimits { frame_bytes_max: 400, data_bytes_max: 200, control_bytes_max: 100, topic_bytes_max: 32 };

/// A frame that follows the other one: only a reader that stands at its end reads it right.
const NEXT: &[u8] = &[10, 0x12, 8, 0x12, 3, b'e', b'n', b'd', 0x22, 1, b't'];

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| { mutate(data, size, max_size, seed, FRAME) });

fuzz_target!(|data: &[u8]| {
    let mut stream = Vec::new();
    put_varint(data.len() as u64, 0, &mut stream);
    stream.extend_from_slice(data);
    stream.extend_from_slice(NEXT);
    let whole = read(&stream, usize::MAX);
    for step in [1, 7] {
        assert_eq!(read(&stream, step), whole, "in steps of {step}");
    }
    match (whole, Frame::decode(data)) {
        (Ok(mut read), Ok(frame)) => {
            let last = read.messages.pop().expect("the frame behind");
            assert_eq!((&last.data[..], &last.topic[..]), (&b"end"[..], &b"t"[..]));
            assert_eq!(read.frame(), frame.with_control().without_large_data());
        }
        (Ok(read), Err(error)) => {
            // Entries are walked later, and a known field of another wire type is passed over like an unknown one, as is one with a
            // number out of range.
            let text = error.to_string();
            let is_in_an_entry = Frame::decode(&read.entries[..]).is_err();
            let is_passed_over =
                ["invalid wire type: ", "invalid key value: "].iter().any(|known| text.contains(known));
            assert!(is_in_an_entry || is_passed_over, "{read:?}: {text}");
        }
        (Err(fault), Ok(frame)) => {
            let is_stricter = !matches!(fault, StreamFault::Overrun | StreamFault::Varint);
            assert!(is_stricter, "{fault:?}, and prost reads {frame:?}");
        }
        (Err(_), Err(_)) => {}
    }
});

/// What came out of a stream.
#[derive(Debug, Default, PartialEq)]
struct Read {
    entries: Vec<u8>,
    messages: Vec<Publication>,
}

impl Read {
    /// As prost has it.
    fn frame(self) -> Frame {
        let entries = Frame::decode(&self.entries[..]).expect("entries are whole, as the frame is");
        Frame { publish: self.messages, ..entries }.with_control()
    }
}

trait WithoutLargeData {
    fn without_large_data(self) -> Self;
}

impl WithoutLargeData for Frame {
    /// What is over the limit is stepped over and leaves nothing but its message.
    fn without_large_data(mut self) -> Self {
        let is_large = |message: &&mut Publication| message.data.len() > LIMITS.data_bytes_max as usize;
        self.publish.iter_mut().filter(is_large).for_each(|message| message.data.clear());
        self.publish.iter_mut().for_each(forget_signature);
        self
    }
}

/// Of the fields that Waku forbids the reader tells only whether there is any.
fn forget_signature(message: &mut Publication) {
    let Publication { from, seqno, signature, key, .. } = message;
    let is_signed = [&*from, &*seqno, &*signature, &*key].into_iter().any(Option::is_some);
    (*from, *seqno, *signature, *key) = (is_signed.then(Vec::new), None, None, None);
}

/// Reads a stream that gives at most `step` bytes at a time.
fn read(stream: &[u8], step: usize) -> Result<Read, StreamFault> {
    let (mut reader, mut rest, mut read, mut slot) = (FrameReader::new(LIMITS), stream, Read::default(), None);
    loop {
        match reader.need() {
            Need::Bytes(bytes) => {
                let some = rest.split_off(..bytes.min(step).min(rest.len())).expect("no more than there is");
                if some.is_empty() {
                    return Ok(read);
                }
                reader.feed(some)?;
            }
            Need::Slot(bytes) => {
                assert!(bytes <= LIMITS.data_bytes_max as usize, "the limit comes before the slot");
                slot = Some(vec![0; bytes]);
                reader.has_slot();
            }
            Need::Data { at, end } => {
                let some = rest.split_off(..(end - at).min(step).min(rest.len())).expect("no more than there is");
                assert!(!some.is_empty(), "the lengths were checked, and the stream is whole");
                slot.as_mut().expect("a slot was asked for")[at..at + some.len()].copy_from_slice(some);
                reader.has_read(some.len());
            }
            Need::Entry => {
                read.entries.extend_from_slice(reader.entry());
                reader.entry_done();
            }
            Need::Message => {
                let message = reader.message();
                assert_eq!(message.is_too_large, slot.is_none());
                let signed = (!message.is_anonymous).then(Vec::new);
                let topic = message.topic.to_vec();
                read.messages.push(Publication {
                    topic,
                    data: slot.take().unwrap_or_default(),
                    from: signed,
                    ..Publication::default()
                });
                reader.message_done();
            }
        }
    }
}
