//! The archive in a PostgreSQL database that several nodes share, in our own tables or in nwaku's (`layout`).
//!
//! Messages lie in partitions by time, an hour each, which are made ahead by whichever node comes first and dropped whole by retention.
//! Batches go by `COPY`, after their keys have told what is new (`writer`). When the database fails, or takes longer for a batch than
//! [`INSERT_PATIENCE`], batches go into a local log of bounded size instead, and from there into the database once it answers
//! again (`outage`); until then queries do not find them. The client runs on a thread of its own (`driver`).

mod address;
mod batch;
mod copy;
mod dialect;
mod driver;
mod layout;
mod nwaku;
mod outage;
mod partition;
mod pool;
mod query;
mod retention;
mod schema;
mod session;
pub(crate) mod task;
mod tls;
mod writer;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::counters::{InsertTally, LAST_DATABASE_PAYLOAD_BYTES, count_query, count_retention};
use crate::spill::Spill;
use crate::{
    Archive, ArchiveError, ArchiveMessage, ArchiveReader, Dropped, InsertOutcome, Key, PAYLOAD_BYTES_MAX, Page, Query,
    Retention,
};
pub use address::{PostgresUrl, PostgresUrlError};
use driver::{Driver, Failure};
use layout::Writer;
pub use layout::{PostgresSchema, PostgresSchemaError};
use outage::Line;
use partition::HOUR_NS;
use pool::Pool;
use session::Session;
use task::Task;

/// Bytes that wait in the local log at most, unless said otherwise: 256 MiB.
pub const STORE_BACKLOG_BYTES_DEFAULT: u64 = 256 << 20;
/// Connections that a node opens at most, unless said otherwise.
pub const CONNECTIONS_MAX_DEFAULT: usize = 50;

/// How long the database may take for each of the two answers to a batch.
const INSERT_PATIENCE: Duration = Duration::from_secs(5);
/// How long a query may take.
const QUERY_PATIENCE: Duration = Duration::from_secs(60);

/// How a PostgreSQL archive is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostgresOptions {
    /// Whose tables.
    pub schema: PostgresSchema,
    /// Most connections of this archive at a time, at least 2: one writes, the others answer queries.
    pub connections_max: usize,
    /// The folder of the local log. Each node on a machine needs its own.
    pub backlog_folder: PathBuf,
    /// Bytes that the local log holds at most; 0 for none.
    pub backlog_bytes: u64,
    /// Width of the partitions of a new database, in nanoseconds; one that is there keeps its own, and nwaku's are hours.
    pub partition_ns: i64,
    /// Time between two looks at what retention has to do, unless the last one left something.
    pub retention_interval: Duration,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self {
            schema: PostgresSchema::default(),
            connections_max: CONNECTIONS_MAX_DEFAULT,
            backlog_folder: "levada-backlog".into(),
            backlog_bytes: STORE_BACKLOG_BYTES_DEFAULT,
            partition_ns: HOUR_NS,
            retention_interval: Duration::from_secs(60),
        }
    }
}

/// An archive in a PostgreSQL database.
pub struct PostgresArchive {
    line: Arc<Line>,
    pool: Arc<Pool>,
    /// Present until the drop.
    keeper: Option<JoinHandle<()>>,
    location: String,
    options: PostgresOptions,
    retention_due: Instant,
}

/// A reader of a [`PostgresArchive`].
pub struct PostgresReader {
    pool: Arc<Pool>,
    schema: PostgresSchema,
    location: String,
}

impl PostgresArchive {
    /// Connects, makes the tables in an empty database, and begins to bring there what an earlier process left in the local log.
    ///
    /// # Errors
    /// [`ArchiveError::Database`] when the database cannot be reached or used, and those of the folder of the local log.
    pub fn open(url: &PostgresUrl, options: &PostgresOptions) -> Result<Self, ArchiveError> {
        let location = url.to_string();
        let spill = Spill::open(&options.backlog_folder, options.backlog_bytes)?;
        let io = |error| ArchiveError::Io { path: location.clone(), source: Box::new(error) };
        let driver = Arc::new(Driver::new().map_err(io)?);
        let tables = (options.schema, options.partition_ns.max(1));
        let line =
            Line::open(driver.clone(), url.clone(), tables, spill).map_err(|failure| error_of(&location, failure))?;
        let pool = Arc::new(Pool::new(driver, url.clone(), options.connections_max.saturating_sub(1).max(1)));
        let keeper = {
            let line = line.clone();
            std::thread::Builder::new().name("archive-outage".to_owned()).spawn(move || line.keep()).map_err(io)?
        };
        let (keeper, options, retention_due) = (Some(keeper), options.clone(), Instant::now());
        Ok(Self { line, pool, keeper, location, options, retention_due })
    }

    /// Lends the writing connection to `work`; nothing while the database is away.
    fn with_writer<T>(
        &self,
        work: impl FnOnce(&mut dyn Writer) -> Result<T, Failure>,
    ) -> Option<Result<T, ArchiveError>> {
        let mut writer = self.line.take()?;
        Some(match work(&mut *writer) {
            Ok(done) => {
                self.line.give(writer);
                Ok(done)
            }
            Err(failure) => {
                self.line.fail(&failure);
                Err(error_of(&self.location, failure))
            }
        })
    }

