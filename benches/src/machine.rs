//! How busy the machine was with other things, by `/proc` and the kernel's account of the process. Where there is no `/proc`,
//! nothing is known and nothing refused.

use std::fs::read_to_string;

use nix::sys::resource::{UsageWho, getrusage};

/// Clock ticks so far, over all cores.
#[derive(Debug, Clone, Copy, Default)]
struct Ticks {
    total: u64,
    busy: u64,
    stolen: u64,
    own: u64,
}

impl Ticks {
    fn now() -> Self {
        let machine = read_to_string("/proc/stat").unwrap_or_default();
        let fields: Vec<u64> = machine
            .lines()
            .next()
            .unwrap_or_default()
            .split_whitespace()
            .skip(1)
            .filter_map(|field| field.parse().ok())
            .collect();
        // user nice system idle iowait irq softirq steal
        let field = |number: usize| fields.get(number).copied().unwrap_or_default();
        let process = read_to_string("/proc/self/stat").unwrap_or_default();
        let after_name = process.rsplit(") ").next().unwrap_or_default();
        // The 14th to 17th field of the line, and the third comes after the name: user and system, of the process and of its children
        // that have ended, for some rows are measured by programs of their own.
        let own = after_name.split(' ').skip(11).take(4).filter_map(|field| field.parse::<u64>().ok()).sum();
        Self {
            total: (0..8).map(field).sum(),
            busy: field(0) + field(1) + field(2) + field(5) + field(6),
            stolen: field(7),
            own,
        }
    }
}

/// Watches the machine from its making to [`Watch::end`].
#[derive(Debug)]
pub struct Watch(Ticks);

/// What the machine did besides us, in per cent of all its cores.
#[derive(Debug, Clone, Copy, Default)]
pub struct Disturbance {
    /// Time other processes had.
    pub others_pct: f64,
    /// Time the hypervisor gave to others.
    pub stolen_pct: f64,
    /// Samples thrown away because a thread was switched out against its will.
    pub switched: usize,
    /// Samples kept.
    pub kept: usize,
}

impl Disturbance {
    const OTHERS_PCT_MAX: f64 = 10.0;
    const STOLEN_PCT_MAX: f64 = 1.0;

    /// The row says nothing worth keeping: others used more than a tenth of the machine, the hypervisor more than a
    /// hundredth, or more samples were thrown away than kept.
    pub fn is_too_much(&self) -> bool {
        self.others_pct > Self::OTHERS_PCT_MAX || self.stolen_pct > Self::STOLEN_PCT_MAX || self.switched > self.kept
    }
}

impl Watch {
    /// Begins.
    pub fn begin() -> Self {
        Self(Ticks::now())
    }

    /// Ends; counts of samples are left at zero.
    pub fn end(self) -> Disturbance {
        let (before, after) = (self.0, Ticks::now());
        let total = (after.total - before.total).max(1) as f64;
        let others = (after.busy - before.busy).saturating_sub(after.own - before.own);
        Disturbance {
            others_pct: others as f64 * 100.0 / total,
            stolen_pct: (after.stolen - before.stolen) as f64 * 100.0 / total,
            ..Disturbance::default()
        }
    }
}

/// How often the calling thread was switched out against its will so far.
pub fn involuntary_switches() -> u64 {
    switches_in(&read_to_string("/proc/thread-self/status").unwrap_or_default())
}

/// How often the threads that live now were switched out against their will so far.
pub fn involuntary_switches_of_all() -> u64 {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    tasks.filter_map(|task| read_to_string(task.path().join("status")).ok()).map(|status| switches_in(&status)).sum()
}

/// How often the threads of the process, also those that have ended, were switched out against their will so far.
pub fn involuntary_switches_ever() -> u64 {
    let usage = getrusage(UsageWho::RUSAGE_SELF);
    usage.map_or(0, |usage| usage.involuntary_context_switches().cast_unsigned())
}

fn switches_in(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"));
    line.and_then(|count| count.trim().parse().ok()).unwrap_or_default()
}

/// Processor time of this process so far, in nanoseconds, at the resolution of the scheduler's own clock.
pub fn processor_ns() -> u64 {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let of = |task: std::fs::DirEntry| {
        read_to_string(task.path().join("schedstat")).ok()?.split(' ').next()?.parse::<u64>().ok()
    };
    tasks.filter_map(of).sum::<u64>()
}
