//! The contract of a stage: code with one duty.
//!
//! | called | when | may block? | may publish? | may allocate? |
//! |---|---|---|---|---|
//! | [`Stage::process`] | envelopes wait, outputs have room for one each | only on a worker of its own | yes | not per message |
//! | [`Stage::poll`] | every turn, on stages that say they are a source | no | yes, as far as there is room | not per message |
//! | [`Stage::is_ready`] | before the worker sleeps, on the same stages | no | no | no |
//! | [`Stage::housekeeping`] | about every 100 ms | no | no | yes |
//! | [`Stage::finish`] | once, when the inputs are closed and empty | yes, within the drain limit | yes | yes |

use crate::arena::Record;
use crate::batch::{Batch, BatchLimit};
use crate::outputs::Outputs;

/// What the engine does when a stage panics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnPanic {
    /// Release and count the envelopes the stage had taken and not passed on; go on with the rest of the batch.
    ///
    /// A stage that panics while it only looks ([`Batch::peek`]) is given the same envelopes once more, one, two, three and so
    /// on, until it panics again: then the last one added is given up, and no other.
    #[default]
    SkipMessage,
    /// Release and count as [`SkipMessage`](Self::SkipMessage) does, drop the stage with all it holds, and go on with one that
    /// its factory makes: for stages whose state a panic may leave broken. Needs a stage placed with a factory
    /// ([`TopologyBuilder::stage_with`](crate::TopologyBuilder::stage_with)). A factory that panics stops the topology.
    RestartStage,
    /// Stop the whole topology.
    StopTopology,
}

/// Code with one duty, run by one worker.
///
/// A stage gets batches and passes envelopes on by output port. It never sees a full output: the worker does not call
/// it until what it sent before is gone.
pub trait Stage<M: Record>: Send {
    /// The names of the output ports; a port's position is its number in [`Outputs::send`].
    fn ports(&self) -> &'static [&'static str];

    /// How much one call of [`process`](Self::process) gets.
    fn batch_limit(&self) -> BatchLimit {
        BatchLimit::default()
    }

    /// What a panic in this stage leads to. A panic in here stops the topology.
    fn on_panic(&self) -> OnPanic {
        OnPanic::SkipMessage
    }

    /// Works on a batch. By each port one envelope may be sent for each that was taken, and as many again, up to the limit of
    /// a batch, for what the stage kept back before.
    fn process(&mut self, batch: &mut Batch<'_, M>, outputs: &mut Outputs<'_, M>);

    /// True for stages that bring envelopes in from elsewhere through [`poll`](Self::poll). Asked when the stage is placed, and
    /// for good.
    fn is_source(&self) -> bool {
        false
    }

    /// Brings envelopes in, at most [`Outputs::room`] per port. Not called again once the topology drains.
    fn poll(&mut self, _outputs: &mut Outputs<'_, M>) {}

    /// [`poll`](Self::poll) would bring something in now. Asked once the worker can be woken, so that what becomes available
    /// between a poll and the worker's sleep is not overlooked; whoever makes it available later wakes the worker.
    fn is_ready(&self) -> bool {
        false
    }

    /// Slow chores: dropping what is too old, updating what others read.
    fn housekeeping(&mut self) {}

    /// The inputs are closed and empty: pass on or store what is still held, however much that is: the ports have room for
    /// any number now. What a panic here leaves behind in the stage is released with it.
    fn finish(&mut self, _outputs: &mut Outputs<'_, M>) {}
}
