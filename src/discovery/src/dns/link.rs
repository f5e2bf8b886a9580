//! `enrtree://KEY@NAME`: where a tree is, and who must have signed it.

use std::fmt;
use std::str::FromStr;

use data_encoding::BASE32_NOPAD;
use k256::ecdsa::VerifyingKey;

/// A link to a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Signs the root.
    pub(super) key: VerifyingKey,
    /// The root's name.
    pub(super) name: String,
}

/// Not a link.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{0}` is no link to a DNS tree, which reads enrtree://KEY@NAME with a base32 secp256k1 key")]
pub struct LinkError(pub String);

pub(super) const SCHEME: &str = "enrtree://";

impl FromStr for Link {
    type Err = LinkError;

    fn from_str(text: &str) -> Result<Self, LinkError> {
        let parse = || {
            let (key, name) = text.strip_prefix(SCHEME)?.split_once('@')?;
            let key = BASE32_NOPAD.decode(key.trim_end_matches('=').as_bytes()).ok()?;
            let key = VerifyingKey::from_sec1_bytes(&key).ok()?;
            let is_name = !name.is_empty() && name.len() <= 200 && name.bytes().all(|byte| byte.is_ascii_graphic());
            is_name.then(|| Self { key, name: name.trim_end_matches('.').to_owned() })
        };
        parse().ok_or_else(|| LinkError(text.to_owned()))
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = BASE32_NOPAD.encode(self.key.to_sec1_point(true).as_bytes());
        write!(f, "{SCHEME}{key}@{}", self.name)
    }
}
