//! Resident memory of the process.

/// Bytes resident now, by `/proc/self/statm`; 0 where the system has no such file.
pub fn resident_bytes() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm")
        .ok()
        .and_then(|statm| statm.split_whitespace().nth(1)?.parse::<u64>().ok());
    pages.unwrap_or(0) * PAGE_BYTES
}

/// `statm` counts in pages, 4 KiB on every system this runs on today.
const PAGE_BYTES: u64 = 4_096;
