//! The sending half of the record layer: bytes are gathered where they will be sealed, and sealed where they will be sent from.

use levada_engine::copy;

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
    /// Sealed records, then perhaps an open one: room for its length, and its plaintext so far.
    out: Vec<u8>,
    /// Bytes of `out` that the socket has taken.
    sent: usize,
    /// Where the open record starts, if there is one.
    open_at: Option<usize>,
}

impl Sealer {
    pub(crate) fn new(cipher: Cipher) -> Self {
        Self { cipher, nonces: Nonces::default(), out: Vec::new(), sent: 0, open_at: None }
    }

    /// How many bytes [`Sealer::put`] takes now into the open record without crowding out the answers.
    pub(crate) fn room(&self) -> usize {
        let record = match self.open_at {
            Some(at) => PLAIN_BYTES_MAX - (self.out.len() - at - PREFIX_BYTES),
            None => PLAIN_BYTES_MAX,
        };
        let overhead = PREFIX_BYTES + TAG_BYTES;
        record.min(DATA_BYTES_MAX.saturating_sub(self.out.len() + overhead))
    }

    /// Bytes that wait for the socket, sealed or not.
    pub(crate) fn gathered(&self) -> usize {
        self.out.len() - self.sent
    }

    /// Appends `bytes` to the open record. At most [`Sealer::room`] for payload; headers may use what is kept free for them.
    ///
    /// # Errors
    ///
    /// [`TransportError::AnswersUnread`] when even that is used up.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> Result<(), TransportError> {
        if self.out.len() + bytes.len() > DATA_BYTES_MAX + CONTROL_BYTES_MAX {
            return Err(TransportError::AnswersUnread);
        }
        if self.open_at.is_some_and(|at| self.out.len() - at - PREFIX_BYTES + bytes.len() > PLAIN_BYTES_MAX) {
            self.seal()?;
        }
        self.grow_for(bytes.len());
        if self.open_at.is_none() {
            self.open_at = Some(self.out.len());
            self.out.extend_from_slice(&[0; PREFIX_BYTES]);
        }
        copy::append(bytes, &mut self.out);
        Ok(())
    }

    fn grow_for(&mut self, bytes: usize) {
        let wanted = self.out.len() + bytes + PREFIX_BYTES + TAG_BYTES;
        if wanted > self.out.capacity() {
            let [small, large] = BUFFER_BYTES;
            self.out.reserve_exact(if wanted <= small { small } else { large } - self.out.len());
        }
    }

    /// Seals the open record, so that the socket may have it.
    pub(crate) fn seal(&mut self) -> Result<(), TransportError> {
        let Some(at) = self.open_at.take() else { return Ok(()) };
        note(Step::Seal);
        let nonce = self.nonces.next().ok_or(TransportError::NoncesSpent)?;
        let plain = self.out.get_mut(at + PREFIX_BYTES..).ok_or(TransportError::Seal)?;
        let sealed_bytes = u16::try_from(plain.len() + TAG_BYTES).map_err(|_| TransportError::Seal)?;
        let tag = self.cipher.seal(nonce, plain).map_err(|_| TransportError::Seal)?;
        self.out[at..at + PREFIX_BYTES].copy_from_slice(&sealed_bytes.to_be_bytes());
        self.out.extend_from_slice(&tag);
        Ok(())
    }

    /// Sealed bytes that the socket has not taken.
    pub(crate) fn pending(&self) -> &[u8] {
        let end = self.open_at.unwrap_or(self.out.len());
        self.out.get(self.sent..end).unwrap_or_default()
    }

    /// The socket has taken `bytes` of [`Sealer::pending`].
    pub(crate) fn sent(&mut self, bytes: usize) {
        self.sent += bytes;
        if self.sent >= self.out.len() {
            // Everything is out: the buffer starts over, so that nothing is ever moved inside of it.
            self.out.clear();
            self.sent = 0;
        }
    }
}
