//! The signed outer frame: one ML-DSA-65 signature per message, over its parts where they lie, shared by all recipients.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use levada_engine::Counter;
use levada_wire::autonomi::{ChunkDecodeError, OuterFrame, decode_frame, frame_head, frame_sender, frame_signature};
use ml_dsa::signature::{Keypair, MultipartSigner, MultipartVerifier};
use ml_dsa::{EncodedVerifyingKey, MlDsa65, Signature, SigningKey, VerifyingKey};
use ring::rand::{SecureRandom, SystemRandom};

use crate::transport::write_secret;

/// Signatures made by this process.
pub static SIGNATURES: Counter = Counter::new();

/// Bytes of the seed that a key is made from.
pub const SEED_BYTES: usize = 32;

/// What this program calls itself in a frame.
const USER_AGENT: &str = concat!("client/levada-", env!("CARGO_PKG_VERSION"));

/// A key, with what stands in every frame that it signs.
pub struct Signer {
    key: SigningKey<MlDsa65>,
    public_key: Vec<u8>,
    from: String,
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signer").field("from", &self.from).finish_non_exhaustive()
    }
}

impl Signer {
    /// The key of a seed, which is to be kept secret.
    pub fn from_seed(seed: &[u8; SEED_BYTES]) -> Self {
        let key = SigningKey::<MlDsa65>::from_seed(&(*seed).into());
        let public_key = key.verifying_key().encode().to_vec();
        let from = sender_of(&public_key);
        Self { key, public_key, from }
    }

    /// The key whose seed `path` holds in hexadecimal digits. A file that does not exist is made, with a new seed.
    ///
    /// # Errors
    /// [`KeyError`] names the file.
    pub fn of_file(path: &Path) -> Result<Self, KeyError> {
        let failed = |source| KeyError { path: path.to_owned(), source };
        let mut seed = [0; SEED_BYTES];
        match fs::read(path) {
            Ok(text) => hex::decode_to_slice(text.trim_ascii(), &mut seed).map_err(|_| {
                failed(io::Error::new(io::ErrorKind::InvalidData, "it does not hold 64 hexadecimal digits"))
            })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                SystemRandom::new()
                    .fill(&mut seed)
                    .map_err(|_| failed(io::Error::other("the system gives no random bytes")))?;
                write_secret(path, format!("{}\n", hex::encode(seed)).as_bytes()).map_err(failed)?;
            }
            Err(error) => return Err(failed(error)),
        }
        Ok(Self::from_seed(&seed))
    }

    /// Who signs: 64 hexadecimal digits, BLAKE3 of the public key.
    pub fn sender(&self) -> &str {
        &self.from
    }

    /// Puts a message of these `parts` into a frame: what stands in front of them, and what stands behind.
    pub fn frame(&self, parts: &[&[u8]]) -> (Vec<u8>, Vec<u8>) {
        let (mut head, mut tail) = (Vec::new(), Vec::new());
        frame_head(parts.iter().map(|part| part.len()).sum(), &mut head);
        let timestamp = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        frame_sender(&self.from, timestamp, USER_AGENT, &mut tail);
        let signed: Vec<&[u8]> = [&head[..]].into_iter().chain(parts.iter().copied()).chain([&tail[..]]).collect();
        SIGNATURES.add(1);
        let signature: Signature<MlDsa65> = self.key.multipart_sign(&signed);
        frame_signature(&self.public_key, &signature.encode(), &mut tail);
        (head, tail)
    }
}

/// A key that cannot be had.
#[derive(Debug, thiserror::Error)]
#[error("cannot use the key file {}: {source}", path.display())]
pub struct KeyError {
    /// The file.
    pub path: PathBuf,
    /// The reason.
    pub source: io::Error,
}

/// Why a frame is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// It does not decode.
    #[error("{0}")]
    Malformed(#[from] ChunkDecodeError),
    /// The key is no ML-DSA-65 key.
    #[error("the frame's public key is no ML-DSA-65 key")]
    Key,
    /// The key is not that of the sender it names.
    #[error("the frame's sender is not who its public key belongs to")]
    Sender,
    /// The signature is not that of the key over the frame.
    #[error("the frame's signature is wrong")]
    Signature,
}

