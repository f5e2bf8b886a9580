//! Store-resume (`--store-resume`): after a start, the messages that were missed meanwhile are fetched from the archive of another node.
//!
//! The stretch of time begins when the node was last online ([`LastOnline`]), six hours ago at most. The archive of a store node is walked
//! through from there, a page in memory at a time, and what this archive lacks goes to it by a way of its own (`topology/resume.rs`). Three
//! tries in a row that bring nothing end it; the node goes on all the same. The time of being online moves only as far as all is in the
//! archive, so that the next start takes up what was not finished; once it is finished, it is renewed every minute.

mod counters;
mod error;
mod feed;
mod peer;
mod span;
#[cfg(test)]
mod tests;
mod walk;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use levada_archive::Query;
use levada_net::{NetHandle, PeerId};
use levada_stages::unix_ns;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

pub use counters::ResumeCounters;
use counters::Run;
use error::ResumeError;
pub use feed::Feed;
use peer::Choice;
use span::Span;
use walk::{Position, Walk};

use crate::node::last_online::LastOnline;
use crate::node::store::Store;

/// Between two renewals of the time at which the node was last online; nwaku's.
const RENEWED_EVERY: Duration = Duration::from_secs(60);

/// Pages between two log lines: ten thousand messages.
const PAGES_PER_LINE: u64 = 100;

/// What a resume works with.
pub struct Parts {
    /// The network.
    pub net: NetHandle,
    /// The node of `--storenode`.
    pub store_node: Option<PeerId>,
    /// The archive's readers.
    pub store: Store,
    /// The way into it.
    pub feed: Feed,
    /// The largest message, in bytes.
    pub message_bytes_max: usize,
    /// How long the archive keeps messages, if it says so in time.
    pub retention_seconds: Option<u64>,
    /// Where the node keeps when it was last online, unless its archive does not outlive it.
    pub last_online: Option<LastOnline>,
    /// How patient it is.
    pub patience: Patience,
}

/// How often and how long a resume tries.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// Tries in a row that bring nothing.
    pub tries: u32,
    /// How long each waits for a store node to be connected, and how long after it the next one begins.
    pub pause: Duration,
}

impl Default for Patience {
    /// nwaku's.
    fn default() -> Self {
        Self { tries: 3, pause: Duration::from_secs(30) }
    }
}

/// A resume that runs, or has run.
pub struct Resume {
    task: JoinHandle<()>,
    last_online: Option<LastOnline>,
    is_complete: Arc<AtomicBool>,
}

impl Resume {
    /// Begins, and ends when `stopped` does.
    pub fn start(parts: Parts, stopped: impl Future<Output = ()> + Send + 'static) -> Self {
        let (last_online, is_complete) = (parts.last_online.clone(), Arc::new(AtomicBool::new(false)));
        // Noted before the task runs: a node that is ready to answer says that it is behind.
        let running = parts.feed.counters.run();
        let task = tokio::spawn(run(parts, running, is_complete.clone(), stopped));
        Self { task, last_online, is_complete }
    }

    /// Waits until it has ended, and writes down that the node was online until `until` if it is then true that the archive has everything.
    pub async fn stop(self, until: i64, everything_is_stored: bool) {
        // A panic inside has been reported, and left the time as it was.
        let _ = self.task.await;
        if self.is_complete.load(Relaxed) && everything_is_stored {
            write(self.last_online.as_ref(), until).await;
        }
    }

    /// Whether all that was missed is there.
    #[cfg(test)]
    fn is_complete(&self) -> bool {
        self.is_complete.load(Relaxed)
    }
}

/// Resumes, and then keeps the time. One that is not finished leaves the time where it is: the next start goes on from there.
async fn run(parts: Parts, running: Run, is_complete: Arc<AtomicBool>, stopped: impl Future<Output = ()>) {
    tokio::pin!(stopped);
    let mut work = Work { parts, failed: None, from: None };
    let finished = tokio::select! {
        finished = work.resume() => finished,
        () = &mut stopped => {
            tracing::info!("the archive was not resumed to the end; the next start goes on");
            return;
        }
    };
    drop(running);
    if !finished {
        return;
    }
    is_complete.store(true, Relaxed);
    loop {
        write(work.parts.last_online.as_ref(), unix_ns()).await;
        tokio::select! {
            () = sleep(RENEWED_EVERY) => {}
            () = &mut stopped => return,
        }
    }
}

struct Work {
    parts: Parts,
    /// Whom the last try failed with.
    failed: Option<PeerId>,
    /// The time up to which all is in the archive, once that is known.
    from: Option<i64>,
}

