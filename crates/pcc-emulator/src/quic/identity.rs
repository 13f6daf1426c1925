//! A certificate for one run, and ends that trust only it.

use noq::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use noq::rustls::{self, RootCertStore};
use noq::{ClientConfig, ServerConfig, TransportConfig};
use std::sync::Arc;

/// The name in the certificate.
pub const SERVER_NAME: &str = "pcc-lab";

/// Why a certificate can't be made or used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IdentityError {
    /// The certificate can't be made.
    #[error("can't make a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// TLS doesn't take the certificate or its key.
    #[error("can't set up TLS: {0}")]
    Tls(#[from] rustls::Error),
    /// The client can't verify servers with the certificate.
    #[error("can't set up TLS: {0}")]
    Verifier(#[from] rustls::client::VerifierBuilderError),
}

/// A fresh key with a certificate signed by itself.
pub struct Identity {
    certificate: CertificateDer<'static>,
    key: PrivatePkcs8KeyDer<'static>,
}

impl Identity {
    /// Makes a key.
    ///
    /// # Errors
    ///
    /// When the system gives no random numbers.
    pub fn generate() -> Result<Identity, IdentityError> {
        let made = rcgen::generate_simple_self_signed([SERVER_NAME.to_owned()])?;
        Ok(Identity { certificate: made.cert.into(), key: made.signing_key.serialize_der().into() })
    }

    /// The end that has the key.
    ///
    /// # Errors
    ///
    /// When TLS doesn't take the key.
    pub fn server(&self, transport: TransportConfig) -> Result<ServerConfig, IdentityError> {
        let mut config = ServerConfig::with_single_cert(vec![self.certificate.clone()], self.key.clone_key().into())?;
        config.transport_config(Arc::new(transport));
        Ok(config)
    }

    /// The end that trusts this certificate and no other; it connects to [`SERVER_NAME`].
    ///
    /// # Errors
    ///
    /// When TLS doesn't take the certificate.
    pub fn client(&self, transport: TransportConfig) -> Result<ClientConfig, IdentityError> {
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate.clone())?;
        let mut config = ClientConfig::with_root_certificates(Arc::new(roots))?;
        config.transport_config(Arc::new(transport));
        Ok(config)
    }
}
