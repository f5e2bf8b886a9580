//! yamux headers, one after another with the bodies that they announce.
#![no_main]

use fuzz::mux::walk;
use levada_wire::mux::yamux::Yamux;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let (dialler, listener) = (Yamux::new(true), Yamux::new(false));
    walk(&dialler, &listener, data);
    walk(&listener, &dialler, data);
});
