//! The nodes of all trees, in one store of bounded size, so that no message costs an allocation.

use super::row::Row;
use super::summary::Summary;
use crate::range::Key;

/// Keys in a leaf.
pub(super) const LEAF_KEYS: usize = 128;

/// Children of an inner node: as many as make it as large as a leaf.
pub(super) const CHILDREN: usize = 58;

/// Nodes allocated at once, about 80 kB.
const CHUNK_NODES: usize = 16;

/// The place of a node in the slab.
pub(super) type NodeId = u32;

/// A part of a tree, seen from the node above it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Child {
    /// No key below it is less, except in the first child of a node.
    pub low: Key,
    pub summary: Summary,
    pub node: NodeId,
}

/// A node of a tree.
#[derive(Clone, Copy, Debug)]
pub(super) enum Node {
    Leaf(Row<Key, LEAF_KEYS>),
    Inner(Row<Child, CHILDREN>),
}

/// Bytes of a node.
pub(super) const NODE_BYTES: usize = size_of::<Node>();
const _: () = assert!(size_of::<Row<Child, CHILDREN>>() <= size_of::<Row<Key, LEAF_KEYS>>());

/// Where the nodes live. What a tree gives back serves the next; chunks stay.
#[derive(Debug)]
pub(super) struct Slab {
    chunks: Vec<Box<[Node]>>,
    free: Vec<NodeId>,
    nodes_max: usize,
}

impl Slab {
    /// At most `nodes_max` nodes, none of them allocated yet.
    pub fn new(nodes_max: usize) -> Self {
        let chunks = nodes_max.div_ceil(CHUNK_NODES);
        Self { chunks: Vec::with_capacity(chunks), free: Vec::new(), nodes_max }
    }

    /// Nodes that can still be added.
    pub fn room(&self) -> usize {
        self.free.len() + self.nodes_max - self.nodes()
    }

    /// Bytes of the nodes allocated so far, in use or not.
    pub fn bytes(&self) -> usize {
        self.nodes() * NODE_BYTES
    }

    fn nodes(&self) -> usize {
        (self.chunks.len() * CHUNK_NODES).min(self.nodes_max)
    }

    /// Takes a node in. There must be room.
    pub fn add(&mut self, node: Node) -> NodeId {
        let id = self.free.pop().unwrap_or_else(|| self.grow());
        *self.node_mut(id) = node;
        id
    }

    /// Allocates a chunk, and room in the list of free nodes for all that exist then.
    fn grow(&mut self) -> NodeId {
        let first = self.nodes();
        let count = CHUNK_NODES.min(self.nodes_max - first);
        self.chunks.push(vec![Node::Leaf(Row::of(&[])); count].into_boxed_slice());
        self.free.reserve(first + count);
        self.free.extend((first + 1..first + count).rev().map(|id| id as NodeId));
        first as NodeId
    }

    /// Gives a node back, with everything below it.
    pub fn release(&mut self, id: NodeId) {
        if let Node::Inner(children) = *self.node(id) {
            children.iter().for_each(|child| self.release(child.node));
        }
        self.release_alone(id);
    }

    /// Gives a node back; what is below it stays.
    pub fn release_alone(&mut self, id: NodeId) {
        self.free.push(id);
    }

    pub fn node(&self, id: NodeId) -> &Node {
        &self.chunks[id as usize / CHUNK_NODES][id as usize % CHUNK_NODES]
    }

    pub fn node_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.chunks[id as usize / CHUNK_NODES][id as usize % CHUNK_NODES]
    }
}
