//! What the system tells of a thread and its process.

use std::fs::{read_to_string, write};

/// Binds the calling thread to one of the cores this process may use. With fewer cores than nodes some share one.
pub fn bind(position: usize) {
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    if !cores.is_empty() {
        core_affinity::set_for_current(cores[position % cores.len()]);
    }
}

/// Processor time of all threads of the process that run still, in nanoseconds; 0 where the system does not tell.
pub fn process_cpu_ns() -> u64 {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    threads.map(|thread| first_number(&read_to_string(thread.path().join("schedstat")).unwrap_or_default())).sum()
}

/// Processor time of the calling thread so far, in nanoseconds; 0 where the system does not tell.
pub fn thread_cpu_ns() -> u64 {
    first_number(&read_to_string("/proc/thread-self/schedstat").unwrap_or_default())
}

fn first_number(text: &str) -> u64 {
    text.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or_default()
}

/// Most resident memory of the process since its start, or since [`forget_peak`], in bytes; 0 where the system does not tell.
pub fn peak_bytes() -> u64 {
    let status = read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|text| text.trim().strip_suffix("kB")).and_then(|text| text.trim().parse::<u64>().ok());
    kib.unwrap_or_default() * 1_024
}

/// The peak counts from now on, where the system allows it.
pub fn forget_peak() {
    // Without the right to it, the peak is that of all runs so far, and larger than it should be.
    let _ = write("/proc/self/clear_refs", "5");
}
