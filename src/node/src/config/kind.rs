//! The kinds of value a key takes: how each is read, what it expects, and how help names it.

use std::net::IpAddr;
use std::time::Duration;

use levada_archive::{DatabaseUrl, RetentionPolicy};
use levada_discovery::Record;
use levada_discovery::dns::Link;
use levada_engine::Affinity;

use levada_net::{Multiaddr, peer_address};
use levada_wire::waku::sharding::shard_of;

use super::nat::Nat;
use super::node_key::NodeKey;
use super::preset::Preset;
use super::protected::ProtectedShard;
use super::rate_limit;
use super::relay_share::Ratio;
use super::size::{format_bytes, parse_bytes};

/// Which values a key takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `true` or `false`; as a flag the value may be left out.
    Bool,
    /// A TCP or UDP port; 0 takes any free one.
    Port,
    /// A whole number between two bounds, both included.
    Number {
        /// The least allowed.
        min: u64,
        /// The greatest allowed.
        max: u64,
    },
    /// A byte size with its unit, between two bounds in bytes, both included.
    Bytes {
        /// The least allowed.
        min: u64,
        /// The greatest allowed.
        max: u64,
    },
    /// Seconds, with or without a fraction, up to a bound.
    Seconds {
        /// The greatest allowed.
        max: u32,
    },
    /// `auto`, or a whole number from 1 to a bound.
    Auto {
        /// The greatest allowed.
        max: u64,
    },
    /// Which worker runs on which core, as [`levada_engine::Affinity`] reads it.
    Affinity,
    /// An IPv4 or IPv6 address.
    Address,
    /// How the node learns its public address.
    Nat,
    /// The node's private key.
    NodeKey,
    /// The multiaddress of a peer, of a transport that the node has.
    Multiaddr,
    /// Any multiaddress.
    AnyMultiaddr,
    /// A multiaddress of a peer, a node record, or a list in the DNS.
    EntryNode,
    /// The name of a network, or nothing.
    Preset,
    /// A content topic that autosharding can read (23/WAKU2-TOPICS).
    ContentTopic,
    /// A shard, a colon, and a public key.
    ProtectedShard,
    /// A name in the DNS.
    DomainName,
    /// The URL of an archive, as [`levada_archive::DatabaseUrl`] reads it.
    DatabaseUrl,
    /// Two parts of a hundred.
    Ratio,
    /// What an archive keeps, as [`levada_archive::RetentionPolicy`] reads it.
    RetentionPolicy,
    /// `none`, or the URL of an archive.
    Archive,
    /// One of these words, in any case.
    Choice(&'static [&'static str]),
    /// The path of a file or folder.
    Path,
    /// A limit on requests, as nwaku writes it.
    RateLimit,
    /// A signed node record, as [`levada_discovery::Record`] reads it.
    NodeRecord,
    /// A list of nodes in the DNS, as [`levada_discovery::dns::Link`] reads it.
    DnsTree,
    /// Printable text.
    Text,
    /// Text that is never shown.
    Secret,
}

/// A value that its kind has read and found good.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Of [`Kind::Bool`].
    Bool(bool),
    /// Of [`Kind::Port`], [`Kind::Number`], [`Kind::Bytes`], and [`Kind::Auto`] (where `auto` is 0).
    Number(u64),
    /// Of [`Kind::Seconds`].
    Duration(Duration),
    /// Of [`Kind::Address`].
    Address(IpAddr),
    /// Of [`Kind::Nat`].
    Nat(Nat),
    /// Of [`Kind::NodeKey`].
    NodeKey(NodeKey),
    /// Of every other kind; a [`Kind::Choice`] in its canonical spelling.
    Text(String),
}

