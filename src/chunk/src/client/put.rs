//! One chunk's way to its majority: the [`Fanout`] says whom to ask, this asks.

use std::sync::Arc;
use std::time::Duration;

use levada_engine::Held;
use levada_wire::autonomi::{Address, ChunkBody, PutResponse};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

use super::fault::{Fault, FaultKind};
use super::gate::Gate;
use super::peers::Peers;
use super::progress::Progress;
use crate::aimd::Sample;
use crate::outgoing::Outgoing;
use crate::signature::Signer;
use crate::stages::ChunkRecord;
use crate::stages::fanout::{Fanout, Step};

/// Pause before all candidates are asked again, at first; it doubles each time.
const AGAIN_AFTER: Duration = Duration::from_millis(250);

/// How chunks are put.
#[derive(Debug)]
pub struct PutOptions {
    /// How long a peer may take to answer before the next one is asked.
    pub answer_within: Duration,
    /// How often all candidates are asked before a chunk is given up.
    pub attempts: u32,
    /// What proves that storing was paid for.
    pub payment_proof: Option<Vec<u8>>,
    /// Whose signature goes with every chunk.
    pub signer: Option<Signer>,
}

impl Default for PutOptions {
    fn default() -> Self {
        Self { answer_within: Duration::from_secs(10), attempts: 3, payment_proof: None, signer: None }
    }
}

/// What putting a chunk needs.
#[derive(Debug)]
pub(super) struct Putter {
    pub peers: Arc<Peers>,
    pub options: Arc<PutOptions>,
    pub gate: Arc<Gate>,
    pub progress: Arc<Progress>,
}

impl Putter {
    /// Puts a chunk to its majority; gives how many peers have it when that is reached, or when it is given up.
    pub async fn put(self: Arc<Self>, chunk: Held<ChunkRecord>) -> Result<usize, usize> {
        let address = chunk.record().address;
        let request_id = self.peers.request_id();
        let message = match self.options.signer {
            None => self.encode(request_id, &address, chunk),
            // A signature is a pass of SHAKE-256 over the chunk: some 20 ms.
            Some(_) => {
                let putter = self.clone();
                let signed = tokio::task::spawn_blocking(move || putter.encode(request_id, &address, chunk));
                signed.await.map_err(|_| 0_usize)?
            }
        };
        let mut stored = Vec::new();
        for attempt in 0..self.options.attempts.max(1) {
            if attempt > 0 {
                sleep(AGAIN_AFTER * 2_u32.saturating_pow(attempt - 1)).await;
            }
            stored = self.fan_out(&address, request_id, &message, stored).await;
            if stored.len() >= self.peers.wanted() {
                return Ok(stored.len());
            }
        }
        Err(stored.len())
    }

    fn encode(&self, request_id: u64, address: &Address, chunk: Held<ChunkRecord>) -> Arc<Outgoing> {
        let (proof, signer) = (self.options.payment_proof.as_deref(), self.options.signer.as_ref());
        Arc::new(Outgoing::put(request_id, address, chunk.into_bytes(), proof, signer))
    }

    /// Asks every candidate once, until the majority has the chunk; gives who has it.
    async fn fan_out(
        &self,
        address: &Address,
        request_id: u64,
        message: &Arc<Outgoing>,
        stored: Vec<usize>,
    ) -> Vec<usize> {
        let started = Instant::now();
        let candidates = self.peers.candidates(address);
        let mut fanout = Fanout::new(candidates, self.peers.wanted(), self.options.answer_within, stored);
        // What is still under way when this returns is dropped: a request not yet sent is not sent any more.
        let mut asked = JoinSet::new();
        loop {
            match fanout.step(started.elapsed()) {
                Step::Ask(number) => {
                    let (peers, message, address) = (self.peers.clone(), message.clone(), *address);
                    asked.spawn(async move {
                        let since = Instant::now();
                        let answer = peers.ask(number, request_id, &message, |_, body| judge_put(body, &address)).await;
                        (number, answer.map(|_| since.elapsed()))
                    });
                }
                Step::TimedOut(number) => {
                    self.sample(Sample::Timeout);
                    self.peers.failed(number, &Fault::new(FaultKind::TimedOut, "no answer in time"));
                }
                Step::WaitUntil(until) => tokio::select! {
                    Some(Ok((number, outcome))) = asked.join_next() => {
                        let of_fault = |fault: &Fault| fault.kind.sample();
                        let sample = outcome.as_ref().map_or_else(of_fault, |latency| Some(Sample::Success(*latency)));
                        sample.into_iter().for_each(|sample| self.sample(sample));
                        // A node that is reached by two addresses has one copy.
                        let is_another = !fanout.stored().iter().any(|other| self.peers.are_one(*other, number));
                        fanout.answered(number, outcome.is_ok() && is_another);
                    }
                    () = sleep_until(started + until) => {}
                },
                Step::Stored | Step::Failed => return fanout.stored().to_vec(),
            }
        }
    }

    fn sample(&self, sample: Sample) {
        self.progress.set_limit(self.gate.record(sample));
    }
}

/// Whether the answer says that this very chunk is stored.
fn judge_put(body: &ChunkBody<'_>, expected: &Address) -> Result<(), Fault> {
    match body {
        ChunkBody::PutResponse(PutResponse::Success { address } | PutResponse::AlreadyExists { address }) => {
            let other = || Fault::new(FaultKind::WrongAddress, "it says it stored another chunk");
            if *address == expected { Ok(()) } else { Err(other()) }
        }
        ChunkBody::PutResponse(PutResponse::PaymentRequired { message }) => {
            Err(Fault::new(FaultKind::PaymentRequired, message))
        }
        ChunkBody::PutResponse(PutResponse::Error(error)) => Err(Fault::of_protocol(error)),
        _ => Err(Fault::new(FaultKind::UnexpectedAnswer, "it answered something else than a put")),
    }
}
