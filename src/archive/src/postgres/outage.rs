//! What happens while the database is away: messages go into the local log, and a thread of its own tries to reach the database again,
//! brings the log there, and hands the connection back.
//!
//! The log is empty whenever batches go to the database directly, so that what waited is stored before what came later.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::driver::{Driver, Failure};
use super::layout::Writer;
use super::session::Session;
use super::{PostgresSchema, PostgresUrl};
use crate::counters::{DAMAGED_RECORDS, InsertTally, SPILLED_MESSAGES};
use crate::spill::{self, Refused, Spill};
use crate::{ArchiveError, ArchiveMessage, PAYLOAD_BYTES_MAX};

/// Pauses between two attempts, the first and the longest.
const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(10);
/// Messages of the log that one transaction takes.
const BATCH_MESSAGES: usize = 256;
/// How long the database may take for one of them; nobody waits for it.
const PATIENCE: Duration = Duration::from_secs(60);
/// Time between two log lines about a database that stays away.
const LOG_INTERVAL: Duration = Duration::from_secs(60);

/// What the archive and the thread share.
pub(super) struct Line {
    driver: Arc<Driver>,
    url: PostgresUrl,
    schema: PostgresSchema,
    width_ns: i64,
    stop: Arc<AtomicBool>,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// The connection that batches go over; none while it is in use, or while the database is away.
    writer: Option<Box<dyn Writer>>,
    /// The archive has the connection.
    lent: bool,
    spill: Spill,
}

impl Line {
    /// Connects. With messages from an earlier process in the log, batches follow them into it.
    pub(super) fn open(
        driver: Arc<Driver>,
        url: PostgresUrl,
        (schema, width_ns): (PostgresSchema, i64),
        mut spill: Spill,
    ) -> Result<Arc<Self>, Failure> {
        let stop = Arc::default();
        let writer = schema.writer(Session::connect(&driver, &url, &stop)?, width_ns)?;
        let writer = spill.oldest().is_none().then_some(writer);
        let state = Mutex::new(State { writer, lent: false, spill });
        Ok(Arc::new(Self { driver, url, schema, width_ns, stop, state, changed: Condvar::new() }))
    }

    /// Lends the connection to the archive, which gives it back by [`Self::give`] or says by [`Self::fail`] that it broke.
    pub(super) fn take(&self) -> Option<Box<dyn Writer>> {
        let mut state = self.lock();
        // An earlier call panicked with it.
        let lost = std::mem::take(&mut state.lent);
        let writer = state.writer.take();
        state.lent = writer.is_some();
        if lost {
            self.changed.notify_one();
        }
        writer
    }

    pub(super) fn give(&self, writer: Box<dyn Writer>) {
        let mut state = self.lock();
        state.lent = false;
        state.writer = Some(writer);
    }

    pub(super) fn fail(&self, failure: &Failure) {
        tracing::warn!(
            error = %failure,
            "the database of the archive failed; messages wait in the local log, and it is tried again"
        );
        self.lock().lent = false;
        self.changed.notify_one();
    }