impl Kind {
    /// Reads a text of this kind; `None` when it is not one, for which [`Kind::expected`] has the sentence.
    pub fn parse(&self, text: &str) -> Option<Value> {
        let within = |number: u64, min: u64, max: u64| (min..=max).contains(&number).then_some(Value::Number(number));
        match *self {
            Self::Bool => parse_bool(text).map(Value::Bool),
            Self::Port => within(parse_whole(text)?, 0, u64::from(u16::MAX)),
            Self::Number { min, max } => within(parse_whole(text)?, min, max),
            Self::Bytes { min, max } => within(parse_bytes(text)?, min, max),
            Self::Seconds { max } => parse_seconds(text, max).map(Value::Duration),
            Self::Auto { .. } if text.eq_ignore_ascii_case("auto") => Some(Value::Number(0)),
            Self::Auto { max } => within(parse_whole(text)?, 1, max),
            Self::Affinity => (is_printable(text) && Affinity::parse(text).is_ok()).then(|| text.into()),
            Self::Address => text.parse().ok().map(Value::Address),
            Self::Nat => Nat::parse(text).map(Value::Nat),
            Self::NodeKey => NodeKey::from_hex(text).map(Value::NodeKey),
            Self::Choice(words) => {
                words.iter().find(|word| word.eq_ignore_ascii_case(text)).map(|word| Value::Text((*word).to_owned()))
            }
            Self::Multiaddr => is_peer(text).then(|| text.into()),
            Self::AnyMultiaddr => {
                (text.len() > 1 && is_printable(text) && text.parse::<Multiaddr>().is_ok()).then(|| text.into())
            }
            Self::EntryNode => {
                let is_entry = is_peer(text) || text.parse::<Record>().is_ok() || text.parse::<Link>().is_ok();
                is_entry.then(|| text.into())
            }
            Self::Preset if text.is_empty() => Some("".into()),
            Self::Preset => Preset::named(text).map(|preset| preset.name.into()),
            Self::ContentTopic => (is_printable(text) && shard_of(text, 1).is_ok()).then(|| text.into()),
            Self::ProtectedShard => ProtectedShard::parse(text).map(|_| text.into()),
            Self::DomainName => is_domain_name(text).then(|| text.into()),
            Self::DatabaseUrl => is_database_url(text).then(|| text.into()),
            Self::RetentionPolicy => {
                (is_printable(text) && text.parse::<RetentionPolicy>().is_ok()).then(|| text.into())
            }
            Self::Archive => (text == "none" || is_database_url(text)).then(|| text.into()),
            Self::Path => (!text.is_empty() && is_printable(text)).then(|| text.into()),
            Self::RateLimit => rate_limit::Entry::parse(text).map(|_| text.into()),
            Self::Ratio => Ratio::parse(text).map(|_| text.into()),
            Self::NodeRecord => text.parse::<Record>().is_ok().then(|| text.into()),
            Self::DnsTree => text.parse::<Link>().is_ok().then(|| text.into()),
            Self::Text | Self::Secret => is_printable(text).then(|| text.into()),
        }
    }

    /// What a value of this kind looks like, to follow the word "expected" in an error message.
    pub fn expected(&self) -> String {
        match *self {
            Self::Bool => "true or false".to_owned(),
            Self::Port => "a port from 0 to 65535 (0 takes any free one)".to_owned(),
            Self::Number { min, max: u64::MAX } => format!("a whole number of at least {min}"),
            Self::Number { min, max } => format!("a whole number from {min} to {max}"),
            Self::Bytes { min, max } => {
                let (min, max) = (format_bytes(min), format_bytes(max));
                format!("a size from {min} to {max}, a whole number with the unit B, KB, KiB, MB, MiB, GB or GiB")
            }
            Self::Seconds { max } => format!("a number of seconds from 0 to {max}"),
            Self::Auto { max } => format!("auto or a whole number from 1 to {max}"),
            Self::Affinity => {
                "auto, or places joined by commas: a core (0), cores (0-10, 0-10/2), floating workers (f2)".to_owned()
            }
            Self::Address => "an IPv4 or IPv6 address".to_owned(),
            Self::Nat => "any, none or extip:IP-ADDRESS".to_owned(),
            Self::NodeKey => "64 hexadecimal digits that are a secp256k1 private key".to_owned(),
            Self::Multiaddr | Self::AnyMultiaddr => {
                "a multiaddress such as /ip4/192.0.2.1/tcp/60000/p2p/PEER-ID".to_owned()
            }
            Self::EntryNode => {
                "a multiaddress such as /ip4/192.0.2.1/tcp/60000/p2p/PEER-ID, a record enr:..., or a list enrtree://KEY@NAME"
                    .to_owned()
            }
            Self::Preset => format!("one of {}", Preset::names().join(", ")),
            Self::ContentTopic => "a content topic such as /my-app/1/chat/proto".to_owned(),
            Self::ProtectedShard => {
                "SHARD:KEY, a shard from 0 to 1023 and a secp256k1 public key of 66 or 130 hexadecimal digits".to_owned()
            }
            Self::DomainName => "a domain name such as node.example.org".to_owned(),
            Self::DatabaseUrl => DATABASE_URL_EXPECTED.to_owned(),
            Self::RetentionPolicy => RETENTION_EXPECTED.to_owned(),
            Self::Archive => format!("none or {DATABASE_URL_EXPECTED}"),
            Self::Choice(words) => format!("one of {}", words.join(", ")),
            Self::Path => "a path without control characters".to_owned(),
            Self::Ratio => "two parts of a hundred, such as 60:40".to_owned(),
            Self::RateLimit => {
                "REQUESTS/PERIOD, such as 30/1m, with the unit h, m, s or ms, and before it, if it is for one service, \
                 store:, lightpush:, px: or filter:"
                    .to_owned()
            }
            Self::NodeRecord => "a signed node record, enr: and base64 for URLs".to_owned(),
            Self::DnsTree => "enrtree://KEY@NAME with a base32 secp256k1 key".to_owned(),
            Self::Text | Self::Secret => {
                format!("at most {TEXT_BYTES_MAX} bytes of text without control characters")
            }
        }
    }

