//! A topology whose stages handle slots by the dozen: claimed in one visit, sent in one, taken in one and released in one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use levada_engine::{
    Arena, ArenaConfig, Batch, BatchLimit, ClassConfig, Envelope, LinkConfig, Outputs, Policy, Stage, TopologyBuilder,
};

const SLOT_BYTES: usize = 128;

/// Of each stage.
const BATCH: BatchLimit = BatchLimit { envelopes: 5, payload_bytes: usize::MAX };

fn check(envelope: &Envelope<'_, u64>) -> u64 {
    let number = *envelope.record();
    let is_whole = envelope.payload().len() == SLOT_BYTES;
    assert!(is_whole && envelope.payload().iter().all(|byte| *byte == number as u8), "{number}");
    number
}

/// Claims as many slots as it may send.
struct Makes {
    next: u64,
    end: u64,
}

impl Stage<u64> for Makes {
    fn ports(&self) -> &'static [&'static str] {
        &["out"]
    }

    fn batch_limit(&self) -> BatchLimit {
        BATCH
    }

    fn is_source(&self) -> bool {
        true
    }

    fn is_ready(&self) -> bool {
        self.next < self.end
    }

    fn process(&mut self, _: &mut Batch<'_, u64>, _: &mut Outputs<'_, u64>) {}

    fn poll(&mut self, outputs: &mut Outputs<'_, u64>) {
        let wanted = outputs.room(0).min((self.end - self.next) as usize);
        let claims = outputs.arena().claims(SLOT_BYTES, wanted);
        let made = claims.map(|mut unique| {
            unique.payload_mut().fill(self.next as u8);
            unique.set_len(SLOT_BYTES);
            *unique.record_mut() = self.next;
            self.next += 1;
            unique.share()
        });
        outputs.send_all(0, made);
    }
}

/// Takes all that is there, and passes it on.
struct Takes;

impl Stage<u64> for Takes {
    fn ports(&self) -> &'static [&'static str] {
        &["out"]
    }

    fn batch_limit(&self) -> BatchLimit {
        BATCH
    }

    fn process(&mut self, batch: &mut Batch<'_, u64>, outputs: &mut Outputs<'_, u64>) {
        batch.take_each(|envelope| {
            check(&envelope);
            outputs.send(0, envelope);
        });
    }
}

/// Lets go of all that is there, and counts it.
struct Releases(Arc<Released>);

/// What has arrived at the end.
#[derive(Default)]
struct Released {
    count: AtomicU64,
    sum: AtomicU64,
}

impl Stage<u64> for Releases {
    fn ports(&self) -> &'static [&'static str] {
        &[]
    }

    fn batch_limit(&self) -> BatchLimit {
        BATCH
    }

    fn process(&mut self, batch: &mut Batch<'_, u64>, _: &mut Outputs<'_, u64>) {
        batch.release_each(|envelope| {
            self.0.sum.fetch_add(check(envelope), Relaxed);
            self.0.count.fetch_add(1, Relaxed);
        });
    }
}

/// How to tell whether everything came through.
pub struct Through {
    arena: Arc<Arena<u64>>,
    slots: u32,
    total: u64,
    released: Arc<Released>,
}

impl Through {
    /// Everything has arrived.
    pub fn is_complete(&self) -> bool {
        self.released.count.load(Relaxed) == self.total
    }

    /// The topology has ended: each number came once, and every slot is back.
    pub fn check(self) {
        assert_eq!(self.released.count.load(Relaxed), self.total);
        assert_eq!(self.released.sum.load(Relaxed), (0..self.total).sum());
        assert_eq!(self.arena.slots_in_use(), 0);
        let all: Vec<_> = self.arena.claims(SLOT_BYTES, usize::MAX).collect();
        assert_eq!(all.len(), self.slots as usize);
    }
}

/// Of so many workers, two or four: `total` envelopes are made by one and let go of by another, or made by two, passed on by a
/// third and let go of by a fourth.
pub fn draw(workers: usize, slots: u32, total: u64, capacity: usize) -> (TopologyBuilder<u64>, Through) {
    let classes = vec![ClassConfig { payload_bytes: SLOT_BYTES, slots }];
    let config = ArenaConfig { classes, huge_pages: false, prefault: false };
    let arena: Arc<Arena<u64>> = Arena::new(&config).expect("a small arena");
    let mut drawing = TopologyBuilder::new(arena.clone());
    let released = Arc::new(Released::default());
    let last = drawing.blocking_worker("last");
    let passing = if workers > 2 { drawing.blocking_worker("passing") } else { last };
    let takes = drawing.stage(passing, "takes", Takes);
    let releases = drawing.stage(last, "releases", Releases(released.clone()));
    let link = LinkConfig { capacity, policy: Policy::Reliable };
    drawing.link_with(takes, "out", releases, link);
    let makers = workers as u64 / 2;
    for maker in 0..makers {
        let making = drawing.blocking_worker(&format!("making:{maker}"));
        let makes = Makes { next: maker * total / makers, end: (maker + 1) * total / makers };
        let makes = drawing.stage(making, &format!("makes:{maker}"), makes);
        drawing.link_with(makes, "out", takes, link);
    }
    (drawing, Through { arena, slots, total, released })
}