impl Work {
    /// Tries until all is there; `false` if it gave up.
    async fn resume(&mut self) -> bool {
        let Patience { tries, pause } = self.parts.patience;
        self.from = self.last_online().await;
        let mut failures = 0;
        loop {
            let begun_at = self.from;
            let error = match self.try_once(failures > 0).await {
                Ok(()) => return true,
                Err(ResumeError::Stopping) => return false,
                Err(error) => error,
            };
            self.counters().failures.add(1);
            failures = if self.from == begun_at { failures + 1 } else { 1 };
            let peer = self.failed.map_or_else(|| "none".to_owned(), |peer| peer.to_string());
            if failures >= tries || matches!(error, ResumeError::Enough { .. }) {
                tracing::warn!(%error, peer, "the archive is not resumed; the node goes on, and the next start tries again");
                return false;
            }
            let (tries_left, seconds) = (tries - failures, pause.as_secs());
            tracing::warn!(%error, peer, tries_left, seconds, "resuming the archive failed; it is tried again");
            sleep(pause).await;
        }
    }

    fn counters(&self) -> &ResumeCounters {
        &self.parts.feed.counters
    }

    /// When the node was last online. It does not matter beside an archive that has nothing, whose messages somebody has removed; and one
    /// that is still to come says nothing.
    async fn last_online(&self) -> Option<i64> {
        let last_online = self.parts.last_online.as_ref()?;
        let time = match last_online.read() {
            Ok(time) => time?,
            Err(error) => {
                let file = last_online.path().display();
                tracing::warn!(%error, %file, "when the node was last online cannot be read; six hours are resumed");
                return None;
            }
        };
        let any = Query { page_size: Some(1), ..Query::default() };
        let is_empty = self.parts.store.query(any).await.is_ok_and(|page| page.messages.is_empty());
        (!is_empty && span::is_past(time, unix_ns())).then_some(time)
    }

    async fn try_once(&mut self, others_too: bool) -> Result<(), ResumeError> {
        let Parts { net, store_node, patience, retention_seconds, .. } = &self.parts;
        let missed = |from| Span::missed(from, unix_ns(), *retention_seconds);
        self.counters().set_missing(missed(self.from).seconds());
        let choice = Choice { net: net.clone(), named: *store_node, failed: self.failed };
        let found = choice.wait(others_too, Instant::now() + patience.pause).await;
        self.failed = found;
        let peer = found.ok_or(ResumeError::NoPeer)?;
        let span = missed(self.from);
        tracing::info!(%peer, seconds = span.seconds(), "resuming the archive: fetching the messages of the time before now");
        self.walk(peer, span).await
    }

    /// Fetches the messages of `span`.
    async fn walk(&mut self, peer: PeerId, span: Span) -> Result<(), ResumeError> {
        let (started, counters) = (Instant::now(), self.parts.feed.counters.clone());
        let (mut position, before) = (Position::default(), counters.messages());
        let mut pages = 0_u64;
        loop {
            let Parts { net, store, feed, message_bytes_max, .. } = &self.parts;
            let rows_max = walk::rows_max(*message_bytes_max);
            let exchange = net.exchange();
            let walk = Walk { exchange, peer, span, rows_max, store, feed, counters: &counters };
            let (reached, goes_on) = walk.page(&mut position).await?;
            pages += 1;
            if let Some(reached) = reached {
                self.reach(reached, span).await;
            }
            if !goes_on {
                break;
            }
            if pages.is_multiple_of(PAGES_PER_LINE) {
                let (messages, seconds_left) = (counters.messages() - before, counters.missing_seconds());
                tracing::info!(%peer, pages, messages, seconds_left, "resuming the archive");
            }
        }
        counters.set_missing(0);
        let (fetched, seconds) = (counters.messages() - before, started.elapsed().as_secs_f64());
        let (archived, known) = (counters.archived.value(), counters.known.value());
        let (refused, unknown_topic) = (counters.refused.value(), counters.unknown_topic.value());
        tracing::info!(%peer, pages, fetched, archived, known, refused, unknown_topic, seconds, "the archive is resumed");
        Ok(())
    }

    /// Everything up to `time` is in the archive: a later try, or start, begins there.
    async fn reach(&mut self, time: i64, span: Span) {
        self.counters().set_missing(Span { from: time, ..span }.seconds());
        let time = time.min(unix_ns());
        if self.from.is_none_or(|from| from < time) {
            self.from = Some(time);
            write(self.parts.last_online.as_ref(), time).await;
        }
    }
}

/// Writes the time down; that it cannot be costs a longer resume after the next start, and nothing else.
async fn write(last_online: Option<&LastOnline>, time: i64) {
    let Some(last_online) = last_online.cloned() else { return };
    let file = last_online.path().display().to_string();
    let written = tokio::task::spawn_blocking(move || last_online.write(time)).await;
    if let Ok(Err(error)) = written {
        tracing::warn!(%error, file, "that the node is online cannot be written down; the next start resumes more than it need");
    }
}
