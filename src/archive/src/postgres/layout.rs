//! The layouts of the tables: our own, and nwaku's. What they have in common is a writer of batches, and the statements of queries.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use tokio_postgres::error::SqlState;

use super::dialect::{Dialect, LEVADA, NWAKU};
use super::driver::Failure;
use super::nwaku::NwakuWriter;
use super::session::Session;
use super::task::Task;
use super::writer::LevadaWriter;
use crate::counters::InsertTally;
use crate::{ArchiveMessage, Dropped, Retention};

/// Whose tables a PostgreSQL archive has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PostgresSchema {
    /// Our own: payloads as bytes, written by `COPY`.
    #[default]
    Levada,
    /// nwaku's of version 7 or 8, which nodes of both kinds may share: everything as text, payloads in hexadecimal digits.
    Nwaku,
}

impl PostgresSchema {
    /// The words for `--store-message-db-schema`.
    pub const NAMES: &'static [&'static str] = &["levada", "nwaku"];

    /// A writer on a connection. Makes the tables in an empty database, and refuses one that holds those of the other layout.
    pub(super) fn writer(self, session: Session, width_ns: i64) -> Result<Box<dyn Writer>, Failure> {
        Ok(match self {
            Self::Levada => Box::new(LevadaWriter::new(session, width_ns)?),
            Self::Nwaku => Box::new(NwakuWriter::new(session)?),
        })
    }

    pub(super) fn dialect(self) -> &'static Dialect {
        match self {
            Self::Levada => &LEVADA,
            Self::Nwaku => &NWAKU,
        }
    }
}

/// A word that names no layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the schema of the database is levada or nwaku")]
pub struct PostgresSchemaError;

impl FromStr for PostgresSchema {
    type Err = PostgresSchemaError;

    fn from_str(word: &str) -> Result<Self, PostgresSchemaError> {
        match word.to_ascii_lowercase().as_str() {
            "levada" => Ok(Self::Levada),
            "nwaku" => Ok(Self::Nwaku),
            _ => Err(PostgresSchemaError),
        }
    }
}

impl fmt::Display for PostgresSchema {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Levada => "levada",
            Self::Nwaku => "nwaku",
        })
    }
}

/// A connection that writes.
pub(super) trait Writer: Send {
    fn session(&self) -> &Session;

    /// Stores a batch and counts into `tally`, each answer within `patience`.
    fn store(
        &mut self,
        messages: &[ArchiveMessage<'_>],
        patience: Duration,
        tally: &mut InsertTally,
    ) -> Result<(), Failure> {
        self.make_partitions(messages)?;
        match self.store_once(messages, patience, tally) {
            // Retention dropped a partition that was known here, or another node has cut a table into partitions.
            Err(Failure::Database(error)) if error.code() == Some(&SqlState::CHECK_VIOLATION) => {
                self.session().run(
                    Task::Undo,
                    patience,
                    |client| async move { client.batch_execute("ROLLBACK").await },
                )?;
                self.forget_partitions();
                self.make_partitions(messages)?;
                self.store_once(messages, patience, tally)
            }
            outcome => outcome,
        }
    }

    /// Makes the partitions of a batch, and the one behind its last message, so that the next hour begins with its tables there.
    fn make_partitions(&mut self, messages: &[ArchiveMessage<'_>]) -> Result<(), Failure>;

    /// Has the next batch look again which partitions there are.
    fn forget_partitions(&mut self);

    /// As [`store`](Self::store), for partitions that are there.
    fn store_once(
        &mut self,
        messages: &[ArchiveMessage<'_>],
        patience: Duration,
        tally: &mut InsertTally,
    ) -> Result<(), Failure>;

    /// Whether there is a place for a message like this, now or once its partition is made.
    fn takes(&self, message: &ArchiveMessage<'_>) -> bool;

    /// Drops the oldest partition if `retention` lets it go.
    fn retain(&mut self, retention: &Retention) -> Result<Dropped, Failure>;
}
