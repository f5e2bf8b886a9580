//! A full fence of which the frequent side pays nothing: what two threads need who each write a flag and then read the
//! other's.
//!
//! Where the kernel offers it (Linux, `membarrier`), the rare side makes it run a fence on every core this process
//! runs on, and the frequent side only keeps the compiler from reordering. In loom's models both sides run a fence. Nothing is
//! published by it: data goes by release and acquire of the flags.

#[cfg(all(target_os = "linux", not(loom)))]
mod kernel {
    use std::sync::OnceLock;

    const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
    const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;

    fn membarrier(command: libc::c_int) -> bool {
        // SAFETY: the call takes plain numbers and touches no memory of ours.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
    }

    /// Whether the kernel does it; asked once, before the first fence.
    pub fn is_there() -> bool {
        static THERE: OnceLock<bool> = OnceLock::new();
        *THERE.get_or_init(|| membarrier(REGISTER_PRIVATE_EXPEDITED))
    }

    /// False when the kernel refuses after all: for want of memory, or because a filter was put in its way.
    pub fn on_every_core() -> bool {
        membarrier(PRIVATE_EXPEDITED)
    }
}

#[cfg(not(all(target_os = "linux", not(loom))))]
mod kernel {
    pub fn is_there() -> bool {
        false
    }

    pub fn on_every_core() -> bool {
        false
    }
}

/// The two sides of the fence.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Barrier;

impl Barrier {
    /// The kernel does it. Where it does not there is no such fence, and neither side may be called.
    pub fn is_free() -> bool {
        cfg!(loom) || kernel::is_there()
    }

    /// The frequent side, between writing its flag and reading the other's.
    #[inline]
    pub fn light() {
        // Pairs with the fence in `heavy`, which the kernel runs on this core too.
        #[cfg(not(loom))]
        std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
        // Pairs with the fence in `heavy`.
        #[cfg(loom)]
        crate::sync::fence(std::sync::atomic::Ordering::SeqCst);
    }

    /// The rare side, between writing its flag and reading the other's. False when the kernel refused: then the other's
    /// flag says nothing.
    #[must_use]
    pub fn heavy() -> bool {
        // Pairs with the fence in `light`, or stands in for it.
        crate::sync::fence(std::sync::atomic::Ordering::SeqCst);
        cfg!(loom) || kernel::on_every_core()
    }
}
