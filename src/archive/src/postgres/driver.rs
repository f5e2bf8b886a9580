//! The thread that turns the client's futures, and the one way to wait for them from code without a runtime.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio_postgres::Error;

/// Time between two looks at whether the wait is to be given up.
const STOP_INTERVAL: Duration = Duration::from_millis(50);

/// Why the database did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    /// The server's own sentence where there is one, else the client's.
    #[error("{}", sentence(.0))]
    Database(#[from] Error),
    #[error("no answer within {} ms", .0.as_millis())]
    Slow(Duration),
    #[error("it is being closed")]
    Closing,
    /// The certificates that the server's is checked against.
    #[error("TLS: {0}")]
    Tls(String),
    #[error("it was written by a newer build, with schema version {0}")]
    Newer(i32),
    #[error("it holds an archive of nwaku, of schema version {0}")]
    Nwaku(i32),
    #[error("it holds an archive of nwaku of the old schema version {0}")]
    OldNwaku(i32),
    #[error("it holds an archive of nwaku of the newer schema version {0}")]
    NewerNwaku(i32),
    #[error("it holds a Levada archive, and no table of nwaku's")]
    Levada,
}

fn sentence(error: &Error) -> String {
    match (error.as_db_error(), std::error::Error::source(error)) {
        (Some(answer), _) => answer.message().to_owned(),
        (None, Some(source)) => format!("{error}: {source}"),
        (None, None) => error.to_string(),
    }
}

/// A runtime of one thread.
#[derive(Debug)]
pub(super) struct Driver {
    /// Present until the drop.
    runtime: Option<Runtime>,
}

impl Driver {
    pub(super) fn new() -> std::io::Result<Self> {
        let runtime = Builder::new_multi_thread().worker_threads(1).thread_name("postgres").enable_all().build()?;
        Ok(Self { runtime: Some(runtime) })
    }

    /// Waits for `future`, at most `patience`, and not beyond the moment that `stop` is set. What is given up is dropped.
    pub(super) fn wait<T: Send + 'static>(
        &self,
        patience: Duration,
        stop: &AtomicBool,
        future: impl Future<Output = Result<T, Failure>> + Send + 'static,
    ) -> Result<T, Failure> {
        let Some(runtime) = &self.runtime else { return Err(Failure::Closing) };
        let (answer, answered) = sync_channel(1);
        let task = runtime.spawn(async move {
            let result = tokio::time::timeout(patience, future).await;
            // Nobody takes it when the wait was given up.
            let _ = answer.send(result.unwrap_or(Err(Failure::Slow(patience))));
        });
        loop {
            match answered.recv_timeout(STOP_INTERVAL) {
                Ok(result) => return result,
                // Pairs with the store in `Outage::close`.
                Err(RecvTimeoutError::Timeout) if !stop.load(Ordering::Acquire) => {}
                Err(_) => {
                    task.abort();
                    return Err(Failure::Closing);
                }
            }
        }
    }
}

impl Drop for Driver {
    /// Does not wait for the thread, which a caller that itself runs on a runtime may not.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
