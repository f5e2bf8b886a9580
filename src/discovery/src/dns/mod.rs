//! Trees of node records in the DNS (EIP-1459): whoever owns a name publishes a signed root there, from which branches lead
//! to records. Every entry is bound to the root by the hash in its name.

mod entry;
mod link;
mod resolver;
#[cfg(test)]
mod tests;
mod tree;

pub use entry::EntryError;
pub use link::{Link, LinkError};
pub use resolver::{LookupError, Resolver, SystemResolver};
pub use tree::{Tree, TreeError, walk};