    fn away(&self) -> ArchiveError {
        ArchiveError::Database { location: self.location.clone(), reason: "it does not answer".to_owned() }
    }

    fn shut(&mut self) {
        self.line.close();
        // The thread does not panic; if it did, what waits is in the log.
        let _ = self.keeper.take().map(JoinHandle::join);
    }
}

impl Drop for PostgresArchive {
    fn drop(&mut self) {
        self.shut();
    }
}

impl Archive for PostgresArchive {
    fn insert_batch<'a>(
        &mut self,
        batch: &mut dyn Iterator<Item = ArchiveMessage<'a>>,
    ) -> Result<InsertOutcome, ArchiveError> {
        let messages: Vec<ArchiveMessage<'a>> = batch.collect();
        let mut tally = InsertTally::default();
        if messages.is_empty() {
            return tally.publish(Ok(()));
        }
        if let Some(Ok(())) = self.with_writer(|writer| writer.store(&messages, INSERT_PATIENCE, &mut tally)) {
            // The counts of a batch say of no single message how large it is.
            LAST_DATABASE_PAYLOAD_BYTES.store(messages[messages.len() - 1].payload.len() as u64, Relaxed);
            return tally.publish(Ok(()));
        }
        let spilled = self.line.spill(&messages, &mut tally);
        tally.publish(spilled)
    }

    fn takes(&self, message: &ArchiveMessage<'_>) -> bool {
        let there = self.with_writer(|writer| Ok(writer.takes(message)));
        there.and_then(Result::ok).unwrap_or(message.payload.len() <= PAYLOAD_BYTES_MAX)
    }

    fn reader(&self) -> Result<Box<dyn ArchiveReader>, ArchiveError> {
        Ok(Box::new(PostgresReader {
            pool: self.pool.clone(),
            schema: self.options.schema,
            location: self.location.clone(),
        }))
    }

    fn clear(&mut self) -> Result<(), ArchiveError> {
        self.line.clear(&self.options.backlog_folder)?;
        let clear = self.options.schema.dialect().clear;
        let truncate = |writer: &mut dyn Writer| {
            writer.session().run(Task::Undo, QUERY_PATIENCE, |client| async move { client.batch_execute(clear).await })
        };
        self.with_writer(truncate).unwrap_or_else(|| Err(self.away()))
    }

    /// One partition at most. While the database is away there is nothing to drop.
    fn retain(&mut self, retention: &Retention) -> Result<Dropped, ArchiveError> {
        if Instant::now() < self.retention_due {
            return Ok(Dropped::default());
        }
        let dropped = self.with_writer(|writer| writer.retain(retention)).unwrap_or(Ok(Dropped::default()));
        if !dropped.as_ref().is_ok_and(|dropped| dropped.unfinished) {
            self.retention_due = Instant::now() + self.options.retention_interval;
        }
        count_retention(dropped)
    }

    /// Those in the database.
    fn message_count(&self) -> Result<u64, ArchiveError> {
        let count = self.options.schema.dialect().count;
        let count = |session: &Session| {
            session.run(Task::Count, QUERY_PATIENCE, |client| async move { client.query_typed_one(count, &[]).await })
        };
        let row = self.pool.with(count).map_err(|failure| error_of(&self.location, failure))?;
        Ok(row.get::<_, i64>(0).unsigned_abs())
    }

    fn location(&self) -> String {
        self.location.clone()
    }

    fn close(mut self: Box<Self>) -> Result<(), ArchiveError> {
        self.shut();
        Ok(())
    }
}

impl ArchiveReader for PostgresReader {
    fn query(&mut self, query: &Query) -> Result<Page, ArchiveError> {
        let began = Instant::now();
        let page = query.check().and_then(|()| {
            let ask = |session: &Session| {
                let (query, dialect) = (query.clone(), self.schema.dialect());
                session.run(Task::Select, QUERY_PATIENCE, |client| async move {
                    query::page(&client, dialect, &query).await
                })
            };
            self.pool.with(ask).map_err(|failure| error_of(&self.location, failure))?
        });
        count_query(began, &page);
        page
    }

    fn keys_after(&mut self, pubsub_topic: &str, after: Key, keys_max: usize) -> Result<Vec<Key>, ArchiveError> {
        let ask = |session: &Session| {
            let (topic, dialect) = (pubsub_topic.to_owned(), self.schema.dialect());
            session.run(Task::Select, QUERY_PATIENCE, |client| async move {
                query::keys_after(&client, dialect, topic, after, keys_max).await
            })
        };
        self.pool.with(ask).map_err(|failure| error_of(&self.location, failure))
    }
}

fn error_of(location: &str, failure: Failure) -> ArchiveError {
    match failure {
        Failure::Newer(found) => ArchiveError::NewerSchema {
            path: location.to_owned(),
            found: i64::from(found),
            supported: i64::from(schema::SCHEMA_VERSION),
        },
        Failure::Nwaku(found) => ArchiveError::NwakuDatabase { location: location.to_owned(), found },
        Failure::OldNwaku(found) => ArchiveError::OldNwakuDatabase { location: location.to_owned(), found },
        Failure::NewerNwaku(found) => ArchiveError::NewerNwakuDatabase { location: location.to_owned(), found },
        Failure::Levada => ArchiveError::LevadaDatabase { location: location.to_owned() },
        other => ArchiveError::Database { location: location.to_owned(), reason: other.to_string() },
    }
}
