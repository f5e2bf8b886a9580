//! Fills the index of store-sync from the archive, so that a node that was restarted knows what it has: the topics that it
//! takes part in from the start, and those it joins later.
//!
//! It runs beside the path, on a thread that may block: what arrives meanwhile is entered by the `sync` stage, and in which order
//! keys come makes no difference.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use levada_archive::{ArchiveError, ArchiveReader, Key, SyncIndex};
use levada_engine::Counter;
use levada_stages::sync::{WINDOW, window_start};
use levada_wire::waku::TopicTable;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

/// Keys read at once. An archive in memory stands still while they are read, some ten milliseconds.
const KEYS_AT_ONCE: usize = 8_192;

/// Time between two log lines about a large archive.
const LOG_INTERVAL: Duration = Duration::from_secs(5);

/// Time until another program may have let go of the archive.
const BUSY_PAUSE: Duration = Duration::from_millis(200);

/// Times that the index could not be filled.
pub static FILL_FAILURES: Counter = Counter::new();

/// What fills the index, a topic at a time.
pub struct SyncFill {
    stop: Arc<AtomicBool>,
    wanted: Wanted,
    task: JoinHandle<()>,
}

/// The names so far, and the way to the task, until that is to end.
type Names = (HashSet<String>, Option<UnboundedSender<String>>);

/// Where topics are named that the node takes part in. Each is filled once, however often it is joined again: what is stored
/// later is entered as it is stored.
#[derive(Clone)]
pub struct Wanted {
    names: Arc<Mutex<Names>>,
}

impl Wanted {
    /// Fills in the newest messages of `name`, which has a number in the table of topics: that bounds how many names come.
    pub fn fill(&self, name: &str) {
        let (names, next) = &mut *self.lock();
        if let Some(next) = next
            && names.insert(name.to_owned())
        {
            // The task ends before this does only if it panicked, which was reported.
            let _ = next.send(name.to_owned());
        }
    }

    fn close(&self) {
        self.lock().1 = None;
    }

    fn lock(&self) -> MutexGuard<'_, Names> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SyncFill {
    /// Waits for topics.
    pub fn start(reader: Box<dyn ArchiveReader>, topics: Arc<TopicTable>, index: Arc<SyncIndex>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (next, names) = unbounded_channel();
        let work = Work { reader, topics, index, stop: stop.clone(), entered: 0, logged: Instant::now() };
        let wanted = Wanted { names: Arc::new(Mutex::new((HashSet::new(), Some(next)))) };
        Self { stop, wanted, task: tokio::spawn(run(work, names)) }
    }

    /// Where topics are named.
    pub fn wanted(&self) -> &Wanted {
        &self.wanted
    }

    /// Ends it, and with it its hold on the archive.
    pub async fn stop(self) {
        self.stop.store(true, Relaxed);
        self.finish().await;
    }

    /// Ends when all topics named so far are filled.
    async fn finish(self) {
        self.wanted.close();
        // A panic inside has been reported, and nothing is left of it.
        let _ = self.task.await;
    }
}

/// Fills one topic after another, on a thread that may block.
async fn run(mut work: Work, mut names: UnboundedReceiver<String>) {
    while let Some(name) = names.recv().await {
        let fill = tokio::task::spawn_blocking(move || {
            work.fill_topic(&name);
            work
        });
        let Ok(filled) = fill.await else { return };
        work = filled;
    }
}

struct Work {
    reader: Box<dyn ArchiveReader>,
    topics: Arc<TopicTable>,
    index: Arc<SyncIndex>,
    stop: Arc<AtomicBool>,
    /// Messages of the present topic.
    entered: u64,
    logged: Instant,
}

impl Work {
    fn fill_topic(&mut self, name: &str) {
        // Without a number the node cannot take part in the topic, and says so elsewhere.
        let Ok(shard) = self.topics.intern(name) else { return };
        let started = Instant::now();
        self.entered = 0;
        match self.fill(name, shard, (window_start(WINDOW), [0; 32])) {
            Ok(()) if self.entered > 0 => {
                let (messages, seconds) = (self.entered, started.elapsed().as_secs_f64());
                tracing::info!(topic = name, messages, seconds, "filled the sync index from the archive");
            }
            Ok(()) => {}
            Err(error) => {
                FILL_FAILURES.add(1);
                let messages = self.entered;
                tracing::warn!(
                    %error, topic = name, messages, "older messages are missing from the sync index; restart to fill it"
                );
            }
        }
    }

