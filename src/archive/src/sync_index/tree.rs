//! A B+-tree of keys in which every node knows the summary of each of its children.
//!
//! Keys come nearly in order and leave from the front only, in whole ranges; so nothing is ever rebalanced. Rows that are
//! neither first nor last are at least half full, which keeps the height logarithmic. Sums over a range are the difference of two
//! sums from the front, and one such sum reads one node per level.

use std::ops::{ControlFlow, Range};

use super::row::Row;
use super::slab::{Child, Node, NodeId, Slab};
use super::summary::Summary;
use crate::range::Key;

/// A tree whose nodes live in a slab, which every call is given.
#[derive(Debug, Default)]
pub(super) struct Tree {
    root: Option<NodeId>,
    height: usize,
    total: Summary,
}

/// What became of a key below some node.
enum Placed {
    /// It was there.
    Known,
    Added,
    /// The node was full; this part of it must go beside it.
    Split(Child),
}

impl Tree {
    /// Everything in it.
    pub fn total(&self) -> &Summary {
        &self.total
    }

    /// Room that the slab must have before an insert: a node for each that may split, and a root.
    pub fn nodes_needed(&self) -> usize {
        self.height + 1
    }

    /// Adds a key; false if it was there.
    pub fn insert(&mut self, slab: &mut Slab, key: &Key) -> bool {
        match self.root {
            None => (self.root, self.height) = (Some(slab.add(Node::Leaf(Row::of(&[*key])))), 1),
            Some(root) => match insert_below(slab, root, key, true) {
                Placed::Known => return false,
                Placed::Added => {}
                Placed::Split(right) => {
                    let mut left = Child { low: super::KEY_MIN, summary: self.total, node: root };
                    left.summary.add(&Summary::of(&key.1));
                    left.summary.subtract(&right.summary);
                    self.root = Some(slab.add(Node::Inner(Row::of(&[left, right]))));
                    self.height += 1;
                }
            },
        }
        self.total.add(&Summary::of(&key.1));
        true
    }

    /// Of the keys less than `bound`.
    pub fn summary_before(&self, slab: &Slab, bound: &Key) -> Summary {
        let mut sum = Summary::default();
        let mut next = self.root;
        while let Some(id) = next {
            next = match slab.node(id) {
                Node::Leaf(keys) => {
                    keys[..keys.partition_point(|key| key < bound)]
                        .iter()
                        .for_each(|key| sum.add(&Summary::of(&key.1)));
                    None
                }
                Node::Inner(children) => {
                    let slot = slot_of(children, bound);
                    children[..slot].iter().for_each(|child| sum.add(&child.summary));
                    Some(children[slot].node)
                }
            };
        }
        sum
    }

    /// The key that `rank` keys are less than.
    pub fn nth(&self, slab: &Slab, mut rank: u64) -> Option<Key> {
        let mut id = self.root?;
        loop {
            match slab.node(id) {
                Node::Leaf(keys) => return keys.get(usize::try_from(rank).ok()?).copied(),
                Node::Inner(children) => {
                    id = children.iter().find_map(|child| match rank.checked_sub(child.summary.count) {
                        Some(rest) => {
                            rank = rest;
                            None
                        }
                        None => Some(child.node),
                    })?;
                }
            }
        }
    }

    /// Shows the keys of `range` in order, until `look` breaks off.
    pub fn visit(&self, slab: &Slab, range: &Range<Key>, look: &mut impl FnMut(&Key) -> ControlFlow<()>) {
        if let Some(root) = self.root {
            // Broken off or at the end: nothing is left to do.
            let _ = visit_below(slab, root, range, look);
        }
    }

    /// The last key of the first leaf: what goes first when room is needed.
    pub fn first_leaf_end(&self, slab: &Slab) -> Option<Key> {
        first_leaf(slab, self.root?).last().copied()
    }

    /// The least key.
    pub fn first(&self, slab: &Slab) -> Option<Key> {
        first_leaf(slab, self.root?).first().copied()
    }

