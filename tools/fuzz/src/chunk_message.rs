//! The chunk codec beside ant-protocol's types and `postcard`: the same decision, for the same reason, the same fields, and the
//! same bytes back. Outer frames and announced lengths are read beside it.
#![no_main]

#[expect(dead_code, reason = "the tests of the codec use the rest of it")]
#[path = "../../../src/wire/tests/autonomi/compare.rs"]
mod compare;
#[path = "../../../src/wire/tests/autonomi/mirror.rs"]
mod mirror;
#[path = "../../../src/wire/tests/autonomi/view.rs"]
mod view;

use levada_wire::autonomi::{FRAME_BYTES_MAX, announced_len, decode_frame};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = compare::compare(data, &"input");
    let announced = announced_len(data);
    assert!((data.len()..=FRAME_BYTES_MAX).contains(&announced), "{announced} bytes announced");
    if let Ok(frame) = decode_frame(data) {
        assert!(data.starts_with(frame.signed) && announced >= frame.data.len(), "what is signed is the front");
        let _ = compare::compare(frame.data, &"frame");
    }
});
