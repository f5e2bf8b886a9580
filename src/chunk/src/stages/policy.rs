//! `policy`: whether a chunk is stored, by its payment proof. The verifier is pluggable and may block: give the stage a
//! worker of its own then.
//!
//! A chunk that is here already needs no payment. To say so, its file is read and hashed again, as a node of the network
//! does: one that is damaged is written anew.

use std::collections::HashSet;
use std::fmt::Debug;
use std::sync::Arc;

use levada_engine::{Batch, Outputs, Stage};
use levada_wire::autonomi::{PutRequest, check_proof};

use super::files::ChunkFiles;
use super::record::{ChunkRecord, Outcome, Refusal};
use super::shield::shielded;

/// What a verifier says about a payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Store the chunk.
    Accept,
    /// No proof came with it: what is wanted, in a few words.
    Required(&'static str),
    /// The proof is not accepted: why, in a few words.
    Refuse(&'static str),
}

/// Decides on payment proofs.
pub trait PaymentVerifier: Send + Debug {
    /// The verdict on `request`, whose content has the address it says. The proof can hold any bytes. If this panics, the request
    /// is refused and the next one asked about all the same.
    fn verify(&mut self, request: &PutRequest<'_>) -> Verdict;
}

/// Stores everything, with or without a proof: for tests and networks among friends.
#[derive(Clone, Copy, Debug, Default)]
pub struct AcceptAll;

impl PaymentVerifier for AcceptAll {
    fn verify(&mut self, _: &PutRequest<'_>) -> Verdict {
        Verdict::Accept
    }
}

/// Stores what comes with one of the proofs on a list.
#[derive(Clone, Debug, Default)]
pub struct AllowList {
    digests: HashSet<[u8; 32]>,
}

impl AllowList {
    /// The list of those proofs whose BLAKE3 digests these are.
    pub fn new(digests: impl IntoIterator<Item = [u8; 32]>) -> Self {
        Self { digests: digests.into_iter().collect() }
    }

    /// Reads digests of 64 hexadecimal digits, one a line; blank lines and lines with `#` in front are passed over.
    ///
    /// # Errors
    /// The number of the first line, from 1, that holds something else.
    pub fn parse(text: &str) -> Result<Self, usize> {
        let mut digests = HashSet::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let mut digest = [0; 32];
            hex::decode_to_slice(line, &mut digest).map_err(|_| number + 1)?;
            digests.insert(digest);
        }
        Ok(Self { digests })
    }
}

impl PaymentVerifier for AllowList {
    fn verify(&mut self, request: &PutRequest<'_>) -> Verdict {
        let Some(proof) = request.payment_proof else {
            return Verdict::Required("this node stores what comes with a proof on its list");
        };
        if check_proof(proof).is_err() {
            return Verdict::Refuse("the proof is shorter than 32 bytes or longer than 512 KiB");
        }
        let is_listed = self.digests.contains(blake3::hash(proof).as_bytes());
        if is_listed { Verdict::Accept } else { Verdict::Refuse("the proof is not on this node's list") }
    }
}

/// Asks the verifier about chunks that are not here yet.
#[derive(Debug)]
pub struct Policy {
    files: Arc<ChunkFiles>,
    verifier: Box<dyn PaymentVerifier>,
}

impl Policy {
    /// The stage before the archive of `files`.
    pub fn new(files: Arc<ChunkFiles>, verifier: Box<dyn PaymentVerifier>) -> Self {
        Self { files, verifier }
    }

    fn outcome(&mut self, payload: &[u8], record: &ChunkRecord) -> Outcome {
        if self.files.holds(&record.address) {
            return Outcome::AlreadyExists;
        }
        let (content, payment_proof) = (record.content.of(payload), record.proof.map(|proof| proof.of(payload)));
        match self.verifier.verify(&PutRequest { address: &record.address, content, payment_proof }) {
            Verdict::Accept => Outcome::Pending,
            Verdict::Required(what) => Outcome::PutRefused(Refusal::PaymentRequired(what)),
            Verdict::Refuse(why) => Outcome::PutRefused(Refusal::PaymentFailed(why)),
        }
    }
}

const NEXT: usize = 0;
const ANSWERED: usize = 1;

impl Stage<ChunkRecord> for Policy {
    fn ports(&self) -> &'static [&'static str] {
        &["next", "answered"]
    }

    fn process(&mut self, batch: &mut Batch<'_, ChunkRecord>, outputs: &mut Outputs<'_, ChunkRecord>) {
        for mut envelope in batch {
            let outcome =
                shielded(|| self.outcome(envelope.payload(), envelope.record())).unwrap_or_else(|broken| broken);
            super::record_of(&mut envelope).outcome = outcome;
            outputs.send(if outcome == Outcome::Pending { NEXT } else { ANSWERED }, envelope);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(payment_proof: Option<&[u8]>) -> PutRequest<'_> {
        PutRequest { address: &[0; 32], content: &[], payment_proof }
    }

    #[test]
    fn the_list_takes_its_proofs_and_no_others() {
        let proof = [7; 40];
        let text = format!("# payers\n\n  {}\n", blake3::hash(&proof).to_hex());
        let mut list = AllowList::parse(&text).unwrap();
        assert_eq!(list.verify(&request(Some(&proof))), Verdict::Accept);
        assert!(matches!(list.verify(&request(Some(&[8; 40]))), Verdict::Refuse(_)));
        assert!(matches!(list.verify(&request(Some(&[7; 31]))), Verdict::Refuse(_)));
        assert!(matches!(list.verify(&request(None)), Verdict::Required(_)));
        assert_eq!(AllowList::parse("# a\nabc").unwrap_err(), 2);
    }
}