    fn fill(&mut self, name: &str, shard: u32, mut after: Key) -> Result<(), ArchiveError> {
        while !self.stop.load(Relaxed) {
            let keys = match self.reader.keys_after(name, after, KEYS_AT_ONCE) {
                Ok(keys) => keys,
                Err(error @ ArchiveError::Busy { .. }) => {
                    tracing::warn!(%error, "the sync index waits for the archive");
                    std::thread::sleep(BUSY_PAUSE);
                    continue;
                }
                Err(error) => return Err(error),
            };
            self.entered += self.index.insert_batch(keys.iter().map(|key| (shard, *key))).added;
            match keys.last() {
                Some(last) if keys.len() == KEYS_AT_ONCE => after = *last,
                _ => break,
            }
            if self.logged.elapsed() >= LOG_INTERVAL {
                self.logged = Instant::now();
                tracing::info!(messages = self.entered, topic = name, "filling the sync index from the archive");
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use levada_archive::{Archive, ArchiveMessage, MemoryArchive, Page, Query};
    use levada_stages::unix_ns;

    use super::*;

    /// A reader of an archive that another program holds for a while.
    struct BusyReader {
        reader: Box<dyn ArchiveReader>,
        refusals: Arc<AtomicUsize>,
    }

    impl ArchiveReader for BusyReader {
        fn query(&mut self, query: &Query) -> Result<Page, ArchiveError> {
            self.reader.query(query)
        }

        fn keys_after(&mut self, topic: &str, after: Key, keys_max: usize) -> Result<Vec<Key>, ArchiveError> {
            if self.refusals.load(Relaxed) > 0 {
                self.refusals.fetch_sub(1, Relaxed);
                return Err(ArchiveError::Busy { path: "a.sqlite3".to_owned(), seconds: 0 });
            }
            self.reader.keys_after(topic, after, keys_max)
        }
    }

    /// A fill from an archive of one message that is busy so many times, and the times that are left.
    fn fill_from_busy(refusals: usize) -> (SyncFill, Arc<SyncIndex>, Arc<AtomicUsize>) {
        let mut archive = MemoryArchive::new(1 << 20);
        archive.insert_batch(&mut std::iter::once(message(1, unix_ns(), TOPIC))).expect("an archive in memory stores");
        let refusals = Arc::new(AtomicUsize::new(refusals));
        let reader = Box::new(BusyReader { reader: archive.reader().expect("a reader"), refusals: refusals.clone() });
        let (topics, index) = (Arc::new(TopicTable::new(2)), Arc::new(SyncIndex::new(2, 1 << 20)));
        let fill = SyncFill::start(reader, topics, index.clone());
        fill.wanted().fill(TOPIC);
        (fill, index, refusals)
    }

    #[tokio::test]
    async fn a_busy_archive_is_waited_for() {
        let (fill, index, refusals) = fill_from_busy(2);
        fill.finish().await;
        assert_eq!(refusals.load(Relaxed), 0);
        assert_eq!(index.counts().iter().map(|(_, count)| *count).collect::<Vec<_>>(), [1]);
    }

    #[tokio::test]
    async fn a_busy_archive_keeps_no_node_from_stopping() {
        let (fill, index, refusals) = fill_from_busy(usize::MAX);
        // It has begun, so that there is something to stop.
        while refusals.load(Relaxed) == usize::MAX {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        fill.stop().await;
        assert!(refusals.load(Relaxed) > 0 && index.counts().is_empty());
    }

    const TOPIC: &str = "/waku/2/rs/0/0";

    fn message(number: usize, timestamp: i64, pubsub_topic: &'static str) -> ArchiveMessage<'static> {
        let mut hash = [0; 32];
        hash[..8].copy_from_slice(&number.to_be_bytes());
        ArchiveMessage {
            hash,
            pubsub_topic,
            content_topic: "/t/1/a/proto",
            payload: b"",
            version: 0,
            timestamp,
            meta: b"",
        }
    }

    #[tokio::test]
    async fn the_window_is_filled_page_by_page() {
        let mut archive = MemoryArchive::new(64 << 20);
        let now = unix_ns();
        let old = now - 2 * WINDOW.as_nanos() as i64;
        let stored = 2 * KEYS_AT_ONCE + 10;
        let messages = (0..stored).map(|number| message(number, now - number as i64, TOPIC));
        let others = [message(stored, old, TOPIC), message(stored + 1, now, "/waku/2/rs/0/1")];
        archive.insert_batch(&mut messages.chain(others)).expect("an archive in memory stores");
        let (topics, index) = (Arc::new(TopicTable::new(2)), Arc::new(SyncIndex::new(2, 64 << 20)));
        let reader = archive.reader().expect("a reader");
        let fill = SyncFill::start(reader, topics.clone(), index.clone());
        fill.wanted().fill(TOPIC);
        fill.finish().await;
        let shard = topics.find(TOPIC).expect("the topic has a number");
        assert_eq!(index.counts(), [(shard, stored as u64)]);
    }

    #[tokio::test]
    async fn a_topic_joined_later_is_filled_once() {
        let mut archive = MemoryArchive::new(1 << 20);
        let later = "/waku/2/rs/0/1";
        let now = unix_ns();
        let stored = [message(1, now, TOPIC), message(2, now, later), message(3, now, later)];
        archive.insert_batch(&mut stored.into_iter()).expect("an archive in memory stores");
        let (topics, index) = (Arc::new(TopicTable::new(2)), Arc::new(SyncIndex::new(2, 1 << 20)));
        let fill = SyncFill::start(archive.reader().expect("a reader"), topics.clone(), index.clone());
        let wanted = fill.wanted().clone();
        wanted.fill(TOPIC);
        let shard = topics.intern(TOPIC).expect("there is room");
        while index.counts() != [(shard, 1)] {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        // What it forgets now and would find again, were it to look twice.
        index.prune_before(now + 1);
        index.prune_before(i64::MIN);
        wanted.fill(TOPIC);
        wanted.fill(later);
        fill.finish().await;
        assert_eq!(index.counts(), [(topics.find(later).expect("it has a number"), 2)]);
        wanted.fill("/waku/2/rs/0/2");
        assert_eq!(topics.find("/waku/2/rs/0/2"), None, "nothing is filled any more");
    }
}
