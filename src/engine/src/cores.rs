//! The cores this process may use, and binding a worker to one.

use core_affinity::CoreId;

/// Cores of the affinity mask, no more than the control group's quota pays for. Empty where the system does not tell.
pub(crate) fn usable() -> Vec<CoreId> {
    let mut cores = core_affinity::get_core_ids().unwrap_or_default();
    let quota = std::thread::available_parallelism().map_or(cores.len(), usize::from);
    cores.truncate(quota);
    cores
}

/// How many cores a topology can count on: at least one.
pub fn usable_cores() -> usize {
    usable().len().max(1)
}

/// Binds the calling thread; false where the system refuses, and the thread runs unbound.
pub(crate) fn pin(core: CoreId) -> bool {
    core_affinity::set_for_current(core)
}
