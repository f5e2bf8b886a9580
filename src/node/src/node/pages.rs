//! The archive as peers query it (13/WAKU2-STORE).

use bytes::Bytes;
use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use levada_archive::{Direction, Query, StoredMessage};
use levada_net::store::{Pages, StoreBody, StoreFailure, StorePage, StoreRow};
use levada_wire::waku::store::StoreRequest;

use crate::node::store::Store;
use crate::rest::QueryError;

/// Content topics in a query that has a cursor, as nwaku limits them; a query without one may have as many as the archive takes.
const CONTENT_TOPICS_WITH_CURSOR_MAX: usize = 10;

/// Answers peers from the node's own archive.
pub struct ArchivePages {
    store: Store,
}

impl ArchivePages {
    /// Over the archive's readers.
    pub fn new(store: Store) -> Self {
        Self { store }
    }
}

impl Pages for ArchivePages {
    fn page(&self, request: &StoreRequest<'_>) -> BoxFuture<'static, Result<StorePage, StoreFailure>> {
        let query = match query_of(request) {
            Ok(query) => query,
            Err(failure) => return ready(Err(failure)).boxed(),
        };
        let store = self.store.clone();
        async move {
            let held = store.held_query(query).await.map_err(failure_of)?;
            let rows = held.page.messages.into_iter().map(row_of).collect();
            Ok(StorePage { rows, cursor: held.page.cursor, hold: Box::new(held.share) })
        }
        .boxed()
    }
}

/// The query in the archive's words. A direction that is absent is backward: so protobuf reads an absent flag, and js-waku and go-waku
/// leave it out when they walk backward. (nwaku reads it as forward, and answers them from the wrong end.)
fn query_of(request: &StoreRequest<'_>) -> Result<Query, StoreFailure> {
    if request.cursor == Some([0; 32]) {
        return Err(StoreFailure::Invalid("all zeroes cursor hash".to_owned()));
    }
    if request.cursor.is_some() && request.content_topics.len() > CONTENT_TOPICS_WITH_CURSOR_MAX {
        return Err(StoreFailure::Invalid("too many content topics".to_owned()));
    }
    Ok(Query {
        include_data: request.include_data,
        pubsub_topic: request.pubsub_topic.map(str::to_owned),
        content_topics: request.content_topics.iter().map(|topic| (*topic).to_owned()).collect(),
        time_start: request.time_start,
        time_end: request.time_end,
        hashes: request.message_hashes.clone(),
        cursor: request.cursor,
        direction: if request.forward == Some(true) { Direction::Forward } else { Direction::Backward },
        page_size: request.limit,
    })
}

/// What went wrong inside is for the log, not for peers.
fn failure_of(error: QueryError) -> StoreFailure {
    match error {
        QueryError::Invalid(text) => StoreFailure::Driver(text),
        QueryError::Busy | QueryError::NotMounted | QueryError::NoAnswer | QueryError::TooManyRequests => {
            StoreFailure::Unavailable
        }
        // The last are what other store nodes say, and none was asked.
        QueryError::Archive(text) | QueryError::Peer(text) | QueryError::Refused { text, .. } => {
            tracing::warn!(text, "the archive failed on a peer's query");
            StoreFailure::Driver("the query failed inside the archive".to_owned())
        }
    }
}

fn row_of(message: StoredMessage) -> StoreRow {
    let body = message.body.map(|body| StoreBody {
        pubsub_topic: body.pubsub_topic,
        content_topic: body.content_topic,
        payload: Bytes::from(body.payload),
        version: body.version,
        timestamp: body.timestamp,
        meta: body.meta,
    });
    StoreRow { hash: message.hash, body }
}

#[cfg(test)]
mod tests {
    use levada_archive::{Archive, ArchiveMessage, MemoryArchive};

    use super::*;

    const TOPIC: &str = "/waku/2/rs/1/0";
    const MESSAGES: u8 = 250;

    /// Message `n` has time `n` and content topic `n mod 3`.
    fn pages() -> ArchivePages {
        let mut archive = MemoryArchive::new(64 << 20);
        let topics = ["/a/1/0/c", "/a/1/1/c", "/a/1/2/c"];
        let message = |number: u8| ArchiveMessage {
            hash: [number; 32],
            pubsub_topic: TOPIC,
            content_topic: topics[usize::from(number % 3)],
            payload: &[],
            version: 0,
            timestamp: number.into(),
            meta: &[],
        };
        archive.insert_batch(&mut (1..=MESSAGES).map(message)).expect("room for all");
        ArchivePages::new(Store::open(&archive, 150 << 10).expect("readers"))
    }

    async fn numbers(pages: &ArchivePages, request: &StoreRequest<'_>) -> Vec<u8> {
        let page = pages.page(request).await.expect("a page");
        page.rows.iter().map(|row| row.hash[0]).collect()
    }

