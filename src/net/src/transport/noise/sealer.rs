//! The sending half of the record layer: bytes are gathered where they will be sent from, and sealed on the way there or where they lie.

use super::aead::{Aead, Cipher, Nonces, TAG_BYTES};
use crate::transport::error::TransportError;
use crate::witness::{Step, note};

/// The most plaintext that fits one record, whose length with its tag must fit 16 bits.
pub(crate) const PLAIN_BYTES_MAX: usize = u16::MAX as usize - TAG_BYTES;
const PREFIX_BYTES: usize = 2;
/// Payload is refused once this much is waiting for the socket: two full records.
const DATA_BYTES_MAX: usize = 2 * (PREFIX_BYTES + u16::MAX as usize);
/// What is kept free for headers without payload, so that answers never wait for data.
const CONTROL_BYTES_MAX: usize = 16 * 1_024;
/// The buffer of a connection that sends little, and of one that has sent more. The bound above is checked before a length and a
/// tag are added.
const BUFFER_BYTES: [usize; 2] = [4 * 1_024, DATA_BYTES_MAX + CONTROL_BYTES_MAX + 2 * (PREFIX_BYTES + TAG_BYTES)];

/// Sealed records that wait for the socket, and behind them the record that is being gathered.
pub(crate) struct Sealer {
    cipher: Cipher,
    nonces: Nonces,
    /// Sealed records, then perhaps an open one: room for its length, and its text so far; then nothing of worth.
    out: Vec<u8>,
    /// Bytes of `out` that mean something.
    end: usize,
    /// Bytes of `out` that the socket has taken.
    sent: usize,
    /// Where the open record starts, if there is one.
    open_at: Option<usize>,
}

impl Sealer {
    pub(crate) fn new(cipher: Cipher) -> Self {
        Self { cipher, nonces: Nonces::default(), out: Vec::new(), end: 0, sent: 0, open_at: None }
    }

    /// How many bytes [`Sealer::put`] takes now into the open record without crowding out the answers.
    pub(crate) fn room(&self) -> usize {
        let record = match self.open_at {
            Some(at) => PLAIN_BYTES_MAX - (self.end - at - PREFIX_BYTES),
            None => PLAIN_BYTES_MAX,
        };
        let overhead = PREFIX_BYTES + TAG_BYTES;
        record.min(DATA_BYTES_MAX.saturating_sub(self.end + overhead))
    }

    /// Bytes that wait for the socket, sealed or not.
    pub(crate) fn gathered(&self) -> usize {
        self.end - self.sent
    }

    /// Appends `bytes` to the open record. At most [`Sealer::room`] for payload; headers may use what is kept free for them.
    ///
    /// # Errors
    ///
    /// [`TransportError::AnswersUnread`] when even that is used up.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> Result<(), TransportError> {
        if self.end + bytes.len() > DATA_BYTES_MAX + CONTROL_BYTES_MAX {
            return Err(TransportError::AnswersUnread);
        }
        if self.open_at.is_some_and(|at| self.end - at - PREFIX_BYTES + bytes.len() > PLAIN_BYTES_MAX) {
            self.seal()?;
        }
        self.grow_for(bytes.len());
        if self.open_at.is_none() {
            let nonce = self.nonces.next().ok_or(TransportError::NoncesSpent)?;
            self.cipher.begin(nonce).map_err(|_| TransportError::Seal)?;
            self.open_at = Some(self.end);
            self.end += PREFIX_BYTES;
        }
        let into = self.out.get_mut(self.end..self.end + bytes.len()).ok_or(TransportError::Seal)?;
        self.cipher.gather(bytes, into).map_err(|_| TransportError::Seal)?;
        self.end += bytes.len();
        Ok(())
    }

    fn grow_for(&mut self, bytes: usize) {
        let wanted = self.end + bytes + PREFIX_BYTES + TAG_BYTES;
        if wanted > self.out.len() {
            let [small, large] = BUFFER_BYTES;
            let bytes = if wanted <= small { small } else { large };
            self.out.reserve_exact(bytes - self.out.len());
            self.out.resize(bytes, 0);
        }
    }

    /// Seals the open record, so that the socket may have it.
    pub(crate) fn seal(&mut self) -> Result<(), TransportError> {
        let Some(at) = self.open_at.take() else { return Ok(()) };
        note(Step::Seal);
        let text = self.out.get_mut(at + PREFIX_BYTES..self.end).ok_or(TransportError::Seal)?;
        let sealed_bytes = u16::try_from(text.len() + TAG_BYTES).map_err(|_| TransportError::Seal)?;
        let tag = self.cipher.seal(text).map_err(|_| TransportError::Seal)?;
        self.out[at..at + PREFIX_BYTES].copy_from_slice(&sealed_bytes.to_be_bytes());
        self.out[self.end..self.end + TAG_BYTES].copy_from_slice(&tag);
        self.end += TAG_BYTES;
        Ok(())
    }

    /// Sealed bytes that the socket has not taken.
    pub(crate) fn pending(&self) -> &[u8] {
        let end = self.open_at.unwrap_or(self.end);
        self.out.get(self.sent..end).unwrap_or_default()
    }

    /// The socket has taken `bytes` of [`Sealer::pending`].
    pub(crate) fn sent(&mut self, bytes: usize) {
        self.sent += bytes;
        if self.sent >= self.end {
            // Everything is out: the buffer starts over, so that nothing is ever moved inside of it.
            (self.end, self.sent) = (0, 0);
        }
    }
}
