//! The WakuMessage walk beside prost: the same fields, or a departure that is known.
#![no_main]

#[path = "../../../src/wire/tests/oracle/mod.rs"]
mod oracle;

use fuzz::mutate::mutate;
use fuzz::tree::Kind::{Bytes, Number};
use fuzz::tree::Shape;
use libfuzzer_sys::{fuzz_mutator, fuzz_target};

const MESSAGE: Shape = &[(1, Bytes), (2, Bytes), (3, Number), (10, Number), (11, Bytes), (21, Bytes), (31, Number)];

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutate(data, size, max_size, seed, MESSAGE)
});

fuzz_target!(|data: &[u8]| oracle::compare(data));
