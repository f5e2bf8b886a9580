//! The handshake of Noise with a peer that sends any bytes, or with one whose bytes are changed on the way.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| fuzz::transport::fuzzing::handshake(data));
