//! Many digests at once: messages share the lanes of a kernel, and a lane takes the next message as soon as it ends.

use super::job::{Cursor, Job, Kind, Run};
use super::kernel::{BLOCK_BYTES, Block, Columns, LANES_MAX, Runs, Supported};
use super::select::{Kernel, Policy};
use super::{Digest, HASHED_BYTES, MESSAGE_HASHES, MESSAGE_IDS, sha256_parts};
use crate::error::KernelError;
use levada_engine::Counter;

/// Messages that are put in order together, longest first. Of a longer slice the next ones follow while the lanes run on.
pub const WINDOW: usize = 64;

/// What hashing many messages needs between calls, so that no call allocates: about 3 kB. Also says which kernels to use.
#[derive(Debug)]
pub struct Scratch {
    policy: Policy,
    columns: Columns,
    tails: [[Block; 2]; LANES_MAX],
    order: [u64; WINDOW],
}

impl Scratch {
    /// Uses the kernel given to [`force_kernel`](super::force_kernel), else chooses by the number of messages among those
    /// that this CPU supports.
    pub fn new() -> Self {
        Self::of(Policy::of_process())
    }

    /// Uses `kernel` alone, for a lone message as for many.
    ///
    /// # Errors
    ///
    /// [`KernelError::Unsupported`] if this CPU cannot run it.
    pub fn with_kernel(kernel: Kernel) -> Result<Self, KernelError> {
        let supported = Supported::new(kernel).ok_or(KernelError::Unsupported { kernel: kernel.name() })?;
        Ok(Self::of(Policy::only(supported)))
    }

    pub(super) fn of(policy: Policy) -> Self {
        Self { policy, columns: Columns::new(), tails: [[[0; BLOCK_BYTES]; 2]; LANES_MAX], order: [0; WINDOW] }
    }

    /// The kernel that the first of `messages` are hashed with; fewer lanes may follow when few are left.
    pub fn kernel(&self, messages: usize) -> Kernel {
        self.policy.pick(messages).kernel()
    }
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

/// Writes the digest of each job to the same place in `digests`, and counts it as what it is.
///
/// Takes what is there and waits for nothing. The order in which the jobs are hashed is no part of the contract.
///
/// # Panics
///
/// If the slices differ in length.
pub fn hash_many(jobs: &[Job<'_>], digests: &mut [Digest], scratch: &mut Scratch) {
    assert_eq!(jobs.len(), digests.len(), "one digest per job");
    count(jobs);
    let kernel = scratch.kernel(jobs.len());
    BEGUN_WITH[kernel as usize].add(jobs.len() as u64);
    if kernel == Kernel::Sha2 {
        // One after another there is nothing to share: the crate itself, without the bookkeeping of lanes.
        jobs.iter().zip(digests).for_each(|(job, digest)| *digest = sha256_parts(&job.parts()));
        return;
    }
    let Scratch { policy, columns, tails, order } = scratch;
    let queue = Queue { jobs, order, next: 0, sorted: 0, seen: 0 };
    // Too large to be moved.
    let mut lanes = Lanes { queue, columns, tails, lanes: [Lane::IDLE; LANES_MAX], live: 0 };
    lanes.run(policy, digests);
}

/// Messages of the batches that were begun with each kernel, in the order of [`Kernel::ALL`].
static BEGUN_WITH: [Counter; Kernel::ALL.len()] = [const { Counter::new() }; Kernel::ALL.len()];

/// Messages that [`hash_many`] was given so far, by the kernel that their batch was begun with.
pub fn messages_by_kernel() -> [(Kernel, u64); Kernel::ALL.len()] {
    Kernel::ALL.map(|kernel| (kernel, BEGUN_WITH[kernel as usize].value()))
}

fn count(jobs: &[Job<'_>]) {
    let [mut hashes, mut ids, mut bytes] = [0; 3];
    for job in jobs {
        match job.kind() {
            Kind::MessageHash => hashes += 1,
            Kind::MessageId => ids += 1,
            Kind::Uncounted => continue,
        }
        bytes += job.bytes();
    }
    for (counter, amount) in [(&MESSAGE_HASHES, hashes), (&MESSAGE_IDS, ids), (&HASHED_BYTES, bytes)] {
        // An addition takes as long as a tenth of a short message.
        if amount > 0 {
            counter.add(amount);
        }
    }
}

/// The jobs not yet started: window after window, in each the longest first.
struct Queue<'s, 'j> {
    jobs: &'j [Job<'j>],
    /// Of the current window: blocks (above) and place in the window (lowest byte).
    order: &'s mut [u64; WINDOW],
    next: usize,
    sorted: usize,
    /// Jobs of the windows sorted so far.
    seen: usize,
}

impl<'j> Queue<'_, 'j> {
    fn waiting(&self) -> usize {
        self.jobs.len() - self.seen + self.sorted - self.next
    }

    fn take(&mut self) -> Option<(usize, &'j Job<'j>)> {
        if self.next == self.sorted {
            self.sort_window();
        }
        let key = self.order[..self.sorted].get(self.next)?;
        self.next += 1;
        let place = self.seen - self.sorted + (key & 0xff) as usize;
        Some((place, &self.jobs[place]))
    }

    fn sort_window(&mut self) {
        let window = &self.jobs[self.seen..];
        self.sorted = window.len().min(WINDOW);
        self.next = 0;
        self.seen += self.sorted;
        let order = &mut self.order[..self.sorted];
        for (place, (key, job)) in order.iter_mut().zip(window).enumerate() {
            *key = job.blocks() << 8 | place as u64;
        }
        order.sort_unstable_by(|a, b| b.cmp(a));
    }
}

/// A message under way.
#[derive(Clone, Copy)]
struct Lane<'j> {
    /// Where its digest goes.
    place: usize,
    cursor: Option<Cursor<'j>>,
    /// Blocks to hash next, if they lie in a piece.
    run: &'j [Block],
    /// Else which blocks of the lane's tail.
    tail: (u8, u8),
    /// Blocks left, with the padding.
    blocks: u64,
}