impl FrameError {
    /// The error in the words of an answer.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "the outer frame does not decode",
            Self::Key => "the outer frame's public key is no ML-DSA-65 key",
            Self::Sender => "the outer frame's sender is not who its public key belongs to",
            Self::Signature => "the outer frame's signature is wrong",
        }
    }
}

/// Decodes a frame where it lies. The chunk message in it is to be believed only after [`verify`].
///
/// # Errors
/// [`FrameError::Malformed`].
pub fn open(bytes: &[u8]) -> Result<OuterFrame<'_>, FrameError> {
    Ok(decode_frame(bytes)?)
}

/// Verifies that who the frame names has signed it: one SHAKE-256 pass over the frame, no copy.
///
/// # Errors
/// [`FrameError`] says what is wrong.
pub fn verify(frame: &OuterFrame<'_>) -> Result<(), FrameError> {
    let encoded = EncodedVerifyingKey::<MlDsa65>::try_from(frame.public_key).map_err(|_| FrameError::Key)?;
    if sender_of(frame.public_key) != frame.from {
        return Err(FrameError::Sender);
    }
    let signature = Signature::<MlDsa65>::try_from(frame.signature).map_err(|_| FrameError::Signature)?;
    let verified = VerifyingKey::<MlDsa65>::decode(&encoded).multipart_verify(&[frame.signed], &signature);
    verified.map_err(|_| FrameError::Signature)
}

fn sender_of(public_key: &[u8]) -> String {
    blake3::hash(public_key).to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(parts: &[&[u8]]) -> Vec<u8> {
        let (head, tail) = Signer::from_seed(&[5; SEED_BYTES]).frame(parts);
        [&head[..], &parts.concat(), &tail].concat()
    }

    #[test]
    fn a_key_file_is_made_once_and_a_wrong_one_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let made = Signer::of_file(&path).unwrap();
        assert_eq!(Signer::of_file(&path).unwrap().sender(), made.sender());
        fs::write(&path, "no key").unwrap();
        let error = Signer::of_file(&path).unwrap_err().to_string();
        assert!(error.contains("key file") && error.contains("64 hexadecimal"), "{error}");
    }

    #[test]
    fn a_frame_in_parts_is_verified_in_one_piece() {
        let frame = framed(&[b"head", &[7; 1_000], b"", b"trailer"]);
        let opened = open(&frame).unwrap();
        assert_eq!(opened.data, [&b"head"[..], &[7; 1_000], b"trailer"].concat());
        assert_eq!(verify(&opened), Ok(()));
        assert_eq!((opened.public_key.len(), opened.signature.len(), opened.from.len()), (1_952, 3_309, 64));
    }

    #[test]
    fn every_field_is_protected() {
        let frame = framed(&[b"the message"]);
        let at = |part: &[u8]| frame.windows(part.len()).position(|window| window == part).unwrap();
        let opened = open(&frame).unwrap();
        let fields = [
            (at(b"the message"), FrameError::Signature),
            (at(opened.from.as_bytes()), FrameError::Sender),
            (at(b"client/"), FrameError::Signature),
            (at(opened.public_key), FrameError::Sender),
            (at(opened.signature), FrameError::Signature),
            (frame.len() - 1, FrameError::Signature),
        ];
        for (offset, error) in fields {
            let mut changed = frame.clone();
            changed[offset] ^= 1;
            assert_eq!(verify(&open(&changed).unwrap()), Err(error), "byte {offset}");
        }
        let short = OuterFrame { public_key: &opened.public_key[1..], ..opened };
        assert_eq!(verify(&short), Err(FrameError::Key));
        let cut = OuterFrame { signature: &opened.signature[1..], ..opened };
        assert_eq!(verify(&cut), Err(FrameError::Signature));
    }
}
