//! Links that are declared by name first, and given their producer later.

use crate::arena::Record;
use crate::link::LinkConfig;
use crate::topology::builder::{LinkPlan, StageId, StagePlan, TopologyBuilder};
use crate::topology::error::TopologyError;

/// A declared link of the topology being drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkId(usize);

/// A link that knows where it leads.
pub(super) struct DeclaredLink {
    name: String,
    to: usize,
    config: LinkConfig,
    /// Stage and port that write into it.
    producer: Option<(usize, usize)>,
}

impl<M: Record> TopologyBuilder<M> {
    /// Declares a link called `name` that leads to a stage: for drawings in which the consumer, or the name, is known before the
    /// producer is. Its ring is made for a single producer and a single consumer, as that of every link between two stages.
    pub fn spsc_link(&mut self, name: &str, to: StageId, config: LinkConfig) -> LinkId {
        self.declared.push(DeclaredLink { name: name.to_owned(), to: to.0, config, producer: None });
        LinkId(self.declared.len() - 1)
    }

    /// Makes a port the producer of a declared link. A second one is refused when the topology is built.
    pub fn produce(&mut self, link: LinkId, from: StageId, port: &str) {
        let Some(port) = self.port(from, port) else { return };
        let declared = &mut self.declared[link.0];
        if let Some(first) = declared.producer.replace((from.0, port)) {
            let names = [first, (from.0, port)].map(|producer| producer_name(&self.stages, producer));
            let [first, second] = names;
            let (link, consumer) = (declared.name.clone(), self.stages[declared.to].name.clone());
            self.errors.push(TopologyError::TwoProducers { link, first, second, consumer });
            return;
        }
        let (name, to, config) = (declared.name.clone(), declared.to, declared.config);
        self.links.push(LinkPlan { name, is_declared: true, from: from.0, port, to, config });
    }

    /// A declared link that nobody writes into.
    pub(super) fn unwritten(&self) -> Option<TopologyError> {
        let link = self.declared.iter().find(|link| link.producer.is_none())?;
        Some(TopologyError::LinkWithoutProducer { link: link.name.clone() })
    }
}

/// `stage.port`.
fn producer_name<M: Record>(stages: &[StagePlan<M>], (stage, port): (usize, usize)) -> String {
    format!("{}.{}", stages[stage].name, stages[stage].stage.ports()[port])
}
