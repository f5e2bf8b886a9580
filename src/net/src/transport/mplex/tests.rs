//! Rules of mplex, by hand.

use super::Mplex;
use crate::transport::error::TransportError;
use crate::transport::mux::tests::{Bench, header, read};
use crate::transport::mux::{Body, Codec, Frame, Greeting, Header, StreamId};

const OPENS: Greeting = Greeting { opens: true, accepts: false };
const KNOWN: Greeting = Greeting { opens: false, accepts: false };

#[test]
fn messages_as_the_specification_lists_them() {
    let codec = Mplex::default();
    let (ours, theirs) = (StreamId { number: 17, is_ours: true }, StreamId { number: 17, is_ours: false });
    assert_eq!(header(&codec, Header::Data(ours, OPENS, 300)), [0x88, 1, 0, 0x8a, 1, 0xac, 2]);
    assert_eq!(header(&codec, Header::Data(theirs, KNOWN, 1)), [0x89, 1, 1]);
    assert_eq!(header(&codec, Header::Finish(ours, KNOWN)), [0x8c, 1, 0]);
    assert_eq!(header(&codec, Header::Finish(theirs, KNOWN)), [0x8b, 1, 0]);
    assert_eq!(header(&codec, Header::Reset(ours)), [0x8e, 1, 0]);
    assert_eq!(header(&codec, Header::Reset(theirs)), [0x8d, 1, 0]);
    assert_eq!(header(&codec, Header::Credit(ours, KNOWN, 5)), []);
    assert_eq!(header(&codec, Header::Pong(5)), []);
    let stream = |id, body| Frame::Stream { id, opens: false, body, finishes: false, resets: false };
    // What its opener sends is of a stream that is not ours.
    assert!(matches!(codec.decode(&[0x8a, 1, 5]), Ok(Some((frame, 3))) if frame == stream(theirs, Body::Data(5))));
    assert!(matches!(codec.decode(&[0x89, 1, 5]), Ok(Some((frame, 3))) if frame == stream(ours, Body::Data(5))));
    assert!(matches!(codec.decode(&[0x89, 1]), Ok(None)));
    assert!(matches!(codec.decode(&[0x89]), Ok(None)));
}

#[test]
fn broken_rules_end_the_connection() {
    for (bytes, rule) in [
        (&[7, 0][..], "the kind of a message is unknown"),
        (&[2, 0x81, 0x80, 0x40], "a message is larger than 1 MiB"),
        (&[0xff; 12], "a varint is longer than 64 bits"),
        (&[0, 0, 0, 0], "a stream is opened twice"),
    ] {
        let mut bench = Bench::new(Mplex::default());
        bench.send(bytes);
        match bench.turn() {
            std::task::Poll::Ready(Err(TransportError::Violation { muxer: "mplex", rule: found })) => {
                assert_eq!(found, rule);
            }
            other => panic!("{rule}: {other:?}"),
        }
    }
}

#[test]
fn a_name_is_stepped_over_and_one_number_names_two_streams() {
    let mut bench = Bench::new(Mplex::default());
    bench.send(&[0, 4]);
    bench.send(b"name");
    bench.send(&[2, 3]);
    bench.send(b"abc");
    bench.send(&[4, 0]);
    assert!(bench.turn().is_pending());
    let mut stream = bench.accept().expect("a stream");
    assert_eq!(read(&mut stream, 9).expect("bytes").expect("no error"), b"abc");
    assert_eq!(read(&mut stream, 9).expect("the end").expect("no error"), b"");
    assert!(bench.accept().is_none());
    // Data for our own stream 0, which we have not opened: we say once that there is none.
    bench.send(&[1, 1, 9, 1, 1, 9]);
    assert!(bench.turn().is_pending());
    assert_eq!(bench.received(), [6, 0]);
}
