//! Ports for the few tests that must know one before anything listens on it.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU32, Ordering};

/// Below the range from which the system hands out ports, so that no test with port 0 is given one of these meanwhile.
const FIRST: u32 = 20_000;
const COUNT: u32 = 10_000;

/// A port on loopback that nothing listens on. No two calls of one test binary get the same.
pub fn free() -> u16 {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    loop {
        let call = CALLS.fetch_add(1, Ordering::Relaxed);
        assert!(call < COUNT, "some port of {COUNT} is free");
        // Test binaries that run beside each other begin at different places.
        let candidate = FIRST + (std::process::id().wrapping_mul(97) + call) % COUNT;
        let port = u16::try_from(candidate).expect("the range ends below 65 536");
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}
