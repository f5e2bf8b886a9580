//! Rules of yamux, by hand.

use std::io;

use levada_wire::mux::yamux::Yamux;
use levada_wire::mux::{Greeting, Header, StreamId};

use crate::transport::by_hand::{Bench, header, read};
use crate::transport::error::TransportError;

const OPENS: Greeting = Greeting { opens: true, accepts: false };
const KNOWN: Greeting = Greeting { opens: false, accepts: false };

/// A frame of the side that dialled; the tests play it against one that listens.
fn peer(frame: Header) -> Vec<u8> {
    header(&Yamux::new(true), frame)
}

fn theirs(number: u64) -> StreamId {
    StreamId { number, is_ours: true }
}

fn refused(frames: &[Vec<u8>], rule: &str) {
    let mut bench = Bench::new(Yamux::new(false));
    bench.send(&frames.concat());
    match bench.turn() {
        std::task::Poll::Ready(Err(TransportError::Violation { muxer: "yamux", rule: found })) => {
            assert_eq!(found, rule)
        }
        other => panic!("{rule}: {other:?}"),
    }
    // The peer is told that it broke a rule.
    assert!(bench.received().ends_with(&header(&Yamux::new(false), Header::GoAway(1))));
    // And again the answer is that the connection is closed.
    assert!(bench.turn().is_ready());
}

#[test]
fn broken_rules_end_the_connection() {
    refused(&[vec![1; 12]], "the version is not 0");
    refused(&[[0, 9].into_iter().chain([0; 10]).collect()], "the type of a frame is unknown");
    refused(&[vec![0; 12]], "stream 0 carries data or credit");
    refused(&[peer(Header::Data(theirs(2), OPENS, 0))], "a stream is opened with a number of the other side");
    let open = peer(Header::Data(theirs(1), OPENS, 0));
    refused(&[open.clone(), open.clone()], "a stream is opened twice");
    let too_much = peer(Header::Data(theirs(1), KNOWN, 256 * 1_024 + 1));
    refused(&[open, too_much], "more is sent than the window allows");
    refused(&[peer(Header::Data(theirs(1), OPENS, u32::MAX))], "more is sent than the window allows");
}

#[test]
fn pings_are_answered_and_going_away_ends_after_what_is_open() {
    let mut bench = Bench::new(Yamux::new(false));
    bench.send(&[0, 2, 0, 1, 0, 0, 0, 0, 1, 2, 3, 4]);
    bench.send(&peer(Header::Data(theirs(1), OPENS, 3)));
    bench.send(b"abc");
    bench.send(&peer(Header::GoAway(0)));
    assert!(bench.turn().is_pending());
    assert_eq!(bench.received(), header(&Yamux::new(false), Header::Pong(0x0102_0304)));
    let mut stream = bench.accept().expect("a stream");
    assert_eq!(read(&mut stream, 9).expect("bytes").expect("no error"), b"abc");
    bench.send(&peer(Header::GoAway(2)));
    assert!(matches!(bench.turn(), std::task::Poll::Ready(Err(TransportError::GoneAway { code: 2 }))));
    assert_eq!(read(&mut stream, 9).expect("an end").expect_err("an error").kind(), io::ErrorKind::ConnectionAborted);
}

#[test]
fn pings_of_a_peer_that_reads_nothing_are_answered_up_to_a_bound() {
    let mut bench = Bench::new(Yamux::new(false));
    let pings = [0, 2, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0].repeat(50_000);
    bench.send(&pings);
    assert!(bench.turn().is_pending());
    assert_eq!(bench.received().len(), pings.len());
    bench.set_full(true);
    bench.send(&pings);
    assert!(matches!(bench.turn(), std::task::Poll::Ready(Err(TransportError::AnswersUnread))));
}

#[test]
fn a_reset_drops_what_waits_and_an_end_does_not() {
    let mut bench = Bench::new(Yamux::new(false));
    for number in [1, 3] {
        bench.send(&peer(Header::Data(theirs(number), OPENS, 3)));
        bench.send(b"abc");
    }
    bench.send(&peer(Header::Reset(theirs(1))));
    bench.send(&peer(Header::Finish(theirs(3), KNOWN)));
    assert!(bench.turn().is_pending());
    let mut reset = bench.accept().expect("a stream");
    let mut ended = bench.accept().expect("a stream");
    assert_eq!(read(&mut reset, 9).expect("an answer").expect_err("a reset").kind(), io::ErrorKind::ConnectionReset);
    assert_eq!(read(&mut ended, 9).expect("bytes").expect("no error"), b"abc");
    assert_eq!(read(&mut ended, 9).expect("the end").expect("no error"), b"");
}

#[test]
fn credit_is_given_back_by_halves_of_the_window() {
    let mut bench = Bench::new(Yamux::new(false));
    bench.send(&peer(Header::Data(theirs(1), OPENS, 256 * 1_024)));
    bench.send(&vec![1; 256 * 1_024]);
    assert!(bench.turn().is_pending());
    let mut stream = bench.accept().expect("a stream");
    assert_eq!(read(&mut stream, 100_000).expect("bytes").expect("no error").len(), 100_000);
    assert!(bench.turn().is_pending());
    assert_eq!(bench.received(), []);
    assert_eq!(read(&mut stream, 31_072).expect("bytes").expect("no error").len(), 31_072);
    assert!(bench.turn().is_pending());
    let accepted = Greeting { opens: false, accepts: true };
    let id = StreamId { number: 1, is_ours: false };
    assert_eq!(bench.received(), header(&Yamux::new(false), Header::Credit(id, accepted, 128 * 1_024)));
    // The rest, read empty: the window grows to its largest size.
    assert_eq!(read(&mut stream, 200_000).expect("bytes").expect("no error").len(), 128 * 1_024);
    assert!(bench.turn().is_pending());
    assert_eq!(bench.received(), header(&Yamux::new(false), Header::Credit(id, KNOWN, (128 + 768) * 1_024)));
}