impl Lane<'_> {
    const IDLE: Self = Self { place: 0, cursor: None, run: &[], tail: (0, 0), blocks: 0 };
}

/// The messages under way. Those above the width of the kernel wait, half done, until a lane is free.
struct Lanes<'s, 'j> {
    queue: Queue<'s, 'j>,
    columns: &'s mut Columns,
    tails: &'s mut [[Block; 2]; LANES_MAX],
    lanes: [Lane<'j>; LANES_MAX],
    /// Lanes in use: the first ones.
    live: usize,
}

impl<'j> Lanes<'_, 'j> {
    /// Hashes until no message is left.
    fn run(&mut self, policy: &Policy, digests: &mut [Digest]) {
        loop {
            let kernel = policy.pick(self.live + self.queue.waiting());
            let width = kernel.kernel().lanes();
            while self.live < width && self.start(self.live) {
                self.live += 1;
            }
            if self.live == 0 {
                return;
            }
            let busy = self.live.min(width);
            if busy < self.live {
                self.longest_first(busy);
            }
            let blocks = self.compress(kernel, busy);
            // From the last one down, since an ended lane is replaced by the last.
            for lane in (0..busy).rev() {
                if !self.advance(lane, blocks) {
                    self.finish(lane, digests);
                }
            }
        }
    }

    /// Gives `lane` the next message of the queue.
    fn start(&mut self, lane: usize) -> bool {
        let Some((place, job)) = self.queue.take() else { return false };
        self.columns.start(lane);
        self.lanes[lane] = Lane { place, cursor: Some(Cursor::new(job)), blocks: job.blocks(), ..Lane::IDLE };
        self.refill(lane);
        true
    }

    /// Gives `lane` the next blocks of its message; false if there are none.
    fn refill(&mut self, lane: usize) -> bool {
        let slot = &mut self.lanes[lane];
        let Some(cursor) = &mut slot.cursor else { return false };
        match cursor.next_run(&mut self.tails[lane]) {
            Run::InPlace(blocks) => slot.run = blocks,
            Run::Tail(blocks) => slot.tail = (0, blocks as u8),
            Run::End => return false,
        }
        true
    }

    /// Hashes with the first `busy` lanes up to where the first of them needs something new, and returns the blocks of each.
    fn compress(&mut self, kernel: Supported, busy: usize) -> usize {
        let (lanes, tails) = (&self.lanes, &*self.tails);
        let runs = Runs::new(busy, |lane| {
            let Lane { run, tail: (start, end), .. } = &lanes[lane];
            if run.is_empty() { &tails[lane][usize::from(*start)..usize::from(*end)] } else { run }
        });
        kernel.compress(self.columns, &runs);
        runs.blocks()
    }

    /// Notes that `blocks` were hashed; false if the message ends here.
    fn advance(&mut self, lane: usize, blocks: usize) -> bool {
        let slot = &mut self.lanes[lane];
        slot.blocks -= blocks as u64;
        if slot.run.is_empty() {
            slot.tail.0 += blocks as u8;
            slot.tail.0 < slot.tail.1 || self.refill(lane)
        } else {
            slot.run = &slot.run[blocks..];
            !slot.run.is_empty() || self.refill(lane)
        }
    }

    fn finish(&mut self, lane: usize, digests: &mut [Digest]) {
        let digest = &mut digests[self.lanes[lane].place];
        for (bytes, word) in digest.chunks_exact_mut(4).zip(self.columns.lane(lane)) {
            bytes.copy_from_slice(&word.to_be_bytes());
        }
        if !self.start(lane) {
            self.live -= 1;
            self.swap(lane, self.live);
        }
    }

    /// Puts the lanes with most to do in the first `count` places, since the rest has to wait.
    fn longest_first(&mut self, count: usize) {
        for place in 0..count {
            let longest = (place..self.live).max_by_key(|lane| (self.lanes[*lane].blocks, *lane == place));
            self.swap(place, longest.unwrap_or(place));
        }
    }

    fn swap(&mut self, from: usize, to: usize) {
        if from != to {
            self.columns.swap(from, to);
            self.lanes.swap(from, to);
            self.tails.swap(from, to);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::sha256;

    /// Where lanes are given up as fewer messages are left, on the kernels that other CPUs have.
    #[test]
    fn every_selection_of_kernels_gives_the_same_digests() {
        let bytes: Vec<u8> = (0..9_000_u32).map(|byte| ((byte * byte) >> 3) as u8).collect();
        let messages: Vec<&[u8]> = (0..40_usize).map(|number| &bytes[number..][..number.pow(3) % 8_900]).collect();
        let jobs: Vec<Job<'_>> = messages.iter().map(|message| Job::uncounted([message])).collect();
        let expected: Vec<Digest> = messages.iter().map(|message| sha256(message)).collect();
        for selection in 0..1_u32 << Kernel::ALL.len() {
            let has = |kernel| selection >> (kernel as u32) & 1 == 1;
            let mut scratch = Scratch::of(Policy::among(|kernel| Supported::new(kernel).filter(|_| has(kernel))));
            for count in 0..=jobs.len() {
                let mut digests = vec![[0; 32]; count];
                hash_many(&jobs[..count], &mut digests, &mut scratch);
                assert!(digests == expected[..count], "selection {selection:05b}, {count} messages");
            }
        }
    }
}