    /// Removes the keys less than `bound`, and returns their summary.
    pub fn remove_before(&mut self, slab: &mut Slab, bound: &Key) -> Summary {
        let Some(mut root) = self.root else { return Summary::default() };
        let removed = remove_below(slab, root, bound);
        self.total.subtract(&removed);
        if self.total.count == 0 {
            slab.release(root);
            *self = Self::default();
            return removed;
        }
        while let Node::Inner(children) = slab.node(root)
            && let [only] = **children
        {
            slab.release_alone(root);
            root = only.node;
            self.height -= 1;
        }
        self.root = Some(root);
        removed
    }
}

/// The child of a node in which `key` is, or would be. The first takes all that is less than the second, whatever its own
/// bound was before those in front of it were removed.
fn slot_of(children: &[Child], key: &Key) -> usize {
    children[1..].partition_point(|child| child.low <= *key)
}

/// `is_last` tells that nothing in the tree lies behind this node.
fn insert_below(slab: &mut Slab, id: NodeId, key: &Key, is_last: bool) -> Placed {
    let (slot, child, is_last) = match slab.node_mut(id) {
        Node::Leaf(keys) => {
            let Err(at) = keys.binary_search(key) else { return Placed::Known };
            if !keys.is_full() {
                keys.insert(at, *key);
                return Placed::Added;
            }
            let right = keys.insert_splitting(at, *key, is_last);
            let mut summary = Summary::default();
            right.iter().for_each(|key| summary.add(&Summary::of(&key.1)));
            let low = right[0];
            return Placed::Split(Child { low, summary, node: slab.add(Node::Leaf(right)) });
        }
        Node::Inner(children) => {
            let slot = slot_of(children, key);
            (slot, children[slot].node, is_last && slot + 1 == children.len())
        }
    };
    let placed = insert_below(slab, child, key, is_last);
    let Node::Inner(children) = slab.node_mut(id) else { return placed };
    if !matches!(placed, Placed::Known) {
        children[slot].summary.add(&Summary::of(&key.1));
    }
    let Placed::Split(new) = placed else { return placed };
    children[slot].summary.subtract(&new.summary);
    if !children.is_full() {
        children.insert(slot + 1, new);
        return Placed::Added;
    }
    let right = children.insert_splitting(slot + 1, new, is_last);
    let mut summary = Summary::default();
    right.iter().for_each(|child| summary.add(&child.summary));
    let low = right[0].low;
    Placed::Split(Child { low, summary, node: slab.add(Node::Inner(right)) })
}

fn visit_below(
    slab: &Slab,
    id: NodeId,
    range: &Range<Key>,
    look: &mut impl FnMut(&Key) -> ControlFlow<()>,
) -> ControlFlow<()> {
    match slab.node(id) {
        Node::Leaf(keys) => {
            for key in &keys[keys.partition_point(|key| *key < range.start)..] {
                if *key >= range.end {
                    return ControlFlow::Break(());
                }
                look(key)?;
            }
        }
        Node::Inner(children) => {
            let first = slot_of(children, &range.start);
            for child in &children[first..] {
                visit_below(slab, child.node, range, look)?;
            }
        }
    }
    ControlFlow::Continue(())
}

fn first_leaf(slab: &Slab, mut id: NodeId) -> &[Key] {
    loop {
        match slab.node(id) {
            Node::Leaf(keys) => return keys,
            Node::Inner(children) => id = children[0].node,
        }
    }
}

fn remove_below(slab: &mut Slab, id: NodeId, bound: &Key) -> Summary {
    let mut removed = Summary::default();
    let (slot, whole, cut) = match slab.node_mut(id) {
        Node::Leaf(keys) => {
            let count = keys.partition_point(|key| key < bound);
            keys[..count].iter().for_each(|key| removed.add(&Summary::of(&key.1)));
            keys.remove_front(count);
            return removed;
        }
        Node::Inner(children) => {
            let slot = slot_of(children, bound);
            children[..slot].iter().for_each(|child| removed.add(&child.summary));
            (slot, *children, children[slot].node)
        }
    };
    whole[..slot].iter().for_each(|child| slab.release(child.node));
    let part = remove_below(slab, cut, bound);
    removed.add(&part);
    let Node::Inner(children) = slab.node_mut(id) else { return removed };
    children.remove_front(slot);
    children[0].summary.subtract(&part);
    if children[0].summary.count == 0 {
        children.remove_front(1);
        slab.release(cut);
    }
    removed
}
