//! What the tasks of all connections share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use levada_engine::{ClaimError, Held, HeldUnique};
use levada_router::Moment;
use levada_wire::error::RpcError;
use levada_wire::gossipsub::stream::FrameLimits;
use levada_wire::waku::WakuRecord;
use libp2p::PeerId;

use super::core::Core;
use super::queue::QueueLimits;
use crate::inbound::Inbound;
use crate::stall::Stall;

/// The router, who takes its messages, and the limits.
pub(crate) struct Shared {
    core: Mutex<Core>,
    /// New messages that found no room before their streams ended: one at most for each stream that has ended since there was room.
    orphans: Mutex<Vec<Held<WakuRecord>>>,
    pub(crate) inbound: Arc<dyn Inbound>,
    pub(crate) stall: Arc<Stall>,
    pub(crate) frames: FrameLimits,
    pub(crate) queues: QueueLimits,
    /// The most that a stream takes at once, if it does not gather slices.
    pub(crate) piece_bytes: Option<usize>,
    epoch: Instant,
}

impl Shared {
    pub(crate) fn new(
        core: Core,
        inbound: Arc<dyn Inbound>,
        stall: Arc<Stall>,
        frames: FrameLimits,
        queues: QueueLimits,
        piece_bytes: Option<usize>,
    ) -> Self {
        Self {
            core: Mutex::new(core),
            orphans: Mutex::default(),
            inbound,
            stall,
            frames,
            queues,
            piece_bytes,
            epoch: Instant::now(),
        }
    }

    /// The router. A panic under the lock is a fault of the router that later calls may survive.
    pub(crate) fn core(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn orphans(&self) -> MutexGuard<'_, Vec<Held<WakuRecord>>> {
        self.orphans.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn now(&self) -> Moment {
        Moment::from_nanos(u64::try_from(self.epoch.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// Whether what the peer sends can be taken in: it is in the router, and its messages can carry its number.
    pub(crate) fn is_known(&self, peer: &PeerId) -> bool {
        self.core().peers.get(peer).is_some_and(|peer| peer.index.is_some() && peer.handle.is_some())
    }

    /// A slot to read a message into. When there is none, the message cache gives half of its own up: what waits to be received matters
    /// more than what might be asked for again.
    ///
    /// # Errors
    /// [`ClaimError`].
    pub(crate) fn claim(&self, bytes: usize) -> Result<HeldUnique<WakuRecord>, ClaimError> {
        let claimed = self.inbound.arena().claim(bytes);
        if let Err(ClaimError::Full { .. }) = &claimed {
            let (mut core, now) = (self.core(), self.now());
            let half = core.router.usage().mcache_bytes / 2;
            core.router.shrink_mcache(half);
            core.router.stalled(now);
        }
        claimed.map(levada_engine::Unique::hold)
    }

    /// Handles a subscription or a control message.
    pub(crate) fn hear(&self, peer: &PeerId, entry: &[u8]) -> Result<(), RpcError> {
        let (mut core, now) = (self.core(), self.now());
        match core.index_of(peer) {
            Some(index) => core.hear(index, entry, self.frames.of_entry(), now),
            None => Ok(()),
        }
    }
}
