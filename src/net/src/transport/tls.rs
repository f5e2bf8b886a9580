//! Key and certificate of the secured WebSocket listener.

use std::path::PathBuf;

use libp2p::websocket::tls;
use rustls_pki_types::pem::{self, PemObject};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

/// The files of a secured WebSocket listener, both in PEM form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The key (`--websocket-secure-key-path`).
    pub key: PathBuf,
    /// The certificate and those that vouch for it (`--websocket-secure-cert-path`).
    pub certificate: PathBuf,
}

/// Why these files secure nothing. None shows any part of the key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file cannot be read, or has nothing of the kind in it.
    #[error("{path} holds no {wanted} in PEM form: {source}; give another file with {flag}")]
    File {
        /// Which file.
        path: String,
        /// What should be in it.
        wanted: &'static str,
        /// The flag that names it.
        flag: &'static str,
        /// What the reader said.
        source: pem::Error,
    },
    /// What the file calls a private key is none.
    #[error("what {path} holds as a private key is none; give another file with --websocket-secure-key-path")]
    Key {
        /// Which file.
        path: String,
    },
    /// Key and certificate do not belong together, or the key is of a kind that is not supported.
    #[error(
        "the TLS key and certificate cannot be used: {0}; see --websocket-secure-key-path and \
         --websocket-secure-cert-path"
    )]
    Refused(tls::Error),
}

impl TlsFiles {
    /// Reads both files.
    pub(super) fn load(&self) -> Result<tls::Config, TlsError> {
        let fault = |path: &PathBuf, wanted, flag| {
            let path = path.display().to_string();
            move |source| TlsError::File { path, wanted, flag, source }
        };
        let no_key = fault(&self.key, "private key", "--websocket-secure-key-path");
        let key = PrivateKeyDer::from_pem_file(&self.key).map_err(no_key)?;
        let certificates = CertificateDer::pem_file_iter(&self.certificate)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .and_then(|found| if found.is_empty() { Err(pem::Error::NoItemsFound) } else { Ok(found) })
            .map_err(fault(&self.certificate, "certificate", "--websocket-secure-cert-path"))?;
        let chain = certificates.iter().map(|certificate| tls::Certificate::new(certificate.to_vec()));
        // libp2p tells the three kinds of keys apart anew, and panics if it cannot.
        let is_key = PrivateKeyDer::try_from(key.secret_der()).is_ok();
        if !is_key {
            return Err(TlsError::Key { path: self.key.display().to_string() });
        }
        tls::Config::new(tls::PrivateKey::new(key.secret_der().to_vec()), chain).map_err(TlsError::Refused)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use rcgen::{CertifiedKey, generate_simple_self_signed};

    use super::*;

    fn files(folder: &Path, key: &str, certificate: &str) -> TlsFiles {
        let files = TlsFiles { key: folder.join("key.pem"), certificate: folder.join("certificate.pem") };
        std::fs::write(&files.key, key).expect("written");
        std::fs::write(&files.certificate, certificate).expect("written");
        files
    }

    #[test]
    fn what_is_no_key_or_certificate_is_named_and_not_shown() {
        let folder = tempfile::tempdir().expect("a folder");
        let CertifiedKey { cert, key_pair } =
            generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
        let other = generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
        let (key, certificate) = (key_pair.serialize_pem(), cert.pem());
        assert!(files(folder.path(), &key, &certificate).load().is_ok());
        assert!(files(folder.path(), &key, &(certificate.clone() + &other.cert.pem())).load().is_ok(), "a chain");
        let garbled = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
        for (bad_key, bad_certificate, flag) in [
            ("", certificate.as_str(), "--websocket-secure-key-path"),
            (certificate.as_str(), certificate.as_str(), "--websocket-secure-key-path"),
            (key.as_str(), "", "--websocket-secure-cert-path"),
            (key.as_str(), key.as_str(), "--websocket-secure-cert-path"),
            (other.key_pair.serialize_pem().as_str(), certificate.as_str(), "--websocket-secure-key-path"),
            (garbled, certificate.as_str(), "--websocket-secure-key-path"),
        ] {
            let error = files(folder.path(), bad_key, bad_certificate).load().expect_err("refused").to_string();
            assert!(error.contains(flag), "{error}");
        }
        let missing = TlsFiles { key: folder.path().join("none"), certificate: folder.path().join("none") };
        assert!(missing.load().expect_err("no file").to_string().contains("none"));
    }
}
