//! Which server is the right one.

use crate::failure::{Failure, Kind, Result};
use crate::http3;
use crate::peer::credentials::{Pinned, Verifier, provider};
use crate::peer::pin::Pin;
use noq::crypto::rustls::QuicClientConfig;
use noq::rustls;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use std::path::Path;
use std::sync::Arc;

/// Who says that a server is the right one.
#[derive(Debug)]
pub enum Trust {
    /// An authority that this machine trusts.
    System,
    /// An authority of the user.
    Authorities(Vec<CertificateDer<'static>>),
    /// The user, who knows its key.
    Key(Pin),
}

impl Trust {
    /// The authorities in a PEM file.
    ///
    /// # Errors
    ///
    /// When there are none to be read in it.
    pub fn read(file: &Path) -> Result<Trust, String> {
        let bad = |why: String| format!("can't read certificates (PEM) from {}: {why}", file.display());
        let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect);
        let certificates: Vec<_> = read.map_err(|error| bad(error.to_string()))?;
        if certificates.is_empty() {
            Err(bad("there are none in it".to_owned()))
        } else {
            Ok(Trust::Authorities(certificates))
        }
    }

    /// TLS 1.3 for HTTP/3 with such servers only.
    pub fn config(&self) -> Result<QuicClientConfig> {
        let failed = |error: &dyn std::fmt::Display| Failure::new(Kind::Other, format!("cannot set up TLS: {error}"));
        let builder =
            ClientConfig::builder_with_provider(provider()).with_protocol_versions(&[&rustls::version::TLS13]);
        let builder = builder.map_err(|error| failed(&error))?;
        let builder = match self {
            Trust::Key(pin) => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(Verifier { pinned: Some(Pinned::Key(*pin)) })),
            Trust::Authorities(certificates) => builder.with_root_certificates(roots(certificates)?),
            Trust::System => builder.with_root_certificates(roots(&rustls_native_certs::load_native_certs().certs)?),
        };
        let mut config = builder.with_no_client_auth();
        config.alpn_protocols = vec![http3::ALPN.to_vec()];
        QuicClientConfig::try_from(config).map_err(|error| failed(&error))
    }
}

fn roots(certificates: &[CertificateDer<'static>]) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(certificates.iter().cloned());
    if roots.is_empty() {
        let message = "there are no certificates of authorities to check the server's by; name some with --ca, or the server's \
            key with --pin";
        return Err(Failure::new(Kind::Untrusted, message));
    }
    Ok(roots)
}
