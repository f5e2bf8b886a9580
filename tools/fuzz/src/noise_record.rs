//! Records as they come, sealed by the peer or not.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| fuzz::transport::fuzzing::records(data));
