//! A certificate for one run, and ends that trust only it.

use noq::rustls::RootCertStore;
use noq::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use noq::{ClientConfig, ServerConfig, TransportConfig};
use std::sync::Arc;

/// The name in the certificate.
pub const SERVER_NAME: &str = "pcc-demo";

/// A fresh key with a certificate signed by itself.
pub struct Identity {
    certificate: CertificateDer<'static>,
    key: PrivatePkcs8KeyDer<'static>,
}

impl Identity {
    /// Makes a key.
    pub fn generate() -> anyhow::Result<Identity> {
        let made = rcgen::generate_simple_self_signed([SERVER_NAME.to_owned()])?;
        Ok(Identity { certificate: made.cert.into(), key: made.signing_key.serialize_der().into() })
    }

    /// The end that has the key.
    pub fn server(&self, transport: TransportConfig) -> anyhow::Result<ServerConfig> {
        let mut config = ServerConfig::with_single_cert(vec![self.certificate.clone()], self.key.clone_key().into())?;
        config.transport_config(Arc::new(transport));
        Ok(config)
    }

    /// The end that trusts this certificate and no other.
    pub fn client(&self, transport: TransportConfig) -> anyhow::Result<ClientConfig> {
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate.clone())?;
        let mut config = ClientConfig::with_root_certificates(Arc::new(roots))?;
        config.transport_config(Arc::new(transport));
        Ok(config)
    }
}
