//! Publishing at this node: a message is encoded into a slot, goes the same path as a received one, and its publisher
//! is told when it is through, which for a stored message means: on the disk. A message that the archive failed on was
//! still published, so its publisher is told so; the failure is in the log and in `waku_archive_errors`.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use levada_engine::{ClaimError, PushError, count_copy};
use levada_stages::answer::Answers;
use levada_stages::unix_ns;
use levada_wire::waku::message::{Message, MessageSpans};
use levada_wire::waku::{Origin, RejectReason, Verdict, WakuRecord};
use tokio::sync::oneshot;

use crate::node::ingress::Ingress;
use crate::rest::{PublishError, PublishMessage, Published};

/// How long the publisher of an encoded message waits; nwaku gives up after as long.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(5);

/// Those who wait for a message to go through the path, by ticket.
#[derive(Debug, Default)]
pub struct Tickets {
    waiting: Mutex<HashMap<u64, oneshot::Sender<WakuRecord>>>,
    next: AtomicU64,
}

impl Tickets {
    fn waiting(&self) -> MutexGuard<'_, HashMap<u64, oneshot::Sender<WakuRecord>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new ticket, never 0, which is given back when dropped.
    pub fn draw(self: &Arc<Self>) -> (Ticket, oneshot::Receiver<WakuRecord>) {
        let number = self.next.fetch_add(1, Relaxed) + 1;
        let (sender, receiver) = oneshot::channel();
        self.waiting().insert(number, sender);
        (Ticket { number, tickets: self.clone() }, receiver)
    }
}

impl Answers for Tickets {
    fn answer(&self, record: &WakuRecord) {
        let sender = self.waiting().remove(&record.ticket);
        if let Some(sender) = sender {
            // Whoever waited may have gone away.
            let _ = sender.send(*record);
        }
    }
}

/// Takes its number out of the table when the publisher goes away before the answer comes.
#[derive(Debug)]
pub struct Ticket {
    /// What the record of the message carries.
    pub number: u64,
    tickets: Arc<Tickets>,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.tickets.waiting().remove(&self.number);
    }
}

/// How large a message may be.
#[derive(Debug, Clone, Copy)]
pub struct SizeLimits {
    /// `--max-msg-size`, in bytes.
    pub message_bytes_max: usize,
    /// What of it the frame around a message leaves on the topic.
    pub on_topic_bytes_max: usize,
}

impl SizeLimits {
    /// Above the configured size the answer is nwaku's; between the two, peers would not read the message's frame.
    fn check(self, bytes: usize) -> Result<(), PublishError> {
        let (limit_bytes, bytes_max) = (self.message_bytes_max, self.on_topic_bytes_max);
        if bytes > limit_bytes {
            return Err(PublishError::TooLarge { limit_bytes });
        }
        if bytes > bytes_max {
            return Err(PublishError::Invalid(levada_net::PublishError::TooLarge { bytes, bytes_max }.to_string()));
        }
        Ok(())
    }
}

/// Publishes on topic number `topic` and waits for the outcome, however long that takes: REST has a bound of its own for the whole request,
/// and one timer for each is enough.
pub async fn publish(
    ingress: &Ingress,
    tickets: &Arc<Tickets>,
    topic: u32,
    message: PublishMessage,
    limits: SizeLimits,
) -> Result<Published, PublishError> {
    let (ticket, answer) = tickets.draw();
    let entry = Entry { ingress, ticket: ticket.number, topic, limits };
    entry.encode(&message.to_message())?;
    drop(message);
    let record = answer.await.map_err(|_| PublishError::ShuttingDown)?;
    accepted(&record, limits)?;
    Ok(Published { message_hash: record.hash })
}

/// What became of a message that was encoded by its author.
#[derive(Debug, Clone, Copy)]
pub struct Pushed {
    /// It had been published here or relayed before, and went nowhere now.
    pub repeated: bool,
}

/// As [`publish`], for a message that comes encoded and was decoded by its `spans`: it goes on as it is. Only one without a time is written
/// anew, with the present. The outcome is waited for at most [`ANSWER_TIME_MAX`].
pub async fn publish_encoded(
    ingress: &Ingress,
    tickets: &Arc<Tickets>,
    topic: u32,
    data: &[u8],
    spans: &MessageSpans,
    limits: SizeLimits,
) -> Result<Pushed, PublishError> {
    let (ticket, answer) = tickets.draw();
    let entry = Entry { ingress, ticket: ticket.number, topic, limits };
    if spans.timestamp == 0 {
        entry.encode(&Message { timestamp: unix_ns(), ..spans.view(data) })?;
    } else {
        entry.copy(data, spans)?;
    }
    let answered = tokio::time::timeout(ANSWER_TIME_MAX, answer).await.map_err(|_| PublishError::Timeout)?;
    let record = answered.map_err(|_| PublishError::ShuttingDown)?;
    accepted(&record, limits)?;
    Ok(Pushed { repeated: record.repeated })
}

/// What the path says of a message.
fn accepted(record: &WakuRecord, limits: SizeLimits) -> Result<(), PublishError> {
    match record.verdict {
        Verdict::Accept => Ok(()),
        Verdict::Pending | Verdict::Ignore | Verdict::Reject => {
            Err(refusal(record.reject_reason, limits.message_bytes_max))
        }
    }
}

/// Puts a message into a slot and hands it to the path.
struct Entry<'a> {
    ingress: &'a Ingress,
    ticket: u64,
    topic: u32,
    limits: SizeLimits,
}

impl Entry<'_> {
    fn encode(&self, message: &Message<'_>) -> Result<(), PublishError> {
        self.enter(message.encoded_len(), message.payload.len(), |out, _| {
            message.encode_into(out).map_err(|error| PublishError::Invalid(error.to_string()))
        })
    }

    fn copy(&self, data: &[u8], spans: &MessageSpans) -> Result<(), PublishError> {
        self.enter(data.len(), spans.payload.len as usize, |out, record| {
            let out = out.get_mut(..data.len()).ok_or(PublishError::ArenaFull)?;
            out.copy_from_slice(data);
            record.fill(spans);
            Ok(data.len())
        })
    }

    fn enter(
        &self,
        bytes: usize,
        payload_bytes: usize,
        write: impl FnOnce(&mut [u8], &mut WakuRecord) -> Result<usize, PublishError>,
    ) -> Result<(), PublishError> {
        if self.ingress.is_closed() {
            return Err(PublishError::ShuttingDown);
        }
        self.limits.check(bytes)?;
        let lane = self.ingress.lane(self.ticket as usize);
        let mut slot = lane.arena().claim(bytes).map_err(|error| match error {
            ClaimError::TooLarge { .. } => PublishError::TooLarge { limit_bytes: self.limits.message_bytes_max },
            _ => PublishError::ArenaFull,
        })?;
        let mut record =
            WakuRecord { topic: self.topic, ticket: self.ticket, origin: Origin::Publish, ..WakuRecord::default() };
        let written = write(slot.payload_mut(), &mut record)?;
        count_copy(payload_bytes);
        slot.set_len(written);
        *slot.record_mut() = record;
        lane.push(slot.share()).map_err(|error| match error {
            PushError::Full(_) => PublishError::Busy,
            PushError::Closed(_) => PublishError::ShuttingDown,
        })
    }
}

fn refusal(reason: RejectReason, message_bytes_max: usize) -> PublishError {
    match reason {
        RejectReason::TooLarge => PublishError::TooLarge { limit_bytes: message_bytes_max },
        reason => PublishError::Invalid(format!("the message was refused: {}", reason.label())),
    }
}
