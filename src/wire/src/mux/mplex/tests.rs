//! Messages of mplex, by hand.

use super::Mplex;
use crate::mux::{Body, Codec, Frame, Greeting, HEADER_BYTES_MAX, Header, StreamId};

const OPENS: Greeting = Greeting { opens: true, accepts: false };
const KNOWN: Greeting = Greeting { opens: false, accepts: false };

fn header<C: Codec>(codec: &C, header: Header) -> Vec<u8> {
    let mut out = [0; HEADER_BYTES_MAX];
    let bytes = codec.encode(header, &mut out);
    out[..bytes].to_vec()
}

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
    assert_eq!(header(&codec, Header::Credit(ours, KNOWN, 5)), [0; 0]);
    assert_eq!(header(&codec, Header::Pong(5)), [0; 0]);
    let stream = |id, body| Frame::Stream { id, opens: false, body, finishes: false, resets: false };
    // What its opener sends is of a stream that is not ours.
    assert!(matches!(codec.decode(&[0x8a, 1, 5]), Ok(Some((frame, 3))) if frame == stream(theirs, Body::Data(5))));
    assert!(matches!(codec.decode(&[0x89, 1, 5]), Ok(Some((frame, 3))) if frame == stream(ours, Body::Data(5))));
    assert!(matches!(codec.decode(&[0x89, 1]), Ok(None)));
    assert!(matches!(codec.decode(&[0x89]), Ok(None)));
}

#[test]
fn a_header_that_is_padded_too_far_is_refused_however_much_of_it_has_come() {
    let codec = Mplex::default();
    let padded = |zeros: usize| [&[2, 0x83][..], &vec![0x80; zeros], &[0]].concat();
    assert!(matches!(codec.decode(&padded(8)), Ok(Some((_, 11)))));
    let endless = [[0xff; 9].as_slice(), &[1], &[0x80; 5]].concat();
    assert!(matches!(codec.decode(&endless[..14]), Ok(None)));
    let refused = [codec.decode(&endless), codec.decode(&[&endless[..], &[0]].concat())];
    assert!(refused.iter().all(|outcome| outcome.is_err()), "{refused:?}");
}
