//! Size classes: how the arena's bytes are cut, and the slots of one size.

use crate::arena::ClassUsage;
use crate::arena::Record;
use crate::arena::free::FreeList;
use crate::arena::mapping::{HugePages, Mapping};
use crate::arena::table::Table;
use crate::error::ArenaError;

/// Slots start on cache lines, two of them because the processor fetches lines in pairs.
const SLOT_ALIGN: usize = 128;

/// Slots of whole pages lie [`SLOT_ALIGN`] further apart than they are long. Otherwise all of them would begin at the same place of a
/// page, which decides the set of a first-level cache: of the payloads that a hash kernel reads in step, each would push out the lines
/// of the others before it has read them to the end.
const PAGE_BYTES: usize = 4_096;

/// From the start of a slot to that of the next.
fn stride_bytes(payload_bytes: usize) -> usize {
    if payload_bytes.is_multiple_of(PAGE_BYTES) { payload_bytes + SLOT_ALIGN } else { payload_bytes }
}

/// Most slots in all classes together: the headers of a full table take 1 GiB.
const SLOTS_MAX: u64 = 1 << 24;

/// The size and number of one class's slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClassConfig {
    /// What a slot holds: a multiple of 128, below 4 GiB.
    pub payload_bytes: usize,
    /// How many slots.
    pub slots: u32,
}

/// How an arena is laid out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArenaConfig {
    /// The classes, in order of size.
    pub classes: Vec<ClassConfig>,
    /// Ask the kernel for huge pages, which make hashing from memory half as fast again. It is advice: where the kernel has
    /// none, or none free, the arena lies in ordinary pages, and nothing else changes. [`Arena::huge_pages`](crate::Arena::huge_pages)
    /// tells what came of it.
    pub huge_pages: bool,
    /// Touch every page at start, so that the first message pays no page fault. Resident memory is the whole arena then.
    pub prefault: bool,
}

impl ArenaConfig {
    /// Classes of 2 KiB, 16 KiB, 64 KiB and `payload_bytes_max` that share `bytes`, most of it for large payloads. Each has
    /// one slot at least, however few `bytes` are.
    ///
    /// The 16 KiB, 64 KiB and 160 KiB classes use 85 % of the bytes they hold on a mix of 10, 50 and 150 kB.
    pub fn with_budget(bytes: usize, payload_bytes_max: usize) -> Self {
        // A size beyond all measure stays as it is, for the check to name.
        let largest = payload_bytes_max.max(1).checked_next_multiple_of(4096).unwrap_or(payload_bytes_max);
        let mut sizes: Vec<usize> = [2 << 10, 16 << 10, 64 << 10].into_iter().filter(|size| *size < largest).collect();
        sizes.push(largest);
        let shares = [1, 3, 10, 18];
        let shares = &shares[shares.len() - sizes.len()..];
        let total: usize = shares.iter().sum();
        let class = |(size, share): (&usize, &usize)| ClassConfig {
            payload_bytes: *size,
            slots: u32::try_from(bytes / total * share / stride_bytes(*size)).unwrap_or(u32::MAX).max(1),
        };
        let classes = sizes.iter().zip(shares).map(class).collect();
        Self { classes, huge_pages: true, prefault: false }
    }

    pub(super) fn check(&self) -> Result<(), ArenaError> {
        if self.classes.is_empty() {
            return Err(ArenaError::NoClass);
        }
        for pair in self.classes.windows(2) {
            if pair[0].payload_bytes >= pair[1].payload_bytes {
                return Err(ArenaError::ClassOrder { payload_bytes: pair[1].payload_bytes });
            }
        }
        let mut slots = 0;
        for class in &self.classes {
            let size = class.payload_bytes;
            if size == 0 || !size.is_multiple_of(SLOT_ALIGN) || u32::try_from(size).is_err() || class.slots == 0 {
                return Err(ArenaError::ClassShape { payload_bytes: size, slots: class.slots });
            }
            slots += u64::from(class.slots);
        }
        if slots > SLOTS_MAX { Err(ArenaError::TooManySlots { slots, slots_max: SLOTS_MAX }) } else { Ok(()) }
    }
}

/// The slots of one size.
#[derive(Debug)]
pub(super) struct Class {
    pub payload_bytes: usize,
    pub slots: u32,
    /// Index of the first slot's envelope.
    pub first: u32,
    mapping: Mapping,
    free: FreeList,
}

impl Class {
    pub fn new(config: &ClassConfig, first: u32, arena: &ArenaConfig) -> Result<Self, ArenaError> {
        let bytes = (stride_bytes(config.payload_bytes) as u64 * u64::from(config.slots)) as usize;
        Ok(Self {
            payload_bytes: config.payload_bytes,
            slots: config.slots,
            first,
            mapping: Mapping::new(bytes, arena.huge_pages, arena.prefault)?,
            free: FreeList::new(config.slots),
        })
    }

    /// What came of the wish for huge pages.
    pub fn huge_pages(&self) -> HugePages {
        self.mapping.huge_pages()
    }

    /// Start of the slot of envelope `index`, which must belong to this class.
    pub fn slot(&self, index: u32) -> *mut u8 {
        let offset = (index - self.first) as usize * stride_bytes(self.payload_bytes);
        self.mapping.at(offset)
    }

    /// Puts every slot on the free list, so that the lowest is taken first.
    pub fn fill_pool<M: Record>(&self, table: &Table<M>) {
        self.free.seed(self.first, self.slots, table);
    }

    /// The free slots that no thread keeps.
    #[inline]
    pub fn free(&self) -> &FreeList {
        &self.free
    }

    /// The slot of envelope `index` is one of these.
    pub fn owns(&self, index: u32) -> bool {
        (self.first..self.first + self.slots).contains(&index)
    }

    /// `kept`: slots of this class that threads keep.
    pub fn usage(&self, kept: u64) -> ClassUsage {
        ClassUsage {
            payload_bytes: self.payload_bytes,
            slots: u64::from(self.slots),
            slots_in_use: self.free.out().saturating_sub(kept),
            slots_out_max: self.free.out_max(),
        }
    }
}
