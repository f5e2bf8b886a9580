//! The connections that queries use, as many as are needed and not more than are allowed.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::PostgresUrl;
use super::driver::{Driver, Failure};
use super::session::Session;

/// Shared by all readers.
pub(super) struct Pool {
    driver: Arc<Driver>,
    url: PostgresUrl,
    sessions_max: usize,
    /// Never set: queries outlive the archive.
    stop: Arc<AtomicBool>,
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Default)]
struct State {
    idle: Vec<Session>,
    /// Those in use.
    lent: usize,
}

impl Pool {
    pub(super) fn new(driver: Arc<Driver>, url: PostgresUrl, sessions_max: usize) -> Self {
        let (stop, state) = (Arc::default(), Mutex::default());
        Self { driver, url, sessions_max, stop, state, freed: Condvar::new() }
    }

    /// Runs `work` on a connection; once more, on a new one, when one that lay idle fails, as after a restart of the server.
    pub(super) fn with<T>(&self, mut work: impl FnMut(&Session) -> Result<T, Failure>) -> Result<T, Failure> {
        let mut loan = self.lend();
        if let Some(session) = &loan.session {
            match work(session) {
                Err(Failure::Database(_)) => loan.session = None,
                outcome => return loan.settle(outcome),
            }
        }
        let session = loan.session.insert(Session::connect(&self.driver, &self.url, &self.stop)?);
        let outcome = work(session);
        loan.settle(outcome)
    }

    /// Waits until a connection may be used; whether it is there already is another matter.
    fn lend(&self) -> Loan<'_> {
        let mut state = self.lock();
        while state.lent >= self.sessions_max {
            state = self.freed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.lent += 1;
        Loan { pool: self, session: state.idle.pop() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to use one connection.
struct Loan<'a> {
    pool: &'a Pool,
    session: Option<Session>,
}

impl Loan<'_> {
    /// Keeps the connection only if it did what it was asked.
    fn settle<T>(mut self, outcome: Result<T, Failure>) -> Result<T, Failure> {
        if outcome.is_err() {
            self.session = None;
        }
        outcome
    }
}

impl Drop for Loan<'_> {
    fn drop(&mut self) {
        let mut state = self.pool.lock();
        state.lent -= 1;
        state.idle.extend(self.session.take());
        drop(state);
        self.pool.freed.notify_one();
    }
}
