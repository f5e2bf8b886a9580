//! The end of a message's way: an archive that, when it has stored a batch, hands it to the handler.

use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use levada_archive::{Archive, ArchiveError, ArchiveMessage, ArchiveReader, InsertOutcome};
use levada_benches::micro::Histogram;
use levada_stages::unix_ns;

use super::orders::{Handled, work_of};

/// Bytes at the beginning of a payload that hold the number of its message.
pub const NUMBER_BYTES: usize = 8;

/// Bytes of the feedback: a receiver's number and how many messages it has handled since the last time.
pub const FEEDBACK_BYTES: usize = 8;

/// What the handler has seen since it was cleared.
#[derive(Debug, Default)]
pub struct Log {
    messages: u64,
    work: u64,
    latencies_ns: Histogram,
    interarrivals_ns: Histogram,
    last_ns: Option<i64>,
}

impl Log {
    /// What it comes to.
    pub fn handled(&self) -> Handled {
        let interarrivals = &self.interarrivals_ns;
        Handled {
            messages: self.messages,
            work: self.work,
            latency_ns: [50, 99, 100].map(|pct| self.latencies_ns.percentile(pct)),
            interarrival_ns: [50, 99].map(|pct| interarrivals.percentile(pct)),
        }
    }

    fn enter(&mut self, message: Stored) {
        let Stored { number, payload_bytes, published_ns, stored_ns } = message;
        self.messages += 1;
        self.work ^= work_of(number, payload_bytes);
        self.latencies_ns.add((stored_ns - published_ns).max(0).cast_unsigned());
        if let Some(last_ns) = self.last_ns.replace(stored_ns) {
            self.interarrivals_ns.add((stored_ns - last_ns).max(0).cast_unsigned());
        }
    }
}

/// A log that the node reads and the path writes, both on one thread.
#[derive(Debug, Clone, Default)]
pub struct SharedLog(Arc<Mutex<Log>>);

impl SharedLog {
    /// The log.
    pub fn lock(&self) -> MutexGuard<'_, Log> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A message that the archive has taken, with the times since the epoch.
#[derive(Debug, Clone, Copy)]
struct Stored {
    number: u64,
    payload_bytes: usize,
    published_ns: i64,
    stored_ns: i64,
}

impl Stored {
    /// A message that the archive is about to take.
    fn new(message: &ArchiveMessage<'_>) -> Self {
        let number = message.payload.first_chunk::<NUMBER_BYTES>().copied().unwrap_or_default();
        Self {
            number: u64::from_be_bytes(number),
            payload_bytes: message.payload.len(),
            published_ns: message.timestamp,
            stored_ns: 0,
        }
    }
}

/// The last message has been stored now.
fn stamp(batch: &mut [Stored]) {
    if let Some(message) = batch.last_mut() {
        message.stored_ns = unix_ns();
    }
}

/// An archive with a handler behind it.
pub struct HandlingArchive<W> {
    archive: Box<dyn Archive>,
    log: SharedLog,
    /// The batch in hand.
    batch: Vec<Stored>,
    /// Where to say how many were handled, and as whom.
    feedback: Option<(W, u32)>,
}

impl<W: Write> HandlingArchive<W> {
    /// What `archive` has stored goes into `log`.
    pub fn new(archive: Box<dyn Archive>, log: SharedLog, feedback: Option<(W, u32)>) -> Self {
        Self { archive, log, batch: Vec::new(), feedback }
    }

    fn handle(&mut self) {
        let handled = self.batch.len() as u32;
        let mut log = self.log.lock();
        self.batch.drain(..).for_each(|message| log.enter(message));
        drop(log);
        if let Some((pipe, receiver)) = &mut self.feedback {
            let mut text = [0; FEEDBACK_BYTES];
            text[..4].copy_from_slice(&receiver.to_le_bytes());
            text[4..].copy_from_slice(&handled.to_le_bytes());
            // A publisher that has gone away needs no feedback.
            let _ = pipe.write_all(&text);
        }
    }
}

impl<W: Write + Send> Archive for HandlingArchive<W> {
    fn insert_batch<'a>(
        &mut self,
        batch: &mut dyn Iterator<Item = ArchiveMessage<'a>>,
    ) -> Result<InsertOutcome, ArchiveError> {
        self.batch.clear();
        let taken = &mut self.batch;
        let outcome = self.archive.insert_batch(&mut batch.inspect(|message| {
            // The archive asks for a message when it is done with the one before.
            stamp(taken);
            taken.push(Stored::new(message));
        }))?;
        stamp(&mut self.batch);
        self.handle();
        Ok(outcome)
    }

    fn reader(&self) -> Result<Box<dyn ArchiveReader>, ArchiveError> {
        self.archive.reader()
    }

    fn clear(&mut self) -> Result<(), ArchiveError> {
        self.archive.clear()
    }

    fn message_count(&self) -> Result<u64, ArchiveError> {
        self.archive.message_count()
    }

    fn location(&self) -> String {
        self.archive.location()
    }

    fn close(self: Box<Self>) -> Result<(), ArchiveError> {
        self.archive.close()
    }
}

#[cfg(test)]
mod tests {
    use levada_archive::MemoryArchive;

    use super::*;

    fn message(payload: &[u8], timestamp: i64) -> ArchiveMessage<'_> {
        let mut hash = [0; 32];
        hash[..NUMBER_BYTES].copy_from_slice(&payload[..NUMBER_BYTES]);
        let (pubsub_topic, content_topic) = ("/waku/2/rs/0/0", "/t/1/a/proto");
        ArchiveMessage { hash, pubsub_topic, content_topic, payload, version: 0, timestamp, meta: b"" }
    }

    #[test]
    fn what_is_stored_is_handled_and_fed_back() {
        let (log, mut said) = (SharedLog::default(), Vec::new());
        let feedback = Some((&mut said, 3));
        let mut archive = HandlingArchive::new(Box::new(MemoryArchive::new(1 << 20)), log.clone(), feedback);
        let payloads = [1_u64, 2].map(|number| [number.to_be_bytes(), [7; 8]].concat());
        let earlier = unix_ns() - 1_000_000;
        let batch = payloads.iter().map(|payload| message(payload, earlier));
        let outcome = archive.insert_batch(&mut batch.into_iter()).expect("an archive in memory stores");
        assert_eq!((outcome.stored, archive.message_count().expect("it counts")), (2, 2));
        drop(archive);
        let handled = log.lock().handled();
        assert_eq!((handled.messages, handled.work), (2, work_of(1, 16) ^ work_of(2, 16)));
        assert!(handled.latency_ns.iter().all(|latency_ns| *latency_ns >= 990_000), "{handled:?}");
        assert_eq!(said, [3_u32.to_le_bytes(), 2_u32.to_le_bytes()].concat());
    }
}