    /// The placeholder in help texts.
    pub const fn placeholder(&self) -> &'static str {
        match self {
            Self::Bool => "BOOL",
            Self::Port => "PORT",
            Self::Number { .. } | Self::Auto { .. } => "N",
            Self::Bytes { .. } => "SIZE",
            Self::Seconds { .. } => "SECONDS",
            Self::Affinity => "CORES",
            Self::Address => "IP",
            Self::Nat => "METHOD",
            Self::NodeKey => "HEX",
            Self::Multiaddr | Self::AnyMultiaddr => "MULTIADDR",
            Self::EntryNode => "NODE",
            Self::Preset => "NAME",
            Self::ContentTopic => "TOPIC",
            Self::ProtectedShard => "SHARD:KEY",
            Self::DomainName => "DOMAIN",
            Self::DatabaseUrl => "URL",
            Self::RetentionPolicy => "POLICY",
            Self::Archive => "ARCHIVE",
            Self::Choice(_) => "WORD",
            Self::Path => "PATH",
            Self::RateLimit => "LIMIT",
            Self::Ratio => "RELAY:SERVICES",
            Self::NodeRecord => "ENR",
            Self::DnsTree => "URL",
            Self::Text | Self::Secret => "TEXT",
        }
    }

    /// Whether values of this kind must never be shown.
    pub const fn is_secret(&self) -> bool {
        matches!(self, Self::NodeKey | Self::Secret)
    }

    /// Whether a value of this kind is written in TOML without quotes.
    pub(crate) const fn is_bare_in_toml(&self) -> bool {
        matches!(self, Self::Bool | Self::Port | Self::Number { .. } | Self::Seconds { .. })
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// nwaku's command line reads all these words, and its users have them in their scripts.
fn parse_bool(text: &str) -> Option<bool> {
    let is_one_of = |words: &[&str]| words.iter().any(|word| word.eq_ignore_ascii_case(text));
    match () {
        () if is_one_of(&["true", "yes", "y", "on", "1"]) => Some(true),
        () if is_one_of(&["false", "no", "n", "off", "0"]) => Some(false),
        () => None,
    }
}

/// Digits only: the standard parser would also read a leading plus sign.
fn parse_whole(text: &str) -> Option<u64> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}

/// Digits and one point only: the standard parser would also read `inf`, `nan` and exponents.
fn parse_seconds(text: &str, max: u32) -> Option<Duration> {
    if !text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return None;
    }
    let seconds = text.parse::<f64>().ok().filter(|seconds| *seconds <= f64::from(max))?;
    Duration::try_from_secs_f64(seconds).ok()
}

fn is_printable(text: &str) -> bool {
    text.len() <= TEXT_BYTES_MAX && !text.chars().any(char::is_control)
}

/// The network itself says whom it can dial.
fn is_peer(text: &str) -> bool {
    is_printable(text) && peer_address(text).is_ok()
}

