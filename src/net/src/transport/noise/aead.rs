//! ChaCha20-Poly1305 by whichever implementation the build has chosen.

/// Bytes of the authentication tag behind every sealed text.
pub(crate) const TAG_BYTES: usize = 16;
/// Bytes of a key.
pub(crate) const KEY_BYTES: usize = 32;

/// A tag that does not fit, or a cipher that failed; which of them nobody must learn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refused;

/// An authenticated cipher with its key set, for one direction of a connection. There is no associated data in libp2p's records.
pub(crate) trait Aead: Send + Sized {
    /// The cipher with `key`.
    fn new(key: &[u8; KEY_BYTES]) -> Result<Self, Refused>;

    /// Begins a text to be sealed.
    fn begin(&mut self, nonce: [u8; 12]) -> Result<(), Refused>;

    /// Takes the next bytes of the text to where they will be sent from, which is as long: encrypted on the way, if the cipher can do
    /// that, or as they are.
    fn gather(&mut self, plain: &[u8], into: &mut [u8]) -> Result<(), Refused>;

    /// Ends `text`, which is all that was gathered since the beginning: encrypts it where it lies, unless that has been done, and gives
    /// the tag.
    fn seal(&mut self, text: &mut [u8]) -> Result<[u8; TAG_BYTES], Refused>;

    /// Verifies `sealed`, whose last bytes are the tag, and decrypts it where it lies. Nothing of it may be used after an error.
    fn open(&mut self, nonce: [u8; 12], sealed: &mut [u8]) -> Result<(), Refused>;
}

#[cfg(not(feature = "openssl"))]
pub(crate) use self::by_ring::Ring as Cipher;

#[cfg(not(feature = "openssl"))]
mod by_ring {
    use levada_engine::copy;
    use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};

    use super::{Aead, KEY_BYTES, Refused, TAG_BYTES};

    /// The cipher of crate `ring`, which works in place.
    pub(crate) struct Ring {
        key: LessSafeKey,
        /// Of the text that has begun.
        nonce: Option<[u8; 12]>,
    }

    impl Aead for Ring {
        fn new(key: &[u8; KEY_BYTES]) -> Result<Self, Refused> {
            let key = UnboundKey::new(&CHACHA20_POLY1305, key).map_err(|_| Refused)?;
            Ok(Self { key: LessSafeKey::new(key), nonce: None })
        }

        fn begin(&mut self, nonce: [u8; 12]) -> Result<(), Refused> {
            self.nonce = Some(nonce);
            Ok(())
        }

        fn gather(&mut self, plain: &[u8], into: &mut [u8]) -> Result<(), Refused> {
            copy::copy(plain, into);
            Ok(())
        }

        fn seal(&mut self, text: &mut [u8]) -> Result<[u8; TAG_BYTES], Refused> {
            let nonce = Nonce::assume_unique_for_key(self.nonce.take().ok_or(Refused)?);
            let tag = self.key.seal_in_place_separate_tag(nonce, Aad::empty(), text).map_err(|_| Refused)?;
            tag.as_ref().try_into().map_err(|_| Refused)
        }

        fn open(&mut self, nonce: [u8; 12], sealed: &mut [u8]) -> Result<(), Refused> {
            let nonce = Nonce::assume_unique_for_key(nonce);
            self.key.open_in_place(nonce, Aad::empty(), sealed).map(drop).map_err(|_| Refused)
        }
    }
}

#[cfg(feature = "openssl")]
pub(crate) use self::by_openssl::OpenSsl as Cipher;

#[cfg(feature = "openssl")]
mod by_openssl {
    use openssl::cipher::Cipher;
    use openssl::cipher_ctx::CipherCtx;
    use openssl::error::ErrorStack;

    use super::{Aead, KEY_BYTES, Refused, TAG_BYTES};

    /// The cipher of the system's OpenSSL, with a context for each way it is used. It seals from one place into another.
    pub(crate) struct OpenSsl {
        sealing: CipherCtx,
        opening: CipherCtx,
    }

    impl Aead for OpenSsl {
        fn new(key: &[u8; KEY_BYTES]) -> Result<Self, Refused> {
            let set_up = || -> Result<Self, ErrorStack> {
                let (mut sealing, mut opening) = (CipherCtx::new()?, CipherCtx::new()?);
                sealing.encrypt_init(Some(Cipher::chacha20_poly1305()), Some(key), None)?;
                opening.decrypt_init(Some(Cipher::chacha20_poly1305()), Some(key), None)?;
                Ok(Self { sealing, opening })
            };
            set_up().map_err(|_| Refused)
        }

        fn begin(&mut self, nonce: [u8; 12]) -> Result<(), Refused> {
            self.sealing.encrypt_init(None, None, Some(&nonce)).map_err(|_| Refused)
        }

        fn gather(&mut self, plain: &[u8], into: &mut [u8]) -> Result<(), Refused> {
            if plain.is_empty() {
                return Ok(());
            }
            let written = self.sealing.cipher_update(plain, Some(into)).map_err(|_| Refused)?;
            if written == plain.len() { Ok(()) } else { Err(Refused) }
        }

        fn seal(&mut self, _text: &mut [u8]) -> Result<[u8; TAG_BYTES], Refused> {
            let mut tag = [0; TAG_BYTES];
            self.sealing.cipher_final(&mut []).map_err(|_| Refused)?;
            self.sealing.tag(&mut tag).map_err(|_| Refused)?;
            Ok(tag)
        }

        fn open(&mut self, nonce: [u8; 12], sealed: &mut [u8]) -> Result<(), Refused> {
            let (text, tag) = sealed.split_last_chunk_mut::<TAG_BYTES>().ok_or(Refused)?;
            let mut work = || -> Result<(), ErrorStack> {
                self.opening.decrypt_init(None, None, Some(&nonce))?;
                self.opening.set_tag(tag)?;
                self.opening.cipher_update_inplace(text, text.len())?;
                self.opening.cipher_final(&mut []).map(drop)
            };
            work().map_err(|_| Refused)
        }
    }
}

/// The nonces of one direction, in order and each once.
#[derive(Debug, Default)]
pub(crate) struct Nonces(u64);

impl Nonces {
    /// The next nonce: 32 zero bits, then the counter, little-endian. `None` when 2^64 - 1, which Noise keeps for itself, is reached.
    pub(crate) fn next(&mut self) -> Option<[u8; 12]> {
        let after = self.0.checked_add(1)?;
        let mut nonce = [0; 12];
        nonce[4..].copy_from_slice(&self.0.to_le_bytes());
        self.0 = after;
        Some(nonce)
    }

    /// As if so many nonces had been used.
    #[cfg(test)]
    pub(super) fn at(used: u64) -> Self {
        Self(used)
    }
}
