//! One run of one form: the clock, the processor time, and the memory.

use std::collections::VecDeque;
use std::time::Instant;

use levada_engine::{PAYLOAD_COPIES, heap};
use rustix::time::{ClockId, clock_gettime};

use super::error::ChunkBenchError;
use super::form::{Form, Workload};
use super::sink::{Sink, SinkKind};

/// What a run came to.
#[derive(Debug, Clone, Copy)]
pub struct Measured {
    /// Peak of the allocator, plus the peak of the bytes of slots lent out.
    pub peak_heap_bytes: u64,
    /// Bytes of the arena.
    pub arena_bytes: u64,
    /// Most memory that the process ever had resident.
    pub rss_peak_bytes: u64,
    /// All bytes asked of the allocator, those of a buffer that grew each time it did.
    pub allocated_bytes: u64,
    /// Processor time of the process, recipients' threads included.
    pub cpu_ns: u64,
    /// Time from the first chunk to the last byte.
    pub wall_ns: u64,
    /// Payload copies.
    pub copies: u64,
}

/// Sends all chunks of `workload` in a form to a sink.
///
/// # Errors
/// [`ChunkBenchError`]: what failed.
pub fn measure(form: &mut dyn Form, workload: &Workload, sink: SinkKind) -> Result<Measured, ChunkBenchError> {
    let mut sink = Sink::open(sink, workload.recipients)?;
    let (mut under_way, mut slots_peak_bytes) = (VecDeque::with_capacity(workload.in_flight), 0);
    let copies = PAYLOAD_COPIES.value();
    heap::track_bytes(true);
    let (cpu_ns, started) = (process_ns(), Instant::now());
    for number in 0..workload.chunks {
        if under_way.len() >= workload.in_flight.max(1)
            && let Some(oldest) = under_way.pop_front()
        {
            sink.take(oldest)?;
        }
        under_way.push_back(form.fly(workload, number)?);
        slots_peak_bytes = form.slot_bytes().0.max(slots_peak_bytes);
    }
    for flight in under_way.drain(..) {
        sink.take(flight)?;
    }
    sink.close()?;
    let (wall_ns, cpu_ns) = (started.elapsed().as_nanos() as u64, process_ns() - cpu_ns);
    let (_, heap_peak_bytes) = heap::tracked_bytes();
    let allocated_bytes = heap::requested_bytes();
    heap::track_bytes(false);
    Ok(Measured {
        peak_heap_bytes: heap_peak_bytes.max(0) as u64 + slots_peak_bytes,
        arena_bytes: form.slot_bytes().1,
        rss_peak_bytes: rss_peak_bytes(),
        allocated_bytes,
        cpu_ns,
        wall_ns,
        copies: PAYLOAD_COPIES.value() - copies,
    })
}

fn process_ns() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// By `/proc/self/status`; 0 where the system has no such file.
fn rss_peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) * 1_024
}
