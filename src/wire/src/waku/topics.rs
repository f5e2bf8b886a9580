//! Topic names: sharded pubsub topics (51/WAKU2-RELAY-SHARDING) and content topics (23/WAKU2-TOPICS).

use std::fmt;
use std::str::FromStr;

use crate::error::TopicError;

const PUBSUB_PREFIX: &str = "/waku/2/rs/";

/// A sharded pubsub topic, `/waku/2/rs/{cluster}/{shard}`.
///
/// Only the canonical spelling parses, so that a topic and its parsed form are interchangeable: peers compare topic names
/// byte by byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PubsubTopic {
    /// The cluster, the network of nodes that share a configuration.
    pub cluster: u16,
    /// The shard within the cluster.
    pub shard: u16,
}

impl PubsubTopic {
    /// Parses a topic name.
    ///
    /// # Errors
    /// [`TopicError::NotSharded`] for anything but the prefix and two decimal numbers from 0 to 65535 without sign or
    /// leading zeros; also for the deprecated named topics.
    pub fn parse(name: &str) -> Result<Self, TopicError> {
        let numbers = name.strip_prefix(PUBSUB_PREFIX).and_then(|rest| rest.split_once('/'));
        let (cluster, shard) = numbers.ok_or(TopicError::NotSharded)?;
        Ok(Self { cluster: decimal_u16(cluster)?, shard: decimal_u16(shard)? })
    }
}

fn decimal_u16(text: &str) -> Result<u16, TopicError> {
    let canonical = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    if !canonical {
        return Err(TopicError::NotSharded);
    }
    text.parse().map_err(|_| TopicError::NotSharded)
}

impl FromStr for PubsubTopic {
    type Err = TopicError;

    fn from_str(name: &str) -> Result<Self, TopicError> {
        Self::parse(name)
    }
}

impl fmt::Display for PubsubTopic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{PUBSUB_PREFIX}{}/{}", self.cluster, self.shard)
    }
}

/// A content topic of the recommended format, by its parts; generation 0 is the only one there is.
///
/// Relay and archive compare content topics as bytes and accept any; only autosharding needs the parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ContentTopic<'a> {
    /// The application's name.
    pub application: &'a str,
    /// The application's version.
    pub version: &'a str,
    /// The topic within the application.
    pub name: &'a str,
    /// How payloads are encoded.
    pub encoding: &'a str,
}

impl<'a> ContentTopic<'a> {
    /// Parses `/{application}/{version}/{name}/{encoding}`, or the full form with `/{generation}` in front.
    ///
    /// # Errors
    /// [`TopicError::NotContentTopic`] if there are not four or five parts or one is empty, [`TopicError::Generation`] if
    /// the first of five is no number, [`TopicError::GenerationUnsupported`] if it is not 0.
    pub fn parse(topic: &'a str) -> Result<Self, TopicError> {
        let mut parts = topic.strip_prefix('/').ok_or(TopicError::NotContentTopic)?.split('/');
        let mut part = || parts.next().filter(|part| !part.is_empty());
        let (Some(a), Some(b), Some(c), Some(d)) = (part(), part(), part(), part()) else {
            return Err(TopicError::NotContentTopic);
        };
        match (parts.next(), parts.next()) {
            (None, _) => Ok(Self { application: a, version: b, name: c, encoding: d }),
            (Some(e), None) if !e.is_empty() => {
                check_generation(a)?;
                Ok(Self { application: b, version: c, name: d, encoding: e })
            }
            _ => Err(TopicError::NotContentTopic),
        }
    }
}

fn check_generation(text: &str) -> Result<(), TopicError> {
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(TopicError::Generation);
    }
    // Zeros alone are generation 0; any other digits, however many, are a generation that does not exist.
    if text.bytes().all(|byte| byte == b'0') { Ok(()) } else { Err(TopicError::GenerationUnsupported) }
}

/// Shows the short form.
impl fmt::Display for ContentTopic<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "/{}/{}/{}/{}", self.application, self.version, self.name, self.encoding)
    }
}

#[cfg(test)]
mod tests {
    use super::{ContentTopic, PubsubTopic};
    use crate::error::TopicError;

    #[test]
    fn pubsub_topics_round_trip() {
        for name in ["/waku/2/rs/0/0", "/waku/2/rs/1/7", "/waku/2/rs/65535/65535", "/waku/2/rs/16/1023"] {
            assert_eq!(name.parse::<PubsubTopic>().map(|topic| topic.to_string()).as_deref(), Ok(name));
        }
        assert_eq!(PubsubTopic::parse("/waku/2/rs/16/32"), Ok(PubsubTopic { cluster: 16, shard: 32 }));
    }

    #[test]
    fn other_pubsub_topics_are_refused() {
        let names = [
            "",
            "/",
            "/waku/2/rs/",
            "/waku/2/rs/1",
            "/waku/2/rs/1/",
            "/waku/2/rs//1",
            "/waku/2/rs/1/2/3",
            "/waku/2/rs/1/2/",
            "/waku/2/rs/+1/2",
            "/waku/2/rs/1/-2",
            "/waku/2/rs/1/65536",
            "/waku/2/rs/1/99999999999999999999",
            "/waku/2/rs/01/2",
            "/waku/2/rs/1/00",
            "/waku/2/rs/ 1/2",
            "/waku/2/rs/1/٣",
            "waku/2/rs/1/2",
            "/waku/2/default-waku/proto",
            "/waku/2/rs/a/b",
            "/waku/2/rs/1/2 ",
        ];
        for name in names {
            assert_eq!(PubsubTopic::parse(name), Err(TopicError::NotSharded), "{name}");
        }
    }

    #[test]
    fn content_topics_in_both_forms() {
        let topic = ContentTopic { application: "toychat", version: "2", name: "huilong", encoding: "proto" };
        assert_eq!(ContentTopic::parse("/toychat/2/huilong/proto"), Ok(topic));
        assert_eq!(ContentTopic::parse("/0/toychat/2/huilong/proto"), Ok(topic));
        assert_eq!(topic.to_string(), "/toychat/2/huilong/proto");
    }

    #[test]
    fn other_content_topics_are_refused() {
        for topic in [
            "",
            "/",
            "a/1/b/c",
            "/a/1/b",
            "/a/1/b/",
            "//1/b/c",
            "/a//b/c",
            "/a/1//c",
            "/0/a/1/b/",
            "/0/a/1/b/c/d",
            "/a/1/b/c/",
        ] {
            assert_eq!(ContentTopic::parse(topic), Err(TopicError::NotContentTopic), "{topic}");
        }
        assert_eq!(ContentTopic::parse("/x/a/1/b/c"), Err(TopicError::Generation));
        assert_eq!(ContentTopic::parse("/-1/a/1/b/c"), Err(TopicError::Generation));
        assert_eq!(ContentTopic::parse("/1/a/1/b/c"), Err(TopicError::GenerationUnsupported));
        assert_eq!(ContentTopic::parse("/99999999999999999999999/a/1/b/c"), Err(TopicError::GenerationUnsupported));
    }
}
