//! What the targets of `tools/fuzz` call, and what they start from: each takes any bytes, and panics if something is wrong.

pub use super::mux::fuzzing::{mplex, yamux};
pub use super::noise::fuzzing::{handshake, records};

/// A stream of the peer's that is read, answered and ended; one of ours, the way to the peer being full for a while; one whose window is
/// used up; raw frames.
pub const YAMUX_SEEDS: &[&[u8]] = &[
    &[1, 0x19, 0, 2, 3, 0x0d, 0x51, 2, 2, 0xfd, 0x36, 0x19, 3, 1, 4, 2, 0x3e, 0x0f],
    &[0, 4, 0x36, 2, 0x19, 1, 2, 0x0d, 7, 0x36, 0x36, 2, 0x17, 2, 1, 5, 2, 0x0f],
    &[1, 0x19, 0, 0xf9, 2, 0xf9, 2, 0xf9, 2, 2, 3, 0xfd, 2, 0xf9, 2, 2, 0xfd],
    &[1, 0x60, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 3, 0x18, 7, 7, 7, 2, 3, 0x0d],
];

/// The same on mplex.
pub const MPLEX_SEEDS: &[&[u8]] = &[
    &[0x19, 0, 2, 3, 0x0d, 0x51, 2, 2, 0xfd, 0x36, 1, 4, 2, 0x3e, 0x0f],
    &[4, 0x36, 2, 0x19, 1, 2, 0x0d, 7, 0x36, 0x36, 2, 0x17, 2, 1, 5, 2, 0x0f],
    &[0x38, 0, 0, 2, 3, 7, 7, 7, 2, 3, 0x0d, 0x0f],
];

/// A record, a full one, and bytes that nobody has sealed; then the second record cut.
pub const RECORD_SEEDS: &[&[u8]] = &[&[3, 2, 7, 7, 0x41, 9, 0x83, 0, 17, 1], &[200, 0x41, 9, 5, 1, 2, 3, 4, 5]];

/// First messages that prove nothing, in both roles; honest handshakes of which one byte is changed, and one that is left alone.
pub const HANDSHAKE_SEEDS: &[&[u8]] = &[
    &[0, 0, 32, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9],
    &[1, 0, 32, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9],
    &[2, 0, 40, 1],
    &[3, 0, 200, 128],
    &[2, 0, 0, 0],
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::mux::tests::Random;

    /// Gives `target` each seed, and `rounds` inputs that were made from the seeds; with LEVADA_DEEP=1 ten times as many.
    fn drive(target: fn(&[u8]), seeds: &[&[u8]], rounds: usize) {
        let is_deep = std::env::var("LEVADA_DEEP").is_ok_and(|value| value == "1");
        let mut random = Random::new(0x5eed_0006);
        for round in 0..if is_deep { 10 * rounds } else { rounds } {
            let mut input = seeds[round % seeds.len()].to_vec();
            if round >= seeds.len() {
                (0..=random.below(6)).for_each(|_| random.mutate(&mut input));
            }
            target(&input);
        }
    }

    #[test]
    fn records_withstand_what_the_fuzzer_gives_them() {
        drive(records, RECORD_SEEDS, 1_000);
    }

    #[test]
    fn handshakes_withstand_what_the_fuzzer_gives_them() {
        drive(handshake, HANDSHAKE_SEEDS, 200);
    }

    #[test]
    fn multiplexers_withstand_what_the_fuzzer_gives_them() {
        drive(yamux, YAMUX_SEEDS, 500);
        drive(mplex, MPLEX_SEEDS, 500);
    }
}
