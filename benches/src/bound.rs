//! Work on one core.

/// Runs `work` on a thread of its own that is bound to the first core.
///
/// Not on the caller's, because a thread hands its core on to the threads it starts: were the caller bound, every worker
/// started later would find itself on that one core.
pub(crate) fn on_first_core<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let bound = || {
        if let Some(core) = core_affinity::get_core_ids().and_then(|cores| cores.into_iter().next()) {
            core_affinity::set_for_current(core);
        }
        work()
    };
    std::thread::scope(|scope| scope.spawn(bound).join()).expect("the work does not panic")
}
