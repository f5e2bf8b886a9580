//! From the root of a tree to its records.

use std::collections::{HashSet, VecDeque};

use crate::dns::entry::{Entry, EntryError, Root};
use crate::dns::link::Link;
use crate::dns::resolver::{LookupError, Resolver};
use crate::record::Record;

/// Most names looked up in one walk, over all trees that it leads to.
const LOOKUPS_MAX: usize = 1_024;

/// Why nothing came of a tree.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// The root was not found.
    #[error("the root of the DNS tree could not be looked up: {0}")]
    Lookup(#[from] LookupError),
    /// The root is bad.
    #[error("the DNS tree at {name}: {source}")]
    Entry {
        /// The root's name.
        name: String,
        /// What is wrong with it.
        source: EntryError,
    },
}

/// What a walk came to.
#[derive(Debug, Default)]
pub struct Tree {
    /// Every record that was found.
    pub records: Vec<Record>,
    /// Names whose entry was missing or not what it should be: logged, and left out.
    pub entries_bad: usize,
    /// There was more than a walk looks at.
    pub is_cut: bool,
}

/// Walks a tree, level by level, until `records_max` records are found.
///
/// # Errors
/// [`TreeError`] when the root is missing or not signed by the key of the link. An entry below it that is bad costs
/// itself, not the others.
pub async fn walk(link: &Link, resolver: &impl Resolver, records_max: usize) -> Result<Tree, TreeError> {
    let mut walk = Walk { resolver, tree: Tree::default(), waiting: VecDeque::new(), seen: HashSet::new(), lookups: 0 };
    walk.enter(link).await?;
    while let Some((label, name)) = walk.waiting.pop_front() {
        if walk.tree.records.len() >= records_max || walk.lookups >= LOOKUPS_MAX {
            walk.tree.is_cut = true;
            break;
        }
        walk.look(&label, &name).await;
    }
    Ok(walk.tree)
}

struct Walk<'r, R> {
    resolver: &'r R,
    tree: Tree,
    /// First labels of entries, and the name of the tree they belong to.
    waiting: VecDeque<(String, String)>,
    seen: HashSet<(String, String)>,
    lookups: usize,
}

impl<R: Resolver> Walk<'_, R> {
    async fn enter(&mut self, link: &Link) -> Result<(), TreeError> {
        self.lookups += 1;
        let texts = self.resolver.texts(&link.name).await?;
        let mut worst = EntryError::NotARoot;
        for text in &texts {
            match Root::verify(text, link) {
                Ok(root) => {
                    tracing::debug!(name = %link.name, sequence = root.sequence, "the root of a DNS tree is valid");
                    self.wait(root.records, &link.name);
                    self.wait(root.links, &link.name);
                    return Ok(());
                }
                // A name may have other texts; that one is no root is the least interesting thing to say.
                Err(EntryError::NotARoot) => {}
                Err(error) => worst = error,
            }
        }
        Err(TreeError::Entry { name: link.name.clone(), source: worst })
    }

    fn wait(&mut self, label: String, tree: &str) {
        let entry = (label, tree.to_owned());
        if self.seen.len() < LOOKUPS_MAX && self.seen.insert(entry.clone()) {
            self.waiting.push_back(entry);
        }
    }

    async fn look(&mut self, label: &str, tree: &str) {
        self.lookups += 1;
        let name = format!("{label}.{tree}");
        let entry = match self.resolver.texts(&name).await {
            Ok(texts) => {
                let found = texts.iter().find_map(|text| Entry::verify(text, label).ok());
                found.ok_or_else(|| "no text there is the entry it should be".to_owned())
            }
            Err(error) => Err(error.reason),
        };
        match entry {
            Ok(Entry::Branch(children)) => children.into_iter().for_each(|child| self.wait(child, tree)),
            Ok(Entry::Record(record)) => self.tree.records.push(*record),
            Ok(Entry::Link(link)) => {
                let is_new = self.seen.insert((String::new(), link.name.clone()));
                if is_new && let Err(error) = self.enter(&link).await {
                    self.bad(&link.name, &error.to_string());
                }
            }
            Err(reason) => self.bad(&name, &reason),
        }
    }

    fn bad(&mut self, name: &str, reason: &str) {
        self.tree.entries_bad += 1;
        tracing::warn!(name, reason, "an entry of a DNS tree is left out");
    }
}
