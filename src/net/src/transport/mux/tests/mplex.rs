//! Rules of mplex, by hand.

use levada_wire::mux::mplex::Mplex;

use crate::transport::by_hand::{Bench, read};
use crate::transport::error::TransportError;

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
