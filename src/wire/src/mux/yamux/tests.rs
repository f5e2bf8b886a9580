//! Headers of yamux, by hand.

use super::Yamux;
use crate::mux::{Body, Codec, Frame, Greeting, HEADER_BYTES_MAX, Header, StreamId};

const OPENS: Greeting = Greeting { opens: true, accepts: false };
const KNOWN: Greeting = Greeting { opens: false, accepts: false };

fn header<C: Codec>(codec: &C, header: Header) -> Vec<u8> {
    let mut out = [0; HEADER_BYTES_MAX];
    let bytes = codec.encode(header, &mut out);
    out[..bytes].to_vec()
}

#[test]
fn headers_as_the_specification_draws_them() {
    let codec = Yamux::new(true);
    let id = StreamId { number: 0x0102_0305, is_ours: true };
    let bytes = header(&codec, Header::Data(id, OPENS, 0x0a0b_0c0d));
    assert_eq!(bytes, [0, 0, 0, 1, 1, 2, 3, 5, 10, 11, 12, 13]);
    let frame = Frame::Stream { id, opens: true, body: Body::Data(0x0a0b_0c0d), finishes: false, resets: false };
    assert!(matches!(codec.decode(&bytes), Ok(Some((decoded, 12))) if decoded == frame));
    assert!(matches!(codec.decode(&bytes[..11]), Ok(None)));
    assert_eq!(header(&codec, Header::Pong(9)), [0, 2, 0, 2, 0, 0, 0, 0, 0, 0, 0, 9]);
    assert_eq!(header(&codec, Header::GoAway(1)), [0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    assert_eq!(header(&codec, Header::Reset(id))[1..4], [0, 0, 8]);
    assert_eq!(header(&codec, Header::Finish(id, OPENS))[1..4], [0, 0, 5]);
    assert_eq!(header(&codec, Header::Credit(id, KNOWN, 3))[1..4], [1, 0, 0]);
}

#[test]
fn each_side_has_numbers_of_its_own() {
    let (mut dialler, mut listener) = (Yamux::new(true), Yamux::new(false));
    let numbers = |codec: &mut Yamux| [(); 2].map(|()| codec.next_id().map(|id| id.number));
    assert_eq!(numbers(&mut dialler), [Some(1), Some(3)]);
    assert_eq!(numbers(&mut listener), [Some(2), Some(4)]);
    dialler.next = Some(u32::MAX);
    assert_eq!(numbers(&mut dialler), [Some(u64::from(u32::MAX)), None]);
}
