//! The connections of a node: each has a task that reads and one that writes. A client may have a few requests in the node; it
//! is not read while it has that many, nor while there is no slot for its next message.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use levada_engine::{Arena, Counter, Held, PushError, Source};
use tokio::sync::{Semaphore, mpsc, watch};

use crate::outgoing::Outgoing;
use crate::stages::{ChunkRecord, attached};
use crate::transport::{Limits, Receiver, Sender, TransportError};

/// Connections let in.
pub static CONNECTIONS: Counter = Counter::new();

/// Of those, the ones that are over.
pub static CONNECTIONS_ENDED: Counter = Counter::new();

/// Connections that ended in an error, a peer's or the network's.
pub static CONNECTIONS_FAILED: Counter = Counter::new();

/// Requests that one connection may have in the node: read, and their answers not yet written.
const REQUESTS_MAX: usize = 16;

/// Pause between two attempts to hand a message to a full path.
const PUSH_AGAIN_AFTER: Duration = Duration::from_millis(1);

/// Where answers go, by the connection's number.
#[derive(Debug, Default)]
pub(super) struct Connections {
    next: AtomicU64,
    answers: Mutex<HashMap<u64, mpsc::Sender<Held<ChunkRecord>>>>,
}

/// What the tasks of a connection need of the node.
#[derive(Clone, Debug)]
pub(super) struct Inbound {
    pub arena: Arc<Arena<ChunkRecord>>,
    pub source: Source<ChunkRecord>,
    pub connections: Arc<Connections>,
    pub limits: Limits,
    /// True once the node stops.
    pub stopping: watch::Receiver<bool>,
}

impl Connections {
    /// Hands an answer to the connection that asked; one that is gone needs none.
    pub fn answer(&self, answer: Held<ChunkRecord>) {
        let connection = answer.record().connection;
        let queue = self.lock().get(&connection).cloned();
        if let Some(queue) = queue {
            // The queue holds as many as the connection may have asked for, so that it is never full.
            let _ = queue.try_send(answer);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<u64, mpsc::Sender<Held<ChunkRecord>>>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inbound {
    /// Serves a connection until its peer leaves, it fails, or the node stops and everything is answered.
    pub async fn serve(self, peer: String, receiver: Receiver, sender: Sender) {
        let number = self.connections.next.fetch_add(1, Relaxed) + 1;
        let (queue, answers) = mpsc::channel(REQUESTS_MAX);
        CONNECTIONS.add(1);
        self.connections.lock().insert(number, queue);
        let slots = Arc::new(Semaphore::new(REQUESTS_MAX));
        let writer = write(sender, answers, slots.clone(), self.limits);
        let mut writer = tokio::spawn(writer);
        let read = tokio::select! {
            read = self.read(number, receiver, &slots) => read,
            written = &mut writer => written.unwrap_or(Ok(())),
        };
        if read.is_ok() && !writer.is_finished() {
            // The peer has said all it wants; what it asked for is still owed, as long as it takes it.
            let _ = slots.acquire_many(REQUESTS_MAX as u32).await;
        }
        self.connections.lock().remove(&number);
        CONNECTIONS_ENDED.add(1);
        let written = if writer.is_finished() { Ok(Ok(())) } else { writer.await };
        if let Err(error) = read.and(written.unwrap_or(Ok(()))) {
            CONNECTIONS_FAILED.add(1);
            tracing::warn!(peer, %error, "a connection ended");
        }
    }

    async fn read(&self, number: u64, mut receiver: Receiver, slots: &Semaphore) -> Result<(), TransportError> {
        let mut stopping = self.stopping.clone();
        loop {
            let next = async {
                // It comes back when the answer is written.
                slots.acquire().await.map(|permit| permit.forget()).map_err(|_| TransportError::Stalled)?;
                receiver.receive(&self.arena, number, &self.limits).await
            };
            let message = tokio::select! {
                message = next => message?,
                _ = stopping.wait_for(|stopping| *stopping) => None,
            };
            let is_through = match message {
                Some(message) => self.push(message).await,
                None => false,
            };
            if !is_through {
                slots.add_permits(1);
                return Ok(());
            }
        }
    }

    /// Hands a message to the path, as soon as it takes it; false when it takes none any more.
    async fn push(&self, message: Held<ChunkRecord>) -> bool {
        let mut message = message;
        loop {
            match self.source.push(attached(message, &self.arena)) {
                Ok(()) => return true,
                Err(PushError::Closed(_)) => return false,
                Err(PushError::Full(back)) => message = back.hold(),
            }
            tokio::time::sleep(PUSH_AGAIN_AFTER).await;
        }
    }
}

/// Writes answers until there are no more.
async fn write(
    mut sender: Sender,
    mut answers: mpsc::Receiver<Held<ChunkRecord>>,
    slots: Arc<Semaphore>,
    limits: Limits,
) -> Result<(), TransportError> {
    while let Some(answer) = answers.recv().await {
        let sent = sender.send(&Outgoing::answer(answer), &limits).await;
        if sent.is_err() {
            // Who waits for room to read need wait no longer.
            slots.close();
        }
        sent?;
        slots.add_permits(1);
    }
    sender.close(&limits).await;
    Ok(())
}
