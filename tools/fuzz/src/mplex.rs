//! mplex messages, one after another with the bodies that they announce.
#![no_main]

use fuzz::mux::walk;
use levada_wire::mux::mplex::Mplex;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| walk(&Mplex::default(), &Mplex::default(), data));