/// Labels of letters, digits and hyphens (RFC 1123).
fn is_domain_name(text: &str) -> bool {
    let is_label = |label: &str| {
        let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        (1..=63).contains(&label.len())
            && label.bytes().all(is_inner)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    text.len() <= 253 && text.split('.').all(is_label)
}

/// The archive itself says which URLs it can open.
fn is_database_url(text: &str) -> bool {
    is_printable(text) && text.parse::<DatabaseUrl>().is_ok()
}

const DATABASE_URL_EXPECTED: &str =
    "an archive: sqlite://PATH, sqlite://:memory:, postgres://USER:PASSWORD@HOST:PORT/DATABASE or memory";

const RETENTION_EXPECTED: &str =
    "none, time:SECONDS, capacity:MESSAGES, size:NMB or size:NGB, or several of them joined by ;";

/// Far above any real multiaddress, origin or password, and small enough to print and keep.
const TEXT_BYTES_MAX: usize = 4_096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bools_take_the_words_of_nwaku() {
        for text in ["true", "TRUE", "yes", "on", "1", "Y"] {
            assert_eq!(Kind::Bool.parse(text), Some(Value::Bool(true)), "{text}");
        }
        for text in ["false", "no", "OFF", "0", "n"] {
            assert_eq!(Kind::Bool.parse(text), Some(Value::Bool(false)), "{text}");
        }
        for text in ["", "2", "truth", " true"] {
            assert_eq!(Kind::Bool.parse(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_keep_to_their_bounds() {
        assert_eq!(Kind::Port.parse("65535"), Some(Value::Number(65_535)));
        for text in ["65536", "-1", "+1", "1.0", "", "0x10", "99999999999999999999"] {
            assert_eq!(Kind::Port.parse(text), None, "{text}");
        }
        let shard = Kind::Number { min: 0, max: 1023 };
        assert_eq!(shard.parse("1023"), Some(Value::Number(1023)));
        assert_eq!(shard.parse("1024"), None);
        let workers = Kind::Auto { max: 4 };
        assert_eq!(workers.parse("AUTO"), Some(Value::Number(0)));
        assert_eq!(workers.parse("0"), None);
        assert_eq!(workers.parse("5"), None);
    }

    #[test]
    fn seconds_may_have_a_fraction_and_nothing_else() {
        let kind = Kind::Seconds { max: 60 };
        assert_eq!(kind.parse("0.5"), Some(Value::Duration(Duration::from_millis(500))));
        assert_eq!(kind.parse("60"), Some(Value::Duration(Duration::from_secs(60))));
        for text in ["60.1", "inf", "NaN", "1e1", "-1", "", ".", "1.2.3"] {
            assert_eq!(kind.parse(text), None, "{text}");
        }
    }

    #[test]
    fn sizes_keep_to_their_bounds() {
        let kind = Kind::Bytes { min: 1024, max: 4096 };
        assert_eq!(kind.parse("4KiB"), Some(Value::Number(4096)));
        assert_eq!(kind.parse("4097"), None);
        assert_eq!(kind.parse("1KB"), None);
        assert!(kind.expected().contains("from 1KiB to 4KiB"));
    }

    #[test]
    fn texts_keep_to_their_shape() {
        assert!(Kind::DatabaseUrl.parse("sqlite://levada.sqlite3").is_some());
        assert!(Kind::DatabaseUrl.parse("memory").is_some());
        assert!(Kind::DatabaseUrl.parse("postgres://a:b@c/d").is_some());
        for text in
            ["sqlite://", "levada.sqlite3", "postgres://a:b@c:d/e", "", "none", "sqlite://a?x=1", "sqlite://a\0b"]
        {
            assert_eq!(Kind::DatabaseUrl.parse(text), None, "{text}");
        }
        assert!(Kind::RetentionPolicy.parse("time:60;size:1.5GB").is_some());
        assert_eq!(Kind::RetentionPolicy.parse("time:soon"), None);
        assert!(Kind::Archive.parse("none").is_some());
        assert!(Kind::Archive.parse("sqlite://:memory:").is_some());
        assert_eq!(Kind::Archive.parse("nothing"), None);
        assert!(Kind::Multiaddr.parse("/dns4/node.example/tcp/1").is_some());
        assert_eq!(Kind::Multiaddr.parse("127.0.0.1:60000"), None);
        assert_eq!(Kind::Multiaddr.parse("/"), None);
        assert_eq!(Kind::Multiaddr.parse("/ip4/192.0.2.1/udp/1/quic-v1"), None, "a transport the node does not have");
        assert!(Kind::AnyMultiaddr.parse("/ip4/192.0.2.1/udp/1/quic-v1").is_some());
        assert!(Kind::DomainName.parse("node-1.example.org").is_some());
        for text in ["", ".", "a..b", "-a", "a-", "a_b", "/dns4/a", "é.org", &"a".repeat(64)] {
            assert_eq!(Kind::DomainName.parse(text), None, "{text}");
        }
        assert!(Kind::ContentTopic.parse("/0/app/1/name/proto").is_some());
        for text in ["", "app", "/app/1/name", "/1/app/1/name/proto"] {
            assert_eq!(Kind::ContentTopic.parse(text), None, "{text}");
        }
        assert_eq!(Kind::Preset.parse("TWN"), Some("twn".into()));
        assert_eq!(Kind::Preset.parse("mars"), None);
        assert_eq!(Kind::Text.parse("a\nb"), None);
        assert_eq!(Kind::Text.parse(&"a".repeat(TEXT_BYTES_MAX + 1)), None);
        assert_eq!(Kind::Choice(&["TEXT", "JSON"]).parse("json"), Some("JSON".into()));
        assert_eq!(Kind::Choice(&["TEXT", "JSON"]).parse("xml"), None);
        assert_eq!(Kind::Path.parse(""), None);
    }
}
