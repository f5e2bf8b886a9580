//! What happens once a second beside the router's own heartbeat: slow peers are found, and memory is given back in time.

use levada_engine::ClassUsage;
use levada_router::PeerIndex;

use super::core::Core;
use super::shared::Shared;

/// What a heartbeat with dropped messages adds to the misbehaviour of a peer. One such second takes it out of the meshes that have better
/// peers; half a minute of them disconnects it.
const SLOW_PENALTY: f64 = 1.0;

impl Shared {
    pub(crate) fn beat(&self) {
        self.push_orphans();
        // Smaller classes borrow from the largest.
        let is_tight = self.inbound.arena().usage().last().is_some_and(is_nearly_full);
        let (mut core, now) = (self.core(), self.now());
        let core = &mut *core;
        if is_tight {
            let half = core.router.usage().mcache_bytes / 2;
            core.router.shrink_mcache(half);
        }
        for slot in 0..core.occupants.len() {
            let Some(Some(occupant)) = core.occupants.get(slot) else { continue };
            let mut queue = occupant.link.queue();
            queue.expire(now);
            let dropped = queue.take_dropped();
            drop(queue);
            if dropped > 0 {
                let peer = occupant.peer;
                core.events.dropped(peer, usize::try_from(dropped).unwrap_or(usize::MAX));
                core.blame_slowness(core.index_of(&peer));
            }
        }
        core.router.heartbeat(now, &mut core.actions);
        core.dispatch(now);
    }
}

impl Core {
    fn blame_slowness(&mut self, peer: Option<PeerIndex>) {
        if let Some(index) = peer {
            self.router.penalise(index, SLOW_PENALTY);
        }
    }
}

/// Seven eighths of a class are lent out.
fn is_nearly_full(class: ClassUsage) -> bool {
    class.slots_in_use * 8 >= class.slots * 7
}
