//! The metrics that every Prometheus client gives of its process, read from /proc. Where there is no /proc, or a line of
//! it has changed, the metric is absent.

use std::fs;

use super::{Kind, Labels, Metrics, Value};

/// Clock ticks per second in /proc: part of Linux's interface to programs, the same whatever the kernel ticks at.
const TICKS_PER_SECOND: f64 = 100.0;

impl Metrics {
    /// Adds `process_resident_memory_bytes`, `process_virtual_memory_bytes`, `process_cpu_seconds_total`,
    /// `process_open_fds`, `process_max_fds` and `process_start_time_seconds`.
    #[must_use]
    pub fn process(self) -> Self {
        self.process_gauge("process_resident_memory_bytes", "Resident memory in bytes.", || status_bytes("VmRSS:"))
            .process_gauge("process_virtual_memory_bytes", "Virtual memory in bytes.", || status_bytes("VmSize:"))
            .process_gauge("process_open_fds", "Open file descriptors.", open_fds)
            .process_gauge("process_max_fds", "Largest number of open file descriptors.", max_fds)
            .process_gauge(
                "process_start_time_seconds",
                "Start of the process in seconds since the epoch.",
                start_time_seconds,
            )
            .family(Kind::Counter, "process_cpu_seconds", "User and system CPU time in seconds.", || {
                sample(cpu_seconds())
            })
    }

    fn process_gauge(self, name: &'static str, help: &'static str, read: fn() -> Option<Value>) -> Self {
        self.family(Kind::Gauge, name, help, move || sample(read()))
    }
}

fn sample(value: Option<Value>) -> Vec<(Labels, Value)> {
    value.map(|value| (Labels::new(), value)).into_iter().collect()
}

/// A line of /proc/self/status, which is in kB.
fn status_bytes(name: &str) -> Option<Value> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let kilobytes: u64 = field_after(&status, name)?.parse().ok()?;
    Some(Value::Unsigned(kilobytes.checked_mul(1024)?))
}

/// The first word after `name` at the start of a line.
fn field_after<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()
}

/// Field `number` of /proc/self/stat, counted from 1 as proc(5) does.
fn stat_field(stat: &str, number: usize) -> Option<&str> {
    // Field 2 is the program's name in parentheses, which may hold spaces and parentheses: count from its end.
    let after_name = &stat[stat.rfind(')')? + 1..];
    after_name.split_whitespace().nth(number.checked_sub(3)?)
}

fn stat_seconds(stat: &str, number: usize) -> Option<f64> {
    let ticks: f64 = stat_field(stat, number)?.parse().ok()?;
    Some(ticks / TICKS_PER_SECOND)
}

fn cpu_seconds() -> Option<Value> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    Some(Value::Float(stat_seconds(&stat, 14)? + stat_seconds(&stat, 15)?))
}

fn start_time_seconds() -> Option<Value> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let system = fs::read_to_string("/proc/stat").ok()?;
    let boot_seconds: f64 = field_after(&system, "btime ")?.parse().ok()?;
    Some(Value::Float(boot_seconds + stat_seconds(&stat, 22)?))
}

fn open_fds() -> Option<Value> {
    // One of the entries is the directory being read.
    let entries = fs::read_dir("/proc/self/fd").ok()?.count();
    u64::try_from(entries.saturating_sub(1)).ok().map(Value::Unsigned)
}

fn max_fds() -> Option<Value> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    field_after(&limits, "Max open files")?.parse().ok().map(Value::Unsigned)
}

#[cfg(test)]
mod tests {
    use super::{field_after, stat_field};

    #[test]
    fn a_program_name_with_spaces_and_parentheses_shifts_no_field() {
        let stat = "4711 (a) b (c)) S 1 4711 4711 0 -1 4194560 7 0 0 0 31 12 0 0 20 0 9 0 123456 1 2";
        assert_eq!(stat_field(stat, 3), Some("S"));
        assert_eq!(stat_field(stat, 14), Some("31"));
        assert_eq!(stat_field(stat, 15), Some("12"));
        assert_eq!(stat_field(stat, 22), Some("123456"));
        assert_eq!(stat_field(stat, 99), None);
        assert_eq!(stat_field("no parenthesis", 14), None);
    }

    #[test]
    fn a_field_is_found_at_the_start_of_its_line_only() {
        let status = "Name:\tVmRSS: 1\nVmRSS:\t  2048 kB\n";
        assert_eq!(field_after(status, "VmRSS:"), Some("2048"));
        assert_eq!(field_after(status, "VmSwap:"), None);
    }
}
