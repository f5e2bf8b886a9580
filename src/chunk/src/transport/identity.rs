//! Who a node is: a key and a certificate that it signs itself, kept in its folder. Its id is BLAKE3 of the certificate.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A node's place in the address space of chunks: 32 bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerId(pub [u8; 32]);

impl PeerId {
    /// The id that belongs to a certificate.
    pub fn of_certificate(certificate: &[u8]) -> Self {
        Self(*blake3::hash(certificate).as_bytes())
    }

    /// How far the id is from an address; the nearest peers store a chunk.
    pub fn distance(&self, address: &[u8; 32]) -> [u8; 32] {
        std::array::from_fn(|byte| self.0[byte] ^ address[byte])
    }
}

impl fmt::Display for PeerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for PeerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PeerId({self})")
    }
}

/// A node's key and certificate.
pub struct Identity {
    /// X.509, DER.
    pub certificate: Vec<u8>,
    /// PKCS#8, DER.
    pub key: Vec<u8>,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({})", self.id())
    }
}

/// An identity that cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IdentityError {
    /// Its file.
    #[error("cannot use {}: {source}; make the folder writable, or remove the file to get a new identity", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A key could not be made.
    #[error("cannot make a key: {0}")]
    Key(#[from] rcgen::Error),
}

impl Identity {
    /// A new one.
    ///
    /// # Errors
    /// [`IdentityError::Key`].
    pub fn generate() -> Result<Self, IdentityError> {
        let made = rcgen::generate_simple_self_signed(vec![super::quic::SERVER_NAME.to_owned()])?;
        Ok(Self { certificate: made.cert.der().to_vec(), key: made.key_pair.serialize_der() })
    }

    /// That of a folder, which gets a new one if it has none.
    ///
    /// # Errors
    /// [`IdentityError`] names the file.
    pub fn of_folder(folder: &Path) -> Result<Self, IdentityError> {
        let path = folder.join("identity");
        let failed = |source| IdentityError::File { path: path.clone(), source };
        match fs::read(&path) {
            Ok(bytes) => Self::from_bytes(&bytes).ok_or_else(|| failed(io::ErrorKind::InvalidData.into())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let made = Self::generate()?;
                write_secret(&path, &made.to_bytes()).map_err(failed)?;
                Ok(made)
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// The node's id.
    pub fn id(&self) -> PeerId {
        PeerId::of_certificate(&self.certificate)
    }

    /// The certificate's length as a big-endian `u32`, the certificate, the key.
    fn to_bytes(&self) -> Vec<u8> {
        let length = u32::try_from(self.certificate.len()).unwrap_or(u32::MAX).to_be_bytes();
        [&length[..], &self.certificate, &self.key].concat()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (length, rest) = bytes.split_first_chunk()?;
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        let (certificate, key) = rest.split_at_checked(length)?;
        (!key.is_empty()).then(|| Self { certificate: certificate.to_vec(), key: key.to_vec() })
    }
}

/// Writes a file that only this user can read, whole or not at all.
pub(crate) fn write_secret(path: &Path, bytes: &[u8]) -> io::Result<()> {
    use std::io::Write;

    let temporary = path.with_extension("new");
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&temporary, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_keeps_its_identity_and_a_broken_one_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let first = Identity::of_folder(folder.path()).unwrap();
        let again = Identity::of_folder(folder.path()).unwrap();
        assert_eq!((first.id(), &first.key), (again.id(), &again.key));
        assert_ne!(first.id(), Identity::generate().unwrap().id());
        fs::write(folder.path().join("identity"), [0, 0, 0, 9, 1]).unwrap();
        let error = Identity::of_folder(folder.path()).unwrap_err().to_string();
        assert!(error.contains("identity") && error.contains("remove the file"), "{error}");
    }
}
