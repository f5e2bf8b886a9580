//! The compression function of SHA-256 over several messages at once. The one module of this crate with unsafe code: the
//! vector loads, and the calls into code that needs instructions this CPU was found to have.

#[cfg(target_arch = "x86_64")]
mod avx2x8;
#[cfg(target_arch = "x86_64")]
mod avx512vlx8;
#[cfg(target_arch = "x86_64")]
mod avx512x16;
#[cfg(target_arch = "x86_64")]
mod eight;
#[cfg(target_arch = "x86_64")]
mod rounds;
#[cfg(target_arch = "x86_64")]
mod shani2;

use super::select::Kernel;

/// Bytes of a block.
pub(super) const BLOCK_BYTES: usize = 64;

/// Lanes of the widest kernel.
pub(super) const LANES_MAX: usize = 16;

/// What the compression function takes at a time.
pub(super) type Block = [u8; BLOCK_BYTES];

/// The hash value before the first block (FIPS 180-4, section 5.3.3).
const INITIAL: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];

/// The states of all lanes: row by row the words a to h, in each row one word per lane.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Columns([[u32; LANES_MAX]; 8]);

impl Columns {
    pub const fn new() -> Self {
        Self([[0; LANES_MAX]; 8])
    }

    /// Makes `lane` ready for a new message.
    pub fn start(&mut self, lane: usize) {
        self.set_lane(lane, INITIAL);
    }

    /// Gives lane `to` the state of lane `from`, and the other way round.
    pub fn swap(&mut self, from: usize, to: usize) {
        self.0.iter_mut().for_each(|row| row.swap(from, to));
    }

    /// The state of `lane`.
    #[inline]
    pub fn lane(&self, lane: usize) -> [u32; 8] {
        self.0.each_ref().map(|row| row[lane])
    }

    #[inline]
    fn set_lane(&mut self, lane: usize, state: [u32; 8]) {
        for (row, word) in self.0.iter_mut().zip(state) {
            row[lane] = word;
        }
    }
}

/// What each lane hashes next: blocks that lie one after another in memory.
pub(super) struct Runs<'a> {
    runs: [&'a [Block]; LANES_MAX],
    /// At most the length of the shortest run: what the kernels rely on.
    blocks: usize,
}

impl<'a> Runs<'a> {
    /// The blocks of the lanes in use, which are at least one; the lanes above these hash along with lane 0, for nothing.
    #[inline]
    pub fn new(lanes: usize, run: impl Fn(usize) -> &'a [Block]) -> Self {
        let mut runs = [run(0); LANES_MAX];
        let mut blocks = runs[0].len();
        for (lane, slot) in runs.iter_mut().enumerate().take(lanes).skip(1) {
            *slot = run(lane);
            blocks = blocks.min(slot.len());
        }
        Self { runs, blocks }
    }

    /// Blocks that a kernel takes from each run.
    pub fn blocks(&self) -> usize {
        self.blocks
    }
}

/// A kernel that this CPU can run: a value exists only if detection said so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Supported(Kernel);

impl Supported {
    /// `kernel`, if this CPU has its instructions.
    pub fn new(kernel: Kernel) -> Option<Self> {
        detect(kernel).then_some(Self(kernel))
    }

    /// The kernel that runs everywhere.
    pub const fn fallback() -> Self {
        Self(Kernel::Sha2)
    }

    pub fn kernel(self) -> Kernel {
        self.0
    }

    /// Hashes `runs.blocks()` blocks of each of the first [`Kernel::lanes`] lanes.
    #[inline]
    pub fn compress(self, columns: &mut Columns, runs: &Runs<'_>) {
        match self.0 {
            // SAFETY: `self` exists, so this CPU has the instructions.
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512x16 => unsafe { avx512x16::compress(columns, runs) },
            // SAFETY: `self` exists, so this CPU has the instructions.
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512Vlx8 => unsafe { avx512vlx8::compress(columns, runs) },
            // SAFETY: `self` exists, so this CPU has the instructions.
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2x8 => unsafe { avx2x8::compress(columns, runs) },
            // SAFETY: `self` exists, so this CPU has the instructions.
            #[cfg(target_arch = "x86_64")]
            Kernel::ShaNi2 => unsafe { shani2::compress(columns, runs) },
            _ => {
                let mut state = columns.lane(0);
                sha2::block_api::compress256(&mut state, &runs.runs[0][..runs.blocks]);
                columns.set_lane(0, state);
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn detect(kernel: Kernel) -> bool {
    match kernel {
        Kernel::Avx512x16 => is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw"),
        Kernel::Avx512Vlx8 => {
            is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512vl")
        }
        Kernel::Avx2x8 => is_x86_feature_detected!("avx2"),
        Kernel::ShaNi2 => {
            is_x86_feature_detected!("sha") && is_x86_feature_detected!("sse4.1") && is_x86_feature_detected!("ssse3")
        }
        Kernel::Sha2 => true,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn detect(kernel: Kernel) -> bool {
    kernel == Kernel::Sha2
}
