//! Memory of the process, as the system sees it.

/// Bytes resident now, by `/proc/self/statm`; 0 where the system has no such file.
pub fn resident_bytes() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm")
        .ok()
        .and_then(|statm| statm.split_whitespace().nth(1)?.parse::<u64>().ok());
    pages.unwrap_or(0) * PAGE_BYTES
}

/// `statm` counts in pages, 4 KiB on every system this runs on today.
const PAGE_BYTES: u64 = 4_096;

/// Bytes in huge pages of those mappings that hold any of `addresses`, by `/proc/self/smaps`; 0 where the system has no such
/// file.
pub fn huge_bytes(addresses: Vec<u64>) -> u64 {
    huge_bytes_in(&std::fs::read_to_string("/proc/self/smaps").unwrap_or_default(), addresses)
}

/// A mapping begins with a line `from-to permissions …`, in hexadecimal; lines `Name: value` follow.
fn huge_bytes_in(smaps: &str, mut addresses: Vec<u64>) -> u64 {
    addresses.sort_unstable();
    let holds_any = |line: &str| {
        let (from, to) = line.split(' ').next()?.split_once('-')?;
        let (from, to) = (u64::from_str_radix(from, 16).ok()?, u64::from_str_radix(to, 16).ok()?);
        let next = addresses.partition_point(|address| *address < from);
        Some(addresses.get(next).is_some_and(|address| *address < to))
    };
    let (mut counts, mut kib) = (false, 0);
    for line in smaps.lines() {
        if let Some(holds_any) = holds_any(line) {
            counts = holds_any;
        } else if let Some(size) = line.strip_prefix("AnonHugePages:").filter(|_| counts) {
            kib += size.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or(0);
        }
    }
    kib * 1_024
}

#[cfg(test)]
mod tests {
    use super::huge_bytes_in;

    #[test]
    fn only_mappings_that_hold_an_address_count() {
        let smaps = "\
7f0000000000-7f0000400000 rw-p 00000000 00:00 0 \n\
Size:               4096 kB\n\
AnonHugePages:      2048 kB\n\
VmFlags: rd wr mr mw me ac hg\n\
7f0000400000-7f0000600000 rw-p 00000000 00:00 0 \n\
AnonHugePages:      2048 kB\n\
7f0001000000-7f0001600000 rw-p 00000000 00:00 0    [heap]\n\
AnonHugePages:      4096 kB\n";
        let huge = |addresses: &[u64]| huge_bytes_in(smaps, addresses.to_vec());
        assert_eq!(huge(&[]), 0);
        assert_eq!(huge(&[0x7f00_003f_ffff, 0x7f00_0000_0000]), 2 << 20);
        assert_eq!(huge(&[0x7f00_0040_0000, 0x7f00_0100_0000, 0x7f00_0160_0000]), 6 << 20);
        assert_eq!(huge_bytes_in("", vec![1]), 0);
    }
}
