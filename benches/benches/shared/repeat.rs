//! One thing again and again, on the calling thread.

use std::hint::black_box;
use std::time::Instant;

use crate::comparison::Timed;

/// Runs `iteration` as often as criterion asks, and times the whole.
pub fn repeat(iterations: u64, mut iteration: impl FnMut() -> u64) -> Timed {
    let (started, mut work) = (Instant::now(), 0);
    for _ in 0..iterations {
        work = black_box(iteration());
    }
    Timed { elapsed: started.elapsed(), work }
}
