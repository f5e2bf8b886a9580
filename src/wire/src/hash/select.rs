//! Which kernel hashes: what this CPU has, what was forced, and how many messages wait.

use std::fmt;
use std::sync::OnceLock;

use super::kernel::{LANES_MAX, Supported};
use crate::error::KernelError;

/// A way to run SHA-256 over several messages at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kernel {
    /// Sixteen lanes of 512 bits (AVX-512 F and BW).
    Avx512x16,
    /// Eight lanes of 256 bits with AVX-512 operations (F and VL).
    Avx512Vlx8,
    /// Eight lanes of AVX2.
    Avx2x8,
    /// Two interleaved streams of the SHA instructions.
    ShaNi2,
    /// The `sha2` crate, one message after another. Runs on every CPU.
    Sha2,
}

impl Kernel {
    /// Every kernel, the widest first.
    pub const ALL: [Self; 5] = [Self::Avx512x16, Self::Avx512Vlx8, Self::Avx2x8, Self::ShaNi2, Self::Sha2];

    /// The environment variable that names a kernel to force. This crate reads no environment: a binary does, and calls
    /// [`force_kernel`].
    pub const VARIABLE: &'static str = "LEVADA_HASH_KERNEL";

    /// The name that [`Kernel::from_name`] takes.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Avx512x16 => "avx512x16",
            Self::Avx512Vlx8 => "avx512vlx8",
            Self::Avx2x8 => "avx2x8",
            Self::ShaNi2 => "shani2",
            Self::Sha2 => "sha2",
        }
    }

    /// The kernel of that name, whether or not this CPU can run it.
    ///
    /// # Errors
    ///
    /// [`KernelError::Unknown`] if there is none.
    pub fn from_name(name: &str) -> Result<Self, KernelError> {
        Self::ALL.into_iter().find(|kernel| kernel.name() == name).ok_or(KernelError::Unknown)
    }

    /// Messages that it hashes side by side.
    pub const fn lanes(self) -> usize {
        match self {
            Self::Avx512x16 => LANES_MAX,
            Self::Avx512Vlx8 | Self::Avx2x8 => 8,
            Self::ShaNi2 => 2,
            Self::Sha2 => 1,
        }
    }

    /// Whether this CPU can run it.
    pub fn is_supported(self) -> bool {
        Supported::new(self).is_some()
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// Shows the names of the kernels that this CPU can run, for a sentence.
pub(crate) struct NamesSupported;

impl fmt::Display for NamesSupported {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_names(formatter, Kernel::is_supported)
    }
}

/// The names of the kernels that `is_named`; the one that runs everywhere comes last.
fn write_names(out: &mut impl fmt::Write, is_named: impl Fn(Kernel) -> bool) -> fmt::Result {
    let [wide @ .., last] = Kernel::ALL;
    let mut between = "";
    for kernel in wide.into_iter().filter(|kernel| is_named(*kernel)) {
        write!(out, "{between}{kernel}")?;
        between = ", ";
    }
    write!(out, "{}{last}", if between.is_empty() { "" } else { " or " })
}

static FORCED: OnceLock<Supported> = OnceLock::new();

/// Makes every [`Scratch`](super::Scratch) created from now on use `kernel` alone, for a lone message as for many. For
/// measurements and tests: the choice by the number of messages suits every load better.
///
/// # Errors
///
/// [`KernelError::Unsupported`] if this CPU cannot run it, [`KernelError::AlreadyForced`] if another one was forced before.
pub fn force_kernel(kernel: Kernel) -> Result<(), KernelError> {
    let supported = Supported::new(kernel).ok_or(KernelError::Unsupported { kernel: kernel.name() })?;
    let forced = *FORCED.get_or_init(|| supported);
    if forced == supported { Ok(()) } else { Err(KernelError::AlreadyForced { kernel: forced.kernel().name() }) }
}

/// Which kernel takes how many messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Policy {
    /// The fewest messages that a kernel is worth its lanes for, most first; the last one is 1 or less.
    steps: [(usize, Supported); 4],
}

/// Where the steps lie, the widest kernel first. Measured as time per block and lane: on a CPU with SHA instructions two
/// streams beat eight half-empty lanes, and eight lanes, given in turn to a few more messages, beat sixteen of which an eighth is
/// empty.
const STEPS_WITH_SHA: [(usize, Kernel); 3] = [(14, Kernel::Avx512x16), (7, Kernel::Avx512Vlx8), (2, Kernel::ShaNi2)];

