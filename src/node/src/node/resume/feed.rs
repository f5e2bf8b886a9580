//! Puts fetched messages on their way to the archive, and learns what became of them.
//!
//! A run of messages is on the way at a time; the next one waits until the archive has this one, and until what peers relay has room
//! before the archive. A slow archive so holds up the fetching, and nothing else.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use levada_engine::{ClaimError, PushError, Source, count_copy};
use levada_stages::backlog::Backlog;
use levada_wire::waku::{MessageSpans, Origin, TopicTable, Verdict, WakuRecord};
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use super::counters::ResumeCounters;
use super::error::ResumeError;
use crate::node::publish::{Ticket, Tickets};

/// Bytes of messages on the way at once, the last message more or less.
const RUN_BYTES_MAX: usize = 1 << 20;

/// Pause between two looks for room.
const AGAIN_AFTER: Duration = Duration::from_millis(5);

/// How long the archive may take for a run: as long as it takes somebody to let go of its database, and not for ever.
const TAKEN_WITHIN: Duration = Duration::from_secs(300);

/// The way to the archive.
pub struct Feed {
    /// The way in.
    pub source: Source<WakuRecord>,
    /// Who is told what became of a message.
    pub tickets: Arc<Tickets>,
    /// What waits for the archive.
    pub backlog: Arc<Backlog>,
    /// The pubsub topics that the node takes part in.
    pub topics: Arc<TopicTable>,
    /// What is counted.
    pub counters: Arc<ResumeCounters>,
}

/// A message on its way.
type OnTheWay = (Ticket, oneshot::Receiver<WakuRecord>);

/// The messages on the way.
#[derive(Default)]
pub(super) struct Run {
    messages: Vec<OnTheWay>,
    bytes: usize,
}

impl Feed {
    /// Puts a message, as it came and was decoded, into the run; and lets the archive take the run when it is full.
    pub(super) async fn put(
        &self,
        run: &mut Run,
        (data, spans, pubsub_topic): &(Bytes, MessageSpans, String),
    ) -> Result<(), ResumeError> {
        // Only what the node takes part in: a stranger's archive is no reason to remember the names of its topics.
        let Some(topic) = self.topics.find(pubsub_topic) else {
            self.counters.unknown_topic.add(1);
            return Ok(());
        };
        while self.backlog.is_pressed() || !self.source.has_room() {
            sleep(AGAIN_AFTER).await;
        }
        loop {
            match self.enter(topic, data, spans) {
                Ok(message) => {
                    run.messages.push(message);
                    run.bytes += data.len();
                    break;
                }
                Err(Refusal::TooLarge) => {
                    self.counters.refused.add(1);
                    return Ok(());
                }
                Err(Refusal::Full) => sleep(AGAIN_AFTER).await,
                Err(Refusal::Closed) => return Err(ResumeError::Stopping),
            }
        }
        if run.bytes >= RUN_BYTES_MAX { self.finish(run).await } else { Ok(()) }
    }

    fn enter(&self, topic: u32, data: &[u8], spans: &MessageSpans) -> Result<OnTheWay, Refusal> {
        let mut slot = self.source.arena().claim(data.len()).map_err(|error| match error {
            ClaimError::TooLarge { .. } => Refusal::TooLarge,
            _ => Refusal::Full,
        })?;
        let (ticket, answer) = self.tickets.draw();
        slot.payload_mut()[..data.len()].copy_from_slice(data);
        count_copy(spans.payload.len as usize);
        slot.set_len(data.len());
        let mut record = WakuRecord { topic, ticket: ticket.number, origin: Origin::Resume, ..WakuRecord::default() };
        record.fill(spans);
        *slot.record_mut() = record;
        self.source.push(slot.share()).map_err(|refused| match refused {
            PushError::Full(_) => Refusal::Full,
            PushError::Closed(_) => Refusal::Closed,
        })?;
        Ok((ticket, answer))
    }

    /// Waits until the archive has all of the run.
    pub(super) async fn finish(&self, run: &mut Run) -> Result<(), ResumeError> {
        run.bytes = 0;
        let mut failed = false;
        for (_ticket, answer) in run.messages.drain(..) {
            let answer = timeout(TAKEN_WITHIN, answer).await;
            let not_taken = ResumeError::NotTaken { seconds: TAKEN_WITHIN.as_secs() };
            let record = answer.map_err(|_| not_taken)?.map_err(|_| ResumeError::Stopping)?;
            failed |= record.unstored;
            let is_archived = record.verdict == Verdict::Accept && !record.ephemeral;
            let counter = if is_archived { &self.counters.archived } else { &self.counters.refused };
            counter.add(u64::from(!record.unstored));
        }
        if failed { Err(ResumeError::Unstored) } else { Ok(()) }
    }
}

/// Why a message is not on its way.
enum Refusal {
    TooLarge,
    Full,
    Closed,
}
