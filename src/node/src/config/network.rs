//! The keys of named networks, content topics and protected shards, and of where the node enters a network and how it is announced.

use super::key::{Group, Key};
use super::kind::Kind;
use super::settings::Settings;

/// A part of the table of keys.
pub(super) const NETWORK: &[Key] = &[
    Key::optional(
        "preset",
        Kind::Preset,
        Group::Network,
        "A named network, which decides cluster-id, num-shards-in-network and max-msg-size, and where the node enters it: twn, logos.dev, \
         logos.test or status.prod.",
    ),
    Key::optional(
        "content-topic",
        Kind::ContentTopic,
        Group::Network,
        "A content topic whose shard is subscribed to besides those of shard; may be repeated. Only with autosharding.",
    )
    .repeatable(),
    Key::optional(
        "protected-shard",
        Kind::ProtectedShard,
        Group::Network,
        "A shard and the secp256k1 public key (33 or 65 bytes in hexadecimal digits) that signs its messages, as SHARD:KEY; may be \
         repeated. Messages there without a good signature are rejected.",
    )
    .repeatable(),
    Key::optional(
        "ext-multiaddr",
        Kind::AnyMultiaddr,
        Group::Endpoints,
        "A multiaddress to announce besides those listened on; may be repeated.",
    )
    .repeatable(),
    Key::new(
        "ext-multiaddr-only",
        Kind::Bool,
        "false",
        Group::Endpoints,
        "Whether only the addresses of ext-multiaddr are announced.",
    ),
    Key::optional(
        "dns4-domain-name",
        Kind::DomainName,
        Group::Endpoints,
        "The domain name under which the node is reached, announced with its TCP and WebSocket ports.",
    ),
    Key::optional(
        "entry-node",
        Kind::EntryNode,
        Group::Peers,
        "Where to enter the network; may be repeated: the multiaddress of a node, which is connected to as a staticnode; a node's record \
         (enr:...), which Discovery v5 asks first; or a list in the DNS (enrtree://...).",
    )
    .repeatable(),
];

/// The entry nodes, by how they are used.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct EntryNodes {
    /// Multiaddresses to connect to.
    pub multiaddrs: Vec<String>,
    /// Records for Discovery v5.
    pub records: Vec<String>,
    /// Lists in the DNS.
    pub lists: Vec<String>,
}

impl EntryNodes {
    /// Sorts what is configured.
    pub(crate) fn of(settings: &Settings) -> Self {
        let mut nodes = Self::default();
        for text in settings.texts("entry-node") {
            let list = match &text {
                text if text.starts_with("enrtree:") => &mut nodes.lists,
                text if text.starts_with("enr:") => &mut nodes.records,
                _ => &mut nodes.multiaddrs,
            };
            list.push(text);
        }
        nodes
    }
}
