//! What the names of a tree say: a root, and below it branches, records and links to other trees.

use data_encoding::{BASE32_NOPAD, BASE64URL_NOPAD};
use k256::ecdsa::Signature;
use k256::ecdsa::signature::hazmat::PrehashVerifier;
use sha3::{Digest, Keccak256};

use crate::dns::link::{Link, SCHEME};
use crate::record::Record;

const ROOT: &str = "enrtree-root:v1";
const BRANCH: &str = "enrtree-branch:";

/// Bytes of a hash in a name; shorter ones are allowed down to the second figure.
const HASH_BYTES: usize = 16;
const HASH_BYTES_MIN: usize = 12;

/// Most children of a branch: more do not fit an answer of the DNS.
const CHILDREN_MAX: usize = 512;

/// What is wrong with an entry.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum EntryError {
    /// No root stands where one should, or one of another version.
    #[error("there is no {ROOT} at the root")]
    NotARoot,
    /// Signed by somebody else, or tampered with.
    #[error("the root's signature does not fit the key of the link")]
    Signature,
    /// It is not what its name promises.
    #[error("the entry is not the one that the entry above it names")]
    Hash,
    /// Nothing that is known here.
    #[error("the entry is no branch, record or link")]
    Unknown,
}

/// The root: where the branches begin.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Root {
    /// The first name below which records lie.
    pub records: String,
    /// The first name below which links lie.
    pub links: String,
    /// Its version.
    pub sequence: u64,
}

impl Root {
    pub fn verify(text: &str, link: &Link) -> Result<Self, EntryError> {
        let (signed, signature) = text.split_once(" sig=").ok_or(EntryError::NotARoot)?;
        let mut words = signed.split(' ');
        if words.next() != Some(ROOT) {
            return Err(EntryError::NotARoot);
        }
        let mut value = |key| words.next().and_then(|word| word.strip_prefix(key)).ok_or(EntryError::NotARoot);
        let (records, links) = (value("e=")?.to_owned(), value("l=")?.to_owned());
        let sequence = value("seq=")?.parse().map_err(|_| EntryError::NotARoot)?;
        let bytes = BASE64URL_NOPAD.decode(signature.trim_end_matches('=').as_bytes()).unwrap_or_default();
        // The 65th byte helps to find the key, which is known here.
        let signature = bytes.get(..64).and_then(|bytes| Signature::from_slice(bytes).ok());
        let signature = signature.filter(|_| bytes.len() == 65).ok_or(EntryError::Signature)?;
        link.key.verify_prehash(&keccak(signed), &signature).map_err(|_| EntryError::Signature)?;
        Ok(Self { records, links, sequence })
    }
}

/// An entry below the root.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// Names of entries below it.
    Branch(Vec<String>),
    /// A node.
    Record(Box<Record>),
    /// Another tree.
    Link(Box<Link>),
}

impl Entry {
    /// `name` is the first label of the name the text was found at.
    pub fn verify(text: &str, name: &str) -> Result<Self, EntryError> {
        let promised = BASE32_NOPAD.decode(name.to_ascii_uppercase().as_bytes()).map_err(|_| EntryError::Hash)?;
        let hash = keccak(text);
        let is_long_enough = (HASH_BYTES_MIN..=HASH_BYTES).contains(&promised.len());
        if !is_long_enough || !hash.starts_with(&promised) {
            return Err(EntryError::Hash);
        }
        if let Some(children) = text.strip_prefix(BRANCH) {
            let children = children.split(',').filter(|child| !child.is_empty()).take(CHILDREN_MAX);
            return Ok(Self::Branch(children.map(str::to_owned).collect()));
        }
        if text.starts_with(SCHEME) {
            return text.parse().map(|link| Self::Link(Box::new(link))).map_err(|_| EntryError::Unknown);
        }
        text.parse().map(|record| Self::Record(Box::new(record))).map_err(|_| EntryError::Unknown)
    }
}

/// What the specification hashes with.
#[expect(clippy::disallowed_methods, reason = "no SHA-256, and of no message")]
pub(super) fn keccak(text: &str) -> [u8; 32] {
    Keccak256::digest(text).into()
}
