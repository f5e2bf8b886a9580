//! The publisher: messages of the workload, at most a window of them in flight.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use levada_benches::workload;
use levada_engine::{Arena, ClaimError, HeldUnique};
use levada_net::NetHandle;
use levada_stages::unix_ns;
use levada_wire::hash::{Job, Scratch, hash_many};
use levada_wire::waku::WakuRecord;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;

use super::WINDOW_MAX;
use super::handler::{FEEDBACK_BYTES, NUMBER_BYTES};
use super::orders::{Setup, Workload};

/// For how long nothing may be handled before the run is given up.
const STALL_MAX: Duration = Duration::from_secs(30);

/// Pause before the next try when the arena is full.
const CLAIM_AGAIN_AFTER: Duration = Duration::from_millis(1);

/// Feedbacks read at once.
const FEEDBACKS: usize = 64;

/// Publishes and counts what was handled.
pub struct Publisher {
    net: NetHandle,
    arena: Arc<Arena<WakuRecord>>,
    templates: Templates,
    feedback: pipe::Receiver,
    window: u64,
    /// Messages that are not published yet, and their lengths: at most a window of them.
    made: Vec<(HeldUnique<WakuRecord>, usize)>,
    scratch: Scratch,
    published: u64,
    /// Messages handled by each receiver.
    handled: Vec<u64>,
}

impl Publisher {
    /// Nothing is published yet.
    pub fn new(setup: &Setup, net: NetHandle, arena: Arc<Arena<WakuRecord>>, feedback: pipe::Receiver) -> Self {
        let templates = Templates::new(setup.work.seed);
        let (window, handled) = (setup.window as u64, vec![0; setup.receivers]);
        let (made, scratch) = (Vec::with_capacity(WINDOW_MAX), Scratch::new());
        Self { net, arena, templates, feedback, window, made, scratch, published: 0, handled }
    }

    /// Publishes the warm-up or the messages measured; gives the time until every receiver has handled the last, in nanoseconds.
    pub async fn publish(&mut self, work: &Workload, warm_up: bool) -> io::Result<u64> {
        let (sizes, first) = if warm_up { (work.warm_up(), work.messages) } else { (work.measured(), 0) };
        let started = Instant::now();
        let mut published = 0;
        while published < sizes.len() {
            while self.in_flight() >= self.window {
                self.hear().await?;
            }
            let room = (self.window - self.in_flight()) as usize;
            let count = room.min(sizes.len() - published);
            for (number, payload_bytes) in (first + published..).zip(&sizes[published..published + count]) {
                self.make(number as u64, *payload_bytes).await?;
            }
            self.publish_made().await?;
            published += count;
        }
        while self.in_flight() > 0 {
            self.hear().await?;
        }
        Ok(u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// What the slowest receiver has yet to handle.
    fn in_flight(&self) -> u64 {
        self.published - self.handled.iter().copied().min().unwrap_or_default()
    }

    /// Makes a message in its slot.
    async fn make(&mut self, number: u64, payload_bytes: usize) -> io::Result<()> {
        let template = self.templates.numbered(number, payload_bytes);
        let since = Instant::now();
        let mut slot = loop {
            match self.arena.claim(template.len()) {
                Ok(slot) => break slot,
                Err(ClaimError::Full { .. }) if since.elapsed() < STALL_MAX => {
                    tokio::time::sleep(CLAIM_AGAIN_AFTER).await;
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        };
        // What makes the message is no part of its way, and the same for every router: not counted as a copy.
        slot.payload_mut()[..template.len()].copy_from_slice(template);
        slot.set_len(template.len());
        workload::restamp(&mut slot.payload_mut()[..template.len()], unix_ns());
        self.made.push((slot.hold(), template.len()));
        Ok(())
    }

    /// Publishes what was made. The ids are computed side by side, as a node's path computes those of publications that wait.
    async fn publish_made(&mut self) -> io::Result<()> {
        let count = self.made.len();
        let (mut jobs, mut ids) = ([Job::message_id(&[]); WINDOW_MAX], [[0; 32]; WINDOW_MAX]);
        for (job, (slot, bytes)) in jobs.iter_mut().zip(&mut self.made) {
            *job = Job::message_id(&slot.payload_mut()[..*bytes]);
        }
        hash_many(&jobs[..count], &mut ids[..count], &mut self.scratch);
        for ((slot, _), id) in self.made.drain(..).zip(ids) {
            let data = slot.share().into_bytes();
            self.net.queue_publish(workload::PUBSUB_TOPIC, data, Some(id)).await.map_err(io::Error::other)?;
            self.published += 1;
            // The network shares the thread, and sends this one before the next: it does not wait for a queue to fill.
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    /// Waits for a feedback and takes all there are.
    async fn hear(&mut self) -> io::Result<()> {
        let mut said = [0; FEEDBACKS * FEEDBACK_BYTES];
        // Each feedback is written and read whole: it is smaller than what a pipe takes at once, and divides the buffer.
        let Ok(read) = tokio::time::timeout(STALL_MAX, self.feedback.read(&mut said)).await else {
            let (published, handled) = (self.published, &self.handled);
            return Err(io::Error::other(format!(
                "nothing was handled for {} s; published {published} messages, handled {handled:?}",
                STALL_MAX.as_secs()
            )));
        };
        let bytes = read?;
        if bytes == 0 {
            return Err(io::Error::other("all receivers have ended"));
        }
        for feedback in said[..bytes].as_chunks::<FEEDBACK_BYTES>().0 {
            let [r0, r1, r2, r3, h0, h1, h2, h3] = *feedback;
            let (receiver, handled) = (u32::from_le_bytes([r0, r1, r2, r3]), u32::from_le_bytes([h0, h1, h2, h3]));
            if let Some(sum) = self.handled.get_mut(receiver as usize) {
                *sum += u64::from(handled);
            }
        }
        Ok(())
    }
}

/// An encoded message of each size.
pub struct Templates(Vec<Template>);

struct Template {
    payload_bytes: usize,
    /// Where the payload begins.
    payload_at: usize,
    encoded: Vec<u8>,
}

impl Templates {
    /// Payloads are random bytes of the seed.
    pub fn new(seed: u64) -> Self {
        let template = |(payload_bytes, _)| {
            let mut payload = vec![0; payload_bytes];
            workload::fill_payload(seed, u64::MAX, &mut payload);
            let message = workload::message(&payload, unix_ns());
            let mut encoded = vec![0; message.encoded_len()];
            message.encode_into(&mut encoded).expect("the buffer has the encoded length");
            let found = encoded.windows(NUMBER_BYTES).position(|bytes| bytes == &payload[..NUMBER_BYTES]);
            Template { payload_bytes, payload_at: found.expect("the payload stands as it is"), encoded }
        };
        Self(workload::PROFILE.into_iter().map(template).collect())
    }

    /// The encoded message with this number and payload size, which is one of the profile's. Its timestamp is old.
    pub fn numbered(&mut self, number: u64, payload_bytes: usize) -> &[u8] {
        let template = self.0.iter_mut().find(|template| template.payload_bytes == payload_bytes);
        let Template { payload_at, encoded, .. } = template.expect("the size is one of the profile's");
        encoded[*payload_at..*payload_at + NUMBER_BYTES].copy_from_slice(&number.to_be_bytes());
        encoded
    }
}