/// Without SHA instructions one message alone takes nearly as long as eight.
const STEPS_WITHOUT_SHA: [(usize, Kernel); 3] = [(9, Kernel::Avx512x16), (2, Kernel::Avx512Vlx8), (2, Kernel::Avx2x8)];

impl Policy {
    /// The forced kernel, or what suits this CPU.
    pub fn of_process() -> Self {
        FORCED.get().map_or_else(|| Self::among(Supported::new), |forced| Self::only(*forced))
    }

    /// `kernel` alone.
    pub fn only(kernel: Supported) -> Self {
        Self { steps: [(1, kernel); 4] }
    }

    /// The best choice among the kernels that `supported` has.
    pub fn among(supported: impl Fn(Kernel) -> Option<Supported>) -> Self {
        let mut steps = [(1, Supported::fallback()); 4];
        let wanted = if supported(Kernel::ShaNi2).is_some() { STEPS_WITH_SHA } else { STEPS_WITHOUT_SHA };
        let usable = wanted.into_iter().filter_map(|(messages, kernel)| Some((messages, supported(kernel)?)));
        for (step, found) in steps.iter_mut().zip(usable) {
            *step = found;
        }
        Self { steps }
    }

    /// The kernel for `messages` that wait or are under way.
    #[inline]
    pub fn pick(&self, messages: usize) -> Supported {
        let step = self.steps.iter().find(|(messages_min, _)| messages >= *messages_min);
        step.map_or(Supported::fallback(), |(_, kernel)| *kernel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picks(has: &[Kernel], messages: [usize; 6]) -> [Kernel; 6] {
        let has = |kernel: Kernel| Supported::new(kernel).filter(|_| has.contains(&kernel));
        let policy = Policy::among(has);
        messages.map(|messages| policy.pick(messages).kernel())
    }

    #[test]
    fn the_number_of_messages_picks_the_kernel() {
        let messages = [0, 1, 2, 7, 14, 1_000];
        assert_eq!(picks(&[], messages), [Kernel::Sha2; 6]);
        let all = Kernel::ALL.into_iter().filter(|kernel| kernel.is_supported()).collect::<Vec<_>>();
        if all.len() == Kernel::ALL.len() {
            let (sha2, pair, eight, sixteen) = (Kernel::Sha2, Kernel::ShaNi2, Kernel::Avx512Vlx8, Kernel::Avx512x16);
            assert_eq!(picks(&all, messages), [sha2, sha2, pair, eight, sixteen, sixteen]);
            assert_eq!(picks(&[pair, Kernel::Avx2x8], messages), [sha2, sha2, pair, pair, pair, pair]);
            let without_sha = [sha2, sha2, eight, eight, sixteen, sixteen];
            assert_eq!(picks(&[sixteen, eight, Kernel::Avx2x8], messages), without_sha);
            assert_eq!(picks(&[Kernel::Avx2x8], messages[..6].try_into().expect("six"))[2..], [Kernel::Avx2x8; 4]);
        }
    }

    /// A CPU without a kernel is one that the tests may not run on: the sentence is made for any.
    #[test]
    fn the_refusal_of_a_kernel_names_those_that_the_cpu_has() {
        for (has, names) in [
            (&[][..], "sha2"),
            (&[Kernel::ShaNi2], "shani2 or sha2"),
            (&[Kernel::ShaNi2, Kernel::Avx2x8], "avx2x8, shani2 or sha2"),
            (&Kernel::ALL, "avx512x16, avx512vlx8, avx2x8, shani2 or sha2"),
        ] {
            let mut text = String::new();
            write_names(&mut text, |kernel| has.contains(&kernel)).expect("a string takes any text");
            assert_eq!(text, names);
        }
        let refusal = KernelError::Unsupported { kernel: "avx512x16" }.to_string();
        assert!(refusal.contains("avx512x16 needs") && refusal.ends_with(&NamesSupported.to_string()), "{refusal}");
        assert!(Kernel::ALL.iter().all(|kernel| KernelError::Unknown.to_string().contains(kernel.name())));
    }

    #[test]
    fn a_forced_kernel_takes_any_number() {
        let policy = Policy::only(Supported::fallback());
        assert_eq!([0, 1, 1_000].map(|messages| policy.pick(messages)), [Supported::fallback(); 3]);
    }
}
