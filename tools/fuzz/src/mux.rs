//! What both multiplexers' targets ask of a codec, whatever bytes come.

use levada_wire::mux::{Body, Codec, Frame, Greeting, HEADER_BYTES_MAX, Header, StreamId};

/// Walks over `data` as a connection of `near` does. `far` is the codec of the other side.
pub fn walk<C: Codec>(near: &C, far: &C, data: &[u8]) {
    let mut rest = data;
    while let Ok(Some((frame, bytes))) = near.decode(rest) {
        assert!((1..=C::READ_BYTES_MAX).contains(&bytes) && bytes <= rest.len(), "{frame:?} in {bytes} bytes");
        // A header that is cut is waited for, and one that is whole does not depend on what follows.
        for cut in 0..bytes {
            assert!(matches!(near.decode(&rest[..cut]), Ok(None)), "{cut} of {bytes} bytes");
        }
        assert_eq!(near.decode(&rest[..bytes]), Ok(Some((frame, bytes))));
        written_again(near, far, frame);
        rest = &rest[bytes..];
        if let Frame::Stream { body: Body::Data(body) | Body::Ignored(body), .. } = frame {
            rest = rest.get(body as usize..).unwrap_or_default();
        }
    }
    // What is refused is refused for good, and what is waited for is shorter than any header.
    match near.decode(rest) {
        Ok(None) => assert!(rest.len() < C::READ_BYTES_MAX),
        refused => assert!(refused.is_err()),
    }
}

/// The other side writes what the frame says; read again, it says the same.
fn written_again<C: Codec>(near: &C, far: &C, frame: Frame) {
    for header in headers(frame) {
        let mut out = [0; HEADER_BYTES_MAX];
        let written = far.encode(header, &mut out);
        let Ok(Some((again, bytes))) = near.decode(&out[..written]) else { continue };
        if bytes == written {
            assert_eq!(headers(again), headers(frame).into_iter().filter(|other| *other == header).collect::<Vec<_>>());
        }
    }
}

/// The header that makes a frame, as its sender numbers the stream. Frames that say several things at once have none.
fn headers(frame: Frame) -> Vec<Header> {
    let theirs = |id: StreamId| StreamId { is_ours: !id.is_ours, ..id };
    let greeting = |opens| Greeting { opens, accepts: false };
    match frame {
        Frame::Stream { id, opens, body: Body::Data(bytes), finishes: false, resets: false } => {
            vec![Header::Data(theirs(id), greeting(opens), bytes)]
        }
        Frame::Stream { id, opens, body: Body::Credit(bytes), finishes: false, resets: false } => {
            vec![Header::Credit(theirs(id), greeting(opens), bytes)]
        }
        Frame::Stream { id, opens: false, body: Body::Ignored(0), finishes: true, resets: false } => {
            vec![Header::Finish(theirs(id), greeting(false))]
        }
        Frame::GoAway(code) => vec![Header::GoAway(code)],
        _ => Vec::new(),
    }
}