    /// Puts a batch into the local log and counts into `tally`.
    pub(super) fn spill(&self, messages: &[ArchiveMessage<'_>], tally: &mut InsertTally) -> Result<(), ArchiveError> {
        let fits = |message: &&ArchiveMessage<'_>| message.payload.len() <= PAYLOAD_BYTES_MAX;
        let mut state = self.lock();
        state.spill.append(messages.iter().filter(fits)).map_err(|refused| match refused {
            Refused::Full => {
                ArchiveError::BacklogFull { location: self.url.to_string(), bytes_max: state.spill.bytes_max() }
            }
            Refused::Io(error) if spill::is_full(&error) => ArchiveError::DiskFull { path: self.url.to_string() },
            Refused::Io(error) => ArchiveError::Io { path: self.url.to_string(), source: Box::new(error) },
        })?;
        drop(state);
        for message in messages.iter().filter(fits) {
            tally.stored(message.payload.len());
        }
        tally.outcome.dropped = messages.len() as u64 - tally.outcome.stored;
        SPILLED_MESSAGES.add(tally.outcome.stored);
        Ok(())
    }

    /// Forgets what waits.
    pub(super) fn clear(&self, folder: &Path) -> Result<(), ArchiveError> {
        let io = |error| ArchiveError::Io { path: folder.display().to_string(), source: Box::new(error) };
        self.lock().spill.clear().map_err(io)
    }

    /// Ends the thread, and every wait of the writing connection.
    pub(super) fn close(&self) {
        // Pairs with the loads in `stopped` and in the driver's `wait`.
        self.stop.store(true, Ordering::Release);
        // Under the lock, so that a thread that has just looked does not miss it.
        drop(self.lock());
        self.changed.notify_all();
    }

    /// What the thread does until [`Self::close`].
    pub(super) fn keep(&self) {
        while self.wait_for_outage() {
            self.restore();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stopped(&self) -> bool {
        // Pairs with the store in `close`.
        self.stop.load(Ordering::Acquire)
    }

    /// False when the archive is closed.
    fn wait_for_outage(&self) -> bool {
        let there = |state: &mut State| !self.stopped() && (state.writer.is_some() || state.lent);
        drop(self.changed.wait_while(self.lock(), there).unwrap_or_else(PoisonError::into_inner));
        !self.stopped()
    }

    /// Tries until the database has everything, or the archive is closed.
    fn restore(&self) {
        let (began, mut logged, mut pause) = (Instant::now(), Instant::now(), PAUSE_MIN);
        loop {
            match self.connect().and_then(|writer| self.drain(writer)) {
                Ok(()) => {
                    tracing::info!(seconds = began.elapsed().as_secs(), "the database of the archive is back");
                    return;
                }
                Err(_) if self.stopped() => return,
                Err(failure) if logged.elapsed() >= LOG_INTERVAL => {
                    logged = Instant::now();
                    let waiting_bytes = self.lock().spill.bytes();
                    tracing::warn!(error = %failure, waiting_bytes, "the database of the archive is still away");
                }
                Err(failure) => tracing::debug!(error = %failure, "the database of the archive is still away"),
            }
            let open = |_: &mut State| !self.stopped();
            drop(self.changed.wait_timeout_while(self.lock(), pause, open).unwrap_or_else(PoisonError::into_inner));
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    fn connect(&self) -> Result<Box<dyn Writer>, Failure> {
        self.schema.writer(Session::connect(&self.driver, &self.url, &self.stop)?, self.width_ns)
    }

    /// Stores what is in the log, file by file, and hands the connection over when nothing is left.
    fn drain(&self, mut writer: Box<dyn Writer>) -> Result<(), Failure> {
        loop {
            let mut state = self.lock();
            let Some((number, path)) = state.spill.oldest() else {
                state.writer = Some(writer);
                return Ok(());
            };
            drop(state);
            match spill::read(&path) {
                Ok(file) => {
                    store(&mut *writer, &file, &path)?;
                    if let Err(error) = self.lock().spill.remove(number) {
                        tracing::warn!(%error, path = %path.display(), "a stored file of the local log stays; remove it");
                    }
                }
                Err(error) => {
                    tracing::error!(%error, path = %path.display(), "a file of the local log cannot be read, and stays there");
                    self.lock().spill.leave(number);
                }
            }
        }
    }
}

/// Stores the messages of one file of the log; the database ignores those that it has.
fn store(writer: &mut dyn Writer, file: &[u8], path: &Path) -> Result<(), Failure> {
    let (messages, left) = spill::decode(file);
    for batch in messages.chunks(BATCH_MESSAGES) {
        // They were counted when they came.
        writer.store(batch, PATIENCE, &mut InsertTally::default())?;
    }
    if left > 0 {
        DAMAGED_RECORDS.add(1);
        tracing::warn!(bytes = left, path = %path.display(), "the end of a file of the local log is damaged, and left out");
    }
    Ok(())
}
