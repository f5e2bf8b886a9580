//! One drawing, three ways to run it: which worker gets which stage follows from a single line.

use crate::arena::{Arena, Record};
use crate::stage::Stage;
use crate::topology::builder::{StageId, TopologyBuilder, WorkerId};

use std::sync::Arc;

/// Which worker runs the stages that [`TopologyBuilder::place`] places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Placement {
    /// A worker per lane runs the whole graph of its lane; workers are called `lane:0`, `lane:1` and so on. The fastest for work
    /// that can be split by message, as links within a worker cost next to nothing.
    #[default]
    PerCore,
    /// A worker for every stage of every lane, called as the stage is. For stages that block, and farms of lanes.
    Dedicated,
    /// One worker called `invoker`, whose thread is the caller's: it turns the crank. For tests, hosts that own the thread, and
    /// machines of one core.
    Invoker,
}

impl<M: Record> TopologyBuilder<M> {
    /// An empty drawing over `arena` whose stages `placement` puts on workers. Workers of its own may be added beside them.
    pub fn placed(arena: Arc<Arena<M>>, placement: Placement) -> Self {
        let mut drawing = Self::new(arena);
        drawing.placement = Some(placement);
        drawing
    }

    /// Places a stage of a lane where the drawing's [`Placement`] wants it; it is called `name:lane`. A drawing that was
    /// given none is [`Placement::PerCore`].
    pub fn place(&mut self, lane: usize, name: &str, stage: impl Stage<M> + 'static) -> StageId {
        let name = format!("{name}:{lane}");
        let worker = self.worker_for(lane, &name);
        self.stage(worker, &name, stage)
    }

    /// As [`place`](Self::place), for a stage that `factory` makes, and makes anew when it panics and says so.
    pub fn place_with<S: Stage<M> + 'static>(
        &mut self,
        lane: usize,
        name: &str,
        factory: impl FnMut() -> S + Send + 'static,
    ) -> StageId {
        let name = format!("{name}:{lane}");
        let worker = self.worker_for(lane, &name);
        self.stage_with(worker, &name, factory)
    }

    fn worker_for(&mut self, lane: usize, stage: &str) -> WorkerId {
        let (lane, name) = match self.placement.unwrap_or_default() {
            Placement::PerCore => (lane, format!("lane:{lane}")),
            Placement::Dedicated => return self.worker(stage),
            Placement::Invoker => (0, "invoker".to_owned()),
        };
        if let Some(worker) = self.lanes.get(&lane) {
            return *worker;
        }
        let worker = self.worker(&name);
        self.lanes.insert(lane, worker);
        worker
    }
}
