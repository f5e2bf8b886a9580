//! What a store query may ask and what it gets (13/WAKU2-STORE, StoreQueryRequest and StoreQueryResponse).

use crate::{ArchiveError, Hash, StoredMessage};

/// Messages on a page when the query names no number, or 0.
pub const PAGE_SIZE_DEFAULT: u64 = 20;
/// Most messages on a page; a query that asks for more gets this many. At 150 kB each, a page is 15 MB.
pub const PAGE_SIZE_MAX: u64 = 100;
/// Most message hashes in a query: as many as a page can answer.
pub const QUERY_HASHES_MAX: usize = 100;
/// Most content topics in a query. Each costs one index range, so this bounds the work of a query.
pub const QUERY_CONTENT_TOPICS_MAX: usize = 100;
/// Longest topic in a query, in bytes; real ones have fewer than 200.
pub const QUERY_TOPIC_BYTES_MAX: usize = 4_096;

/// The way a query walks through time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// From the oldest message to the newest.
    Forward,
    /// From the newest message to the oldest; the default of the protocol, where the flag is a false by absence.
    #[default]
    Backward,
}

/// A query. Every filter that is set must hold: hashes and other filters are combined, as the network's nodes do, although the
/// specification would rather see them apart; and a pubsub topic without content topics, or the reverse, is accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// Whether the page carries the messages or their hashes only, which costs no read of any payload.
    pub include_data: bool,
    /// Only messages that came by this pubsub topic.
    pub pubsub_topic: Option<String>,
    /// Only messages with one of these content topics, unless empty. At most [`QUERY_CONTENT_TOPICS_MAX`].
    pub content_topics: Vec<String>,
    /// Only messages at or after this time, nanoseconds since the Unix epoch.
    pub time_start: Option<i64>,
    /// Only messages at or before this time, nanoseconds since the Unix epoch.
    pub time_end: Option<i64>,
    /// Only messages with one of these hashes, unless empty. At most [`QUERY_HASHES_MAX`].
    pub hashes: Vec<Hash>,
    /// Continue behind this message, in the direction of the query. Any stored message will do, whether it matches or not.
    pub cursor: Option<Hash>,
    /// The way to walk.
    pub direction: Direction,
    /// Most messages wanted; absent or 0 means [`PAGE_SIZE_DEFAULT`], and more than [`PAGE_SIZE_MAX`] means that.
    pub page_size: Option<u64>,
}

/// The answer to a query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// The messages, ascending by (timestamp, hash) whatever the direction of the query.
    pub messages: Vec<StoredMessage>,
    /// The cursor of the next page, if there is one: the hash of the last message of this page in the direction of the walk.
    pub cursor: Option<Hash>,
}

impl Query {
    /// The number of messages that a page of this query holds at most.
    pub fn page_limit(&self) -> usize {
        match self.page_size {
            None | Some(0) => PAGE_SIZE_DEFAULT as usize,
            Some(size) => size.min(PAGE_SIZE_MAX) as usize,
        }
    }

    /// Checks the limits that need no look at the archive.
    pub(crate) fn check(&self) -> Result<(), ArchiveError> {
        if self.hashes.len() > QUERY_HASHES_MAX {
            return Err(ArchiveError::TooManyHashes { count: self.hashes.len() });
        }
        if self.content_topics.len() > QUERY_CONTENT_TOPICS_MAX {
            return Err(ArchiveError::TooManyContentTopics { count: self.content_topics.len() });
        }
        let longest = self.content_topics.iter().chain(&self.pubsub_topic).map(String::len).max().unwrap_or(0);
        if longest > QUERY_TOPIC_BYTES_MAX {
            return Err(ArchiveError::TopicTooLong { bytes: longest });
        }
        if self.cursor == Some([0; 32]) {
            return Err(ArchiveError::CursorNotFound);
        }
        Ok(())
    }

    /// Whether both topic filters let a message with these topics pass.
    pub(crate) fn topics_match(&self, pubsub_topic: &str, content_topic: &str) -> bool {
        self.pubsub_topic.as_deref().is_none_or(|wanted| wanted == pubsub_topic)
            && (self.content_topics.is_empty() || self.content_topics.iter().any(|wanted| wanted == content_topic))
    }

    /// The hashes of the filter, each once.
    pub(crate) fn unique_hashes(&self) -> Vec<Hash> {
        let mut hashes = self.hashes.clone();
        hashes.sort_unstable();
        hashes.dedup();
        hashes
    }

    /// The content topics of the filter, each once.
    pub(crate) fn unique_content_topics(&self) -> Vec<&str> {
        let mut topics: Vec<&str> = self.content_topics.iter().map(String::as_str).collect();
        topics.sort_unstable();
        topics.dedup();
        topics
    }

    /// Cuts what a scan found to a page. `found` is in the direction of the walk and holds one more than the page if there is
    /// more; what is returned is ascending, with the cursor of the next page.
    pub(crate) fn cut<T>(&self, mut found: Vec<T>, hash_of: impl Fn(&T) -> Hash) -> (Vec<T>, Option<Hash>) {
        let more = found.len() > self.page_limit();
        found.truncate(self.page_limit());
        let cursor = if more { found.last().map(hash_of) } else { None };
        if self.direction == Direction::Backward {
            found.reverse();
        }
        (found, cursor)
    }
}
