//! What a stage sends to: its output ports, staged per link and published once per call.

use std::sync::Arc;

use crate::arena::{Arena, Envelope, Record};
use crate::link::Outlet;

/// A stage's output ports during one call.
#[derive(Debug)]
pub struct Outputs<'a, M: Record> {
    arena: &'a Arc<Arena<M>>,
    ports: &'a mut [Port],
    /// The stage may send any number: what finds no room in a link waits in the port.
    unlimited: bool,
}

/// The links that leave by one port.
#[derive(Debug, Default)]
pub(crate) struct Port {
    pub outlets: Vec<Outlet>,
}

impl<'a, M: Record> Outputs<'a, M> {
    pub(crate) fn new(arena: &'a Arc<Arena<M>>, ports: &'a mut [Port]) -> Self {
        Self { arena, ports, unlimited: false }
    }

    /// For [`Stage::finish`](crate::Stage::finish), which is called once and may hold any number of envelopes.
    pub(crate) fn unlimited(arena: &'a Arc<Arena<M>>, ports: &'a mut [Port]) -> Self {
        Self { arena, ports, unlimited: true }
    }

    /// The arena, to claim slots from.
    pub fn arena(&self) -> &'a Arc<Arena<M>> {
        self.arena
    }

    /// How many envelopes `port` takes in this call; any number in [`Stage::finish`](crate::Stage::finish).
    pub fn room(&self, port: usize) -> usize {
        if self.unlimited {
            return usize::MAX;
        }
        self.ports[port].outlets.iter().map(Outlet::room).min().unwrap_or(usize::MAX)
    }

    /// The link that leaves by `port`, if it is the only one there.
    #[inline]
    pub(crate) fn only_link(&mut self, port: usize) -> Option<&mut Outlet> {
        match &mut self.ports[port].outlets[..] {
            [only] => Some(only),
            _ => None,
        }
    }

    /// Sends what `envelopes` gives, as far as the port has room; returns how many. At the price of one hand-over for all
    /// of them where a single link leaves by the port. They must come to an end: a port that leads nowhere has room for any
    /// number.
    ///
    /// # Panics
    /// As [`send`](Self::send) does.
    #[inline]
    pub fn send_all<'e>(&mut self, port: usize, envelopes: impl IntoIterator<Item = Envelope<'e, M>>) -> usize
    where
        M: 'e,
    {
        let room = self.room(port);
        let (arena, mut sent) = (self.arena.as_ref(), 0);
        let envelopes = envelopes.into_iter();
        let Some(outlet) = self.only_link(port).filter(|_| room < usize::MAX) else {
            envelopes.take(room).for_each(|envelope| {
                sent += 1;
                self.send(port, envelope);
            });
            return sent;
        };
        let indices = envelopes.map(|envelope| {
            assert!(envelope.is_of(arena), "an envelope of another arena was sent");
            sent += 1;
            envelope.into_index()
        });
        outlet.stage_all(indices, room);
        sent
    }

    /// Passes an envelope on. A port with several links gives each a handle; one that the topology discards releases it.
    ///
    /// # Panics
    /// When the envelope is of another arena, the stage has no such port, or it sends more than the contract of
    /// [`Stage`](crate::Stage) allows: mistakes in the stage, isolated like any panic in it.
    #[inline]
    pub fn send(&mut self, port: usize, mut envelope: Envelope<'_, M>) {
        assert!(envelope.is_of(self.arena), "an envelope of another arena was sent");
        let outlets = &mut self.ports[port].outlets;
        let Some(more) = outlets.len().checked_sub(1) else {
            return;
        };
        let has_room = self.unlimited || outlets.iter().all(|outlet| outlet.room() > 0);
        assert!(has_room, "more envelopes were sent than one per envelope taken");
        if more > 0 {
            // The count is stored once, before anything is published.
            envelope.retain(more as u32);
        }
        let index = envelope.into_index();
        outlets.iter_mut().for_each(|outlet| outlet.stage(index));
    }
}
