//! Byte sizes as nwaku writes them: a whole number and a unit.

/// Reads `150KiB`, `150 KB`, `1500B` or a bare number of bytes; `KiB` and `MiB` are powers of 1024, `KB` and `MB` of 1000.
/// `None` for a fraction, an unknown unit or a number above `u64::MAX`.
pub fn parse_bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits_end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(digits_end);
    let unit = unit.trim_start();
    let (_, factor) = UNITS.iter().find(|(name, _)| unit.eq_ignore_ascii_case(name))?;
    digits.parse::<u64>().ok()?.checked_mul(*factor)
}

/// Writes a byte count with the largest power-of-1024 unit that divides it.
pub fn format_bytes(bytes: u64) -> String {
    for (unit, factor) in [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)] {
        if bytes >= factor && bytes.is_multiple_of(factor) {
            return format!("{}{unit}", bytes / factor);
        }
    }
    format!("{bytes}B")
}

const UNITS: &[(&str, u64)] = &[
    ("", 1),
    ("B", 1),
    ("KB", 1_000),
    ("KiB", 1 << 10),
    ("MB", 1_000_000),
    ("MiB", 1 << 20),
    ("GB", 1_000_000_000),
    ("GiB", 1 << 30),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_read_as_written() {
        let cases =
            [("150KiB", 153_600), ("150 KB", 150_000), ("7", 7), ("7B", 7), ("4mib", 4 << 20), (" 1GiB ", 1 << 30)];
        for (text, bytes) in cases {
            assert_eq!(parse_bytes(text), Some(bytes), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in
            ["", "KiB", "1.5KiB", "-1", "1 K", "15x", "1KiBs", "18446744073709551616", "18446744073709551615KiB"]
        {
            assert_eq!(parse_bytes(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        for bytes in [0, 1, 1023, 1024, 153_600, 4 << 20, 512 << 20, 3 << 30, u64::MAX] {
            assert_eq!(parse_bytes(&format_bytes(bytes)), Some(bytes));
        }
        assert_eq!(format_bytes(512 << 20), "512MiB");
    }
}
