//! Queries to the node's own archive: a few readers, each on a blocking thread while it works.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use levada_archive::{Archive, ArchiveError, ArchiveReader, Page, Query};
use tokio::sync::Semaphore;

use crate::rest::QueryError;

/// Queries answered at once; more wait.
const READERS: usize = 4;

/// The archive's readers.
#[derive(Clone)]
pub struct Store {
    readers: Arc<Mutex<Vec<Box<dyn ArchiveReader>>>>,
    permits: Arc<Semaphore>,
}

impl Store {
    /// Opens the readers of `archive`.
    ///
    /// # Errors
    /// What the archive says when a reader cannot be opened.
    pub fn open(archive: &dyn Archive) -> Result<Self, ArchiveError> {
        let readers = (0..READERS).map(|_| archive.reader()).collect::<Result<_, _>>()?;
        Ok(Self { readers: Arc::new(Mutex::new(readers)), permits: Arc::new(Semaphore::new(READERS)) })
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
}
