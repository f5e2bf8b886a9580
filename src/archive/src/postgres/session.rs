//! One connection to the database.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use tokio_postgres::{Client, Error};

use super::PostgresUrl;
use super::driver::{Driver, Failure};
use super::task::Task;

/// What each connection is set up with. The server gives up a statement, or a transaction whose client says nothing more, after a minute:
/// it would keep other nodes waiting for the keys it holds.
const SET_UP: &str = "SET statement_timeout = '60s'; SET idle_in_transaction_session_timeout = '60s'; \
     SET client_min_messages = warning; SET timezone = 'UTC'";

/// A connection; dropping it closes it, and the server then undoes what was not committed.
pub(super) struct Session {
    driver: Arc<Driver>,
    client: Arc<Client>,
    stop: Arc<AtomicBool>,
}

impl Session {
    /// Connects. Waits on this session end when `stop` is set.
    pub(super) fn connect(driver: &Arc<Driver>, url: &PostgresUrl, stop: &Arc<AtomicBool>) -> Result<Self, Failure> {
        let (config, tls) = (url.config().clone(), url.tls().connector()?);
        let patience = config.get_connect_timeout().copied().unwrap_or(Duration::from_secs(5)) * 2;
        let client = driver.wait(patience, stop, async move {
            let (client, connection) = config.connect(tls).await?;
            tokio::spawn(async move {
                if let Err(error) = connection.await {
                    tracing::debug!(%error, "a connection to the database of the archive ended");
                }
            });
            client.batch_execute(SET_UP).await?;
            Ok(client)
        })?;
        Ok(Self { driver: driver.clone(), client: Arc::new(client), stop: stop.clone() })
    }

    /// Runs `work` on the connection, for at most `patience`, and counts it as `task`. After a failure the session is to be dropped: a
    /// transaction may be open.
    pub(super) fn run<T, F>(
        &self,
        task: Task,
        patience: Duration,
        work: impl FnOnce(Arc<Client>) -> F,
    ) -> Result<T, Failure>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Error>> + Send + 'static,
    {
        let (asked, future) = (Instant::now(), work(self.client.clone()));
        self.driver.wait(patience, &self.stop, async move {
            let begun = Instant::now();
            let done = future.await?;
            task.count(begun - asked, begun.elapsed());
            Ok(done)
        })
    }
}
