//! The state of a connection with yamux: frames of a peer, and what the users of its streams do meanwhile.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| fuzz::transport::fuzzing::yamux(data));
