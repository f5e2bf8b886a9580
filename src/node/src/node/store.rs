//! Queries to the node's own archive: a few readers, each on a blocking thread while it works.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use levada_archive::{Archive, ArchiveError, ArchiveReader, PAGE_SIZE_MAX, Page, Query, StoredMessage};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::rest::QueryError;

/// Queries answered at once; more wait.
const READERS: usize = 4;
/// Bytes of pages that peers may hold together, from the reading until the last byte is sent.
const HELD_BYTES_MAX: usize = 96 << 20;
/// The budget is counted in pieces of this many bytes.
const HELD_UNIT_BYTES: usize = 1 << 10;
/// What a row may have beside its message: pubsub topic, hash, and the structures around them.
const ROW_OVERHEAD_BYTES: usize = 2 << 10;
/// How long a query waits for others' pages to leave.
const ROOM_TIME_MAX: Duration = Duration::from_secs(10);

/// The archive's readers.
#[derive(Clone)]
pub struct Store {
    readers: Arc<Mutex<Vec<Box<dyn ArchiveReader>>>>,
    permits: Arc<Semaphore>,
    /// Room for pages on their way to peers.
    room: Arc<Semaphore>,
    room_time_max: Duration,
    row_bytes_max: usize,
}

/// A page, and its share of the room for pages.
pub struct HeldPage {
    /// The page.
    pub page: Page,
    /// Given back when dropped.
    pub share: OwnedSemaphorePermit,
}

impl Store {
    /// Opens the readers of `archive`, which holds messages of at most `message_bytes_max` bytes.
    ///
    /// # Errors
    /// What the archive says when a reader cannot be opened.
    pub fn open(archive: &dyn Archive, message_bytes_max: usize) -> Result<Self, ArchiveError> {
        let readers = (0..READERS).map(|_| archive.reader()).collect::<Result<_, _>>()?;
        let row_bytes_max = message_bytes_max + ROW_OVERHEAD_BYTES;
        let room = HELD_BYTES_MAX.max(PAGE_SIZE_MAX as usize * row_bytes_max);
        Ok(Self {
            readers: Arc::new(Mutex::new(readers)),
            permits: Arc::new(Semaphore::new(READERS)),
            room: Arc::new(Semaphore::new(room.div_ceil(HELD_UNIT_BYTES))),
            room_time_max: ROOM_TIME_MAX,
            row_bytes_max,
        })
    }

    /// Answers one query.
    pub async fn query(&self, query: Query) -> Result<Page, QueryError> {
        let permit = self.permits.clone().acquire_owned().await.map_err(|_| QueryError::Busy)?;
        let readers = self.readers.clone();
        let work = move || {
            let _permit = permit;
            let lock = || readers.lock().unwrap_or_else(PoisonError::into_inner);
            let mut reader = lock().pop().ok_or(QueryError::Busy)?;
            // The reader goes back whatever happens, or a few panics would leave the node without any.
            let page = catch_unwind(AssertUnwindSafe(|| reader.query(&query)));
            lock().push(reader);
            page.map_err(|_| QueryError::Archive("the query failed inside the archive".to_owned()))?
                .map_err(QueryError::from)
        };
        tokio::task::spawn_blocking(work).await.map_err(|_| QueryError::Busy)?
    }

    /// Answers one query of a peer, whose page may stay in memory for as long as the peer takes to read it. All such pages together are
    /// bounded: while it is read a page counts as if every row were the longest, and then for what it is.
    pub async fn held_query(&self, query: Query) -> Result<HeldPage, QueryError> {
        // Hashes alone are few bytes: nobody waits for them behind pages that are not read.
        let reserved = if query.include_data { units(query.page_limit() * self.row_bytes_max) } else { 0 };
        let room = timeout(self.room_time_max, self.room.clone().acquire_many_owned(reserved));
        let mut share = room.await.map_err(|_| QueryError::Busy)?.map_err(|_| QueryError::Busy)?;
        let page = self.query(query).await?;
        let needed = units(page.messages.iter().map(row_bytes_of).sum());
        drop(share.split(share.num_permits().saturating_sub(needed as usize)));
        Ok(HeldPage { page, share })
    }
}

fn units(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(HELD_UNIT_BYTES)).unwrap_or(u32::MAX)
}

fn row_bytes_of(message: &StoredMessage) -> usize {
    let body = message.body.as_ref();
    let parts = |body: &levada_archive::StoredBody| {
        body.payload.capacity() + body.pubsub_topic.capacity() + body.content_topic.capacity() + body.meta.capacity()
    };
    size_of::<StoredMessage>() + body.map_or(0, parts)
}

#[cfg(test)]
mod tests {
    use levada_archive::{ArchiveMessage, MemoryArchive};

    use super::*;

    const MESSAGE_BYTES_MAX: usize = 150 << 10;

    fn store(messages: u8) -> Store {
        let mut archive = MemoryArchive::new(64 << 20);
        let payload = vec![7; 1_000];
        let message = |number: u8| ArchiveMessage {
            hash: [number; 32],
            pubsub_topic: "/waku/2/rs/0/0",
            content_topic: "/a/1/b/c",
            payload: &payload,
            version: 0,
            timestamp: number.into(),
            meta: &[],
        };
        archive.insert_batch(&mut (0..messages).map(message)).expect("room for all");
        Store::open(&archive, MESSAGE_BYTES_MAX).expect("readers")
    }

    fn hundred() -> Query {
        Query { include_data: true, page_size: Some(100), ..Query::default() }
    }

    #[tokio::test]
    async fn a_page_counts_for_what_it_is_once_it_is_read() {
        let store = store(100);
        let all = store.room.available_permits();
        let held = store.held_query(hundred()).await.expect("a page");
        assert_eq!(held.page.messages.len(), 100);
        let kept = (all - store.room.available_permits()) * HELD_UNIT_BYTES;
        assert!((100_000..150_000).contains(&kept), "{kept} bytes for 100 rows of 1 kB");
        drop(held);
        assert_eq!(store.room.available_permits(), all);
    }

    #[tokio::test]
    async fn without_room_a_query_is_refused_and_later_ones_are_served() {
        let store = Store { room_time_max: Duration::from_millis(1), ..store(1) };
        let all = store.room.available_permits();
        let taken = store.room.clone().acquire_many_owned(units(HELD_BYTES_MAX) - 1).await.expect("open");
        assert!(matches!(store.held_query(hundred()).await, Err(QueryError::Busy)));
        drop(taken);
        assert!(store.held_query(hundred()).await.is_ok());
        assert_eq!(store.room.available_permits(), all);
    }

    #[tokio::test]
    async fn a_hundred_queries_at_once_are_all_served_within_the_room() {
        let store = store(100);
        let queries = (0..100).map(|_| store.held_query(hundred()));
        let held = futures::future::join_all(queries).await;
        assert!(held.iter().all(Result::is_ok), "100 pages of 100 kB fit");
    }
}
