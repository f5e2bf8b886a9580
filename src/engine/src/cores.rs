//! The cores this process may use, and binding a worker to one.

use core_affinity::CoreId;

/// The cores of this process: what the system lets it run on, never what the host has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cores {
    /// Numbers of the cores in the affinity mask, ascending. Empty where the system does not tell.
    pub allowed: Vec<usize>,
    /// How many cores the control group's quota pays for: at least one.
    pub quota: usize,
}

impl Cores {
    /// The calling thread's affinity mask and the process's quota.
    pub fn of_process() -> Self {
        let mut allowed: Vec<usize> =
            core_affinity::get_core_ids().unwrap_or_default().into_iter().map(|core| core.id).collect();
        allowed.sort_unstable();
        let quota = std::thread::available_parallelism().map_or(allowed.len().max(1), usize::from);
        Self { allowed, quota }
    }

    /// How many threads can run at once: at least one.
    pub fn count(&self) -> usize {
        if self.allowed.is_empty() { self.quota } else { self.quota.min(self.allowed.len()) }
    }

    /// The cores that workers get in turn when nobody names any: no more than the quota pays for.
    pub(crate) fn usable(&self) -> &[usize] {
        &self.allowed[..self.quota.min(self.allowed.len())]
    }
}

/// How many cores a topology can count on: at least one.
pub fn usable_cores() -> usize {
    Cores::of_process().count()
}

/// Binds the calling thread; false where the system refuses, and the thread runs unbound.
pub(crate) fn pin(core: usize) -> bool {
    core_affinity::set_for_current(CoreId { id: core })
}
