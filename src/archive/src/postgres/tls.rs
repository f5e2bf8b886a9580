//! TLS to the database: what `sslmode` in its URL asks for, as libpq words it.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use tokio_postgres::config::SslMode;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::driver::Failure;

/// What `sslmode` and `sslrootcert` say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tls {
    mode: Mode,
    /// A PEM file with the certificates that may have signed the server's; without one, those of the system.
    root: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    Disable,
    /// Encrypted if the server offers it, whatever its certificate is.
    #[default]
    Prefer,
    /// Encrypted, whatever the certificate is.
    Require,
    /// Encrypted, with a certificate that is signed by somebody trusted and names the host.
    VerifyFull,
}

impl FromStr for Mode {
    type Err = ();

    fn from_str(word: &str) -> Result<Self, ()> {
        Ok(match word {
            "disable" => Self::Disable,
            "prefer" => Self::Prefer,
            "require" => Self::Require,
            "verify-full" => Self::VerifyFull,
            _ => return Err(()),
        })
    }
}

impl Tls {
    /// Takes its parameters out of a URL, whose other parts are left as they are. Nothing where they are not understood.
    pub(super) fn split(url: &str) -> Option<(String, Self)> {
        let Some((rest, parameters)) = url.split_once('?') else { return Some((url.to_owned(), Self::default())) };
        let (mut tls, mut others) = (Self::default(), Vec::new());
        for parameter in parameters.split('&') {
            match parameter.split_once('=') {
                Some(("sslmode", word)) => tls.mode = word.parse().ok()?,
                Some(("sslrootcert", path)) if !path.is_empty() => tls.root = Some(PathBuf::from(path)),
                _ => others.push(parameter),
            }
        }
        // A file that nothing is checked against would promise what is not kept.
        if tls.root.is_some() && tls.mode != Mode::VerifyFull {
            return None;
        }
        let mark = if others.is_empty() { "" } else { "?" };
        Some((format!("{rest}{mark}{}", others.join("&")), tls))
    }

    /// The same for the client.
    pub(super) fn ssl_mode(&self) -> SslMode {
        match self.mode {
            Mode::Disable => SslMode::Disable,
            Mode::Prefer => SslMode::Prefer,
            Mode::Require | Mode::VerifyFull => SslMode::Require,
        }
    }

    /// What makes connections. Files are read anew for each, so that certificates may be replaced while the node runs.
    pub(super) fn connector(&self) -> Result<MakeRustlsConnect, Failure> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| Failure::Tls(error.to_string()))?;
        let config = if self.mode == Mode::VerifyFull {
            builder.with_root_certificates(self.roots()?).with_no_client_auth()
        } else {
            let any = Arc::new(AnyCertificate(provider));
            builder.dangerous().with_custom_certificate_verifier(any).with_no_client_auth()
        };
        Ok(MakeRustlsConnect::new(config))
    }

    fn roots(&self) -> Result<RootCertStore, Failure> {
        let mut roots = RootCertStore::empty();
        let Some(path) = &self.root else {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            let none =
                || Failure::Tls("the system has no trusted certificates; name a file with sslrootcert".to_owned());
            return if roots.is_empty() { Err(none()) } else { Ok(roots) };
        };
        let failed = |reason: String| Failure::Tls(format!("sslrootcert {}: {reason}", path.display()));
        for certificate in CertificateDer::pem_file_iter(path).map_err(|error| failed(error.to_string()))? {
            let certificate = certificate.map_err(|error| failed(error.to_string()))?;
            roots.add(certificate).map_err(|error| failed(error.to_string()))?;
        }
        if roots.is_empty() { Err(failed("no certificate in it".to_owned())) } else { Ok(roots) }
    }
}

/// Asks only that the server has the key of the certificate that it shows.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::{Mode, Tls};

    #[test]
    fn parameters_are_taken_out_and_others_left() {
        let split = |url: &str| Tls::split(url).map(|(rest, tls)| (rest, tls.mode, tls.root.is_some()));
        let plain = "postgres://me@db/waku";
        assert_eq!(split(plain), Some((plain.to_owned(), Mode::Prefer, false)));
        for (word, mode) in [("disable", Mode::Disable), ("require", Mode::Require), ("verify-full", Mode::VerifyFull)]
        {
            assert_eq!(split(&format!("{plain}?sslmode={word}")), Some((plain.to_owned(), mode, false)));
        }
        let all = split(&format!("{plain}?connect_timeout=3&sslmode=verify-full&sslrootcert=/a.pem&keepalives=1"));
        assert_eq!(all, Some((format!("{plain}?connect_timeout=3&keepalives=1"), Mode::VerifyFull, true)));
        for wrong in ["sslmode=allow", "sslmode=", "sslmode=require&sslrootcert=/a.pem", "sslrootcert=/a.pem"] {
            assert_eq!(split(&format!("{plain}?{wrong}")), None, "{wrong}");
        }
    }
}
