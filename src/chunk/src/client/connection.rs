//! A connection to one node: requests go out one after another, answers come back in any order.
//!
//! A request waits as a weak reference: one that nobody wants any more, because the majority is reached, is not sent, and keeps no
//! slot.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use levada_engine::{Arena, Held};
use levada_wire::varint;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::fault::{Fault, FaultKind};
use crate::outgoing::Outgoing;
use crate::stages::ChunkRecord;
use crate::transport::{Limits, Receiver, Sender, TransportError};

/// Requests that wait to be sent; more wait in line outside.
const JOBS: usize = 64;

/// Requests nobody waits for that are kept before they are looked through.
const PENDING_CHECKED: usize = 256;

#[derive(Debug)]
struct Job {
    request_id: u64,
    message: Weak<Outgoing>,
    answer: oneshot::Sender<Held<ChunkRecord>>,
}

/// Who waits for which answer.
#[derive(Debug, Default)]
struct Pending(Mutex<HashMap<u64, oneshot::Sender<Held<ChunkRecord>>>>);

impl Pending {
    fn insert(&self, request_id: u64, answer: oneshot::Sender<Held<ChunkRecord>>) {
        let mut pending = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if pending.len() >= PENDING_CHECKED {
            pending.retain(|_, answer| !answer.is_closed());
        }
        pending.insert(request_id, answer);
    }

    fn take(&self, request_id: u64) -> Option<oneshot::Sender<Held<ChunkRecord>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&request_id)
    }

    fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// An open connection. It closes when it is dropped.
#[derive(Debug)]
pub(super) struct Connection {
    jobs: mpsc::Sender<Job>,
    ended: Arc<OnceLock<Fault>>,
    /// Both halves; dropping them ends them.
    _tasks: JoinSet<()>,
}

impl Connection {
    /// Runs both halves; answers go into slots of `arena`.
    pub fn new(receiver: Receiver, sender: Sender, arena: Arc<Arena<ChunkRecord>>, limits: Limits) -> Self {
        let (jobs, queue) = mpsc::channel(JOBS);
        let (pending, ended) = (Arc::new(Pending::default()), Arc::new(OnceLock::new()));
        let mut tasks = JoinSet::new();
        let end = End { pending: pending.clone(), ended: ended.clone() };
        tasks.spawn(async move {
            let (wrote, read) = (write(sender, queue, &pending, &limits), read(receiver, &arena, &pending, &limits));
            let outcome = tokio::select! { outcome = wrote => outcome, outcome = read => outcome };
            end.set(&outcome);
        });
        Self { jobs, ended, _tasks: tasks }
    }

    /// The connection takes requests.
    pub fn is_open(&self) -> bool {
        self.ended.get().is_none() && !self.jobs.is_closed()
    }

    /// Sends a request and waits for its answer, for as long as the caller likes.
    pub async fn ask(&self, request_id: u64, message: &Arc<Outgoing>) -> Result<Held<ChunkRecord>, Fault> {
        let (answer, answered) = oneshot::channel();
        let job = Job { request_id, message: Arc::downgrade(message), answer };
        self.jobs.send(job).await.map_err(|_| self.fault())?;
        answered.await.map_err(|_| self.fault())
    }

    fn fault(&self) -> Fault {
        let unknown = || Fault::new(FaultKind::Disconnected, "the connection has ended");
        self.ended.get().cloned().unwrap_or_else(unknown)
    }
}

/// Tells who waits how the connection ended.
struct End {
    pending: Arc<Pending>,
    ended: Arc<OnceLock<Fault>>,
}

impl End {
    fn set(&self, outcome: &Result<(), TransportError>) {
        let fault = match outcome {
            Ok(()) => Fault::new(FaultKind::Disconnected, "the peer closed the connection"),
            Err(error) => Fault::of_transport(error),
        };
        let _ = self.ended.set(fault);
        self.pending.clear();
    }
}

async fn write(
    mut sender: Sender,
    mut jobs: mpsc::Receiver<Job>,
    pending: &Pending,
    limits: &Limits,
) -> Result<(), TransportError> {
    while let Some(job) = jobs.recv().await {
        let Some(message) = job.message.upgrade().filter(|_| !job.answer.is_closed()) else { continue };
        pending.insert(job.request_id, job.answer);
        sender.send(&message, limits).await?;
    }
    Ok(())
}

async fn read(
    mut receiver: Receiver,
    arena: &Arc<Arena<ChunkRecord>>,
    pending: &Pending,
    limits: &Limits,
) -> Result<(), TransportError> {
    while let Some(answer) = receiver.receive(arena, 0, limits).await? {
        // A whole decode is for who waits; the number in front tells who that is.
        let request_id = varint::decode(answer.payload()).map(|(id, _)| id);
        if let Some(waiting) = request_id.ok().and_then(|id| pending.take(id)) {
            let _ = waiting.send(answer);
        }
    }
    Ok(())
}