    #[tokio::test]
    async fn pages_of_20_by_default_and_of_100_at_most_ascending_in_both_directions() {
        let pages = pages();
        for (limit, count) in [(None, 20), (Some(0), 20), (Some(1), 1), (Some(100), 100), (Some(u64::MAX), 100)] {
            let forward = StoreRequest { forward: Some(true), limit, ..StoreRequest::default() };
            assert_eq!(numbers(&pages, &forward).await, (1..=count).collect::<Vec<_>>(), "{limit:?}");
            let last = (MESSAGES - count + 1..=MESSAGES).collect::<Vec<_>>();
            for direction in [None, Some(false)] {
                let backward = StoreRequest { forward: direction, limit, ..StoreRequest::default() };
                assert_eq!(numbers(&pages, &backward).await, last, "{limit:?}, an absent direction is backward");
            }
        }
    }

    #[tokio::test]
    async fn the_cursor_is_exclusive_and_the_last_page_is_empty() {
        let pages = pages();
        let behind = |cursor: u8, forward| StoreRequest {
            cursor: Some([cursor; 32]),
            forward: Some(forward),
            limit: Some(3),
            ..StoreRequest::default()
        };
        assert_eq!(numbers(&pages, &behind(10, true)).await, [11, 12, 13]);
        assert_eq!(numbers(&pages, &behind(10, false)).await, [7, 8, 9]);
        for (newest_or_oldest, forward) in [(MESSAGES, true), (1, false)] {
            let page = pages.page(&behind(newest_or_oldest, forward)).await.expect("no error at the end");
            assert!(page.rows.is_empty() && page.cursor.is_none());
        }
        let first = pages.page(&behind(10, true)).await.expect("a page");
        assert_eq!(first.cursor, Some([13; 32]), "the last row kept, since more exist");
        let backward = pages.page(&behind(10, false)).await.expect("a page");
        assert_eq!(backward.cursor, Some([7; 32]), "the last row in the order of the walk");
    }

    #[tokio::test]
    async fn cursors_that_are_none() {
        let pages = pages();
        let zero = pages.page(&StoreRequest { cursor: Some([0; 32]), ..StoreRequest::default() }).await;
        assert!(matches!(zero, Err(StoreFailure::Invalid(text)) if text == "all zeroes cursor hash"));
        let unknown = pages.page(&StoreRequest { cursor: Some([255; 32]), ..StoreRequest::default() }).await;
        assert!(matches!(unknown, Err(StoreFailure::Driver(text)) if text.contains("cursor")));
    }

    #[tokio::test]
    async fn more_than_ten_content_topics_are_refused_with_a_cursor_only() {
        let pages = pages();
        let topics = ["/a/1/0/c", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"];
        let with = |count: usize, cursor| StoreRequest {
            content_topics: topics[..count].to_vec(),
            cursor,
            forward: Some(true),
            limit: Some(2),
            ..StoreRequest::default()
        };
        assert_eq!(numbers(&pages, &with(11, None)).await, [3, 6]);
        assert_eq!(numbers(&pages, &with(10, Some([3; 32]))).await, [6, 9]);
        let refused = pages.page(&with(11, Some([3; 32]))).await;
        assert!(matches!(refused, Err(StoreFailure::Invalid(text)) if text == "too many content topics"));
    }

    #[tokio::test]
    async fn times_are_inclusive_and_filters_are_combined() {
        let pages = pages();
        let all = StoreRequest { forward: Some(true), ..StoreRequest::default() };
        let between = StoreRequest { time_start: Some(5), time_end: Some(8), ..all.clone() };
        assert_eq!(numbers(&pages, &between).await, [5, 6, 7, 8]);
        let topic = StoreRequest { content_topics: vec!["/a/1/0/c"], ..between.clone() };
        assert_eq!(numbers(&pages, &topic).await, [6], "a content topic without its pubsub topic is accepted");
        let hashes = StoreRequest { message_hashes: vec![[6; 32], [7; 32], [200; 32]], ..topic.clone() };
        assert_eq!(numbers(&pages, &hashes).await, [6], "hashes and other filters must all hold");
        let elsewhere = StoreRequest { pubsub_topic: Some("/waku/2/rs/1/1"), ..all };
        assert!(numbers(&pages, &elsewhere).await.is_empty());
    }

    #[tokio::test]
    async fn bodies_come_when_asked_for() {
        let pages = pages();
        let request = |include_data| StoreRequest {
            include_data,
            forward: Some(true),
            limit: Some(1),
            ..StoreRequest::default()
        };
        let with = pages.page(&request(true)).await.expect("a page");
        let body = with.rows[0].body.as_ref().expect("a body");
        let said = (body.pubsub_topic.as_str(), body.content_topic.as_str(), body.timestamp);
        assert_eq!(said, (TOPIC, "/a/1/1/c", 1));
        assert!(pages.page(&request(false)).await.expect("a page").rows[0].body.is_none());
    }
}
