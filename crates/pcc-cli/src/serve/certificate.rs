//! The certificate of this server: the user's, or one for this run only.

use crate::exit::usage;
use crate::failure::{Failure, Kind, Result};
use crate::http3;
use crate::peer::credentials::provider;
use crate::peer::pin::Pin;
use noq::crypto::rustls::QuicServerConfig;
use noq::rustls;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

/// A certificate with its issuers, and its key.
pub struct Certificate {
    key: PrivateKeyDer<'static>,
    certified: Arc<CertifiedKey>,
    /// By what a client can know this server.
    pub pin: Pin,
}

/// Where the user has a certificate and its key.
pub struct Files {
    /// The certificate and its issuers.
    pub certificate: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

impl Files {
    /// What is in them now.
    ///
    /// # Errors
    ///
    /// When a file can't be read, has nothing of the kind in it, or they don't belong together.
    pub fn read(&self) -> anyhow::Result<Certificate> {
        Certificate::read(&self.certificate, &self.key)
    }
}

/// The certificate that new connections get, over QUIC and TCP; another can take its place.
#[derive(Debug)]
pub struct Current(RwLock<Arc<CertifiedKey>>);

impl Current {
    /// This one first.
    pub fn new(certificate: &Certificate) -> Arc<Current> {
        Arc::new(Current(RwLock::new(certificate.certified.clone())))
    }

    /// Gives new connections this one. Those that exist go on as they are.
    pub fn replace(&self, certificate: &Certificate) {
        // Nothing can panic while it is locked.
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = certificate.certified.clone();
    }

    /// TLS 1.3 for HTTP/3.
    pub fn quic(self: &Arc<Self>) -> Result<QuicServerConfig> {
        QuicServerConfig::try_from(self.config(&[http3::ALPN])?).map_err(|e| failed("set up TLS")(&e))
    }

    /// TLS 1.3 for HTTP/2 and 1.1, whichever the client likes better.
    pub fn tcp(self: &Arc<Self>) -> Result<ServerConfig> {
        self.config(&[b"h2", b"http/1.1"])
    }

    fn config(self: &Arc<Self>, protocols: &[&[u8]]) -> Result<ServerConfig> {
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|e| failed("set up TLS")(&e))?
            .with_no_client_auth()
            .with_cert_resolver(self.clone());
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        Ok(config)
    }
}

impl ResolvesServerCert for Current {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.read().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

fn failed(what: &str) -> impl Fn(&dyn std::fmt::Display) -> Failure + '_ {
    move |error| Failure::new(Kind::Other, format!("cannot {what}: {error}"))
}

impl Certificate {
    /// From PEM files, as authorities hand them out: the server's certificate first, and then its issuers.
    fn read(certificate: &Path, key: &Path) -> anyhow::Result<Certificate> {
        let bad = |path: &Path, what: &str, error: &dyn std::fmt::Display| {
            usage(format!("can't read {what} (PEM) from {}: {error}", path.display()))
        };
        let read = CertificateDer::pem_file_iter(certificate).and_then(Iterator::collect);
        let chain: Vec<_> = read.map_err(|error| bad(certificate, "certificates", &error))?;
        if chain.is_empty() {
            return Err(bad(certificate, "certificates", &"there are none in it"));
        }
        let private = PrivateKeyDer::from_pem_file(key).map_err(|error| bad(key, "a private key", &error))?;
        Certificate::of(chain, private).map_err(|error| {
            usage(format!(
                "cannot use the certificate {} with the key {}: {error}",
                certificate.display(),
                key.display()
            ))
        })
    }

    fn of(chain: Vec<CertificateDer<'static>>, key: PrivateKeyDer<'static>) -> Result<Certificate> {
        let failed = |why: &dyn std::fmt::Display| Failure::new(Kind::Other, why);
        let first = chain.first().ok_or_else(|| failed(&"there is no certificate"))?;
        let pin = Pin::of(first).map_err(|error| failed(&error))?;
        let certified = CertifiedKey::from_der(chain, key.clone_key(), &provider()).map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => failed(&"the key is not that of the certificate"),
            other => failed(&other),
        })?;
        Ok(Certificate { key, certified: Arc::new(certified), pin })
    }

    /// A new one that nobody signed, for these addresses of this machine. Its key is on P-256, which all clients know.
    pub fn generate(addresses: &[SocketAddr]) -> Result<Certificate> {
        let failed = failed("make a certificate");
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let mut names = vec!["localhost".to_owned()];
        // What is no name of DNS can't be in it.
        names.extend(Some(host).filter(|host| host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-.".contains(&b))));
        names.extend(addresses.iter().map(|address| address.ip().to_canonical().to_string()));
        names.retain(|name| !name.is_empty());
        names.dedup();
        let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).map_err(|e| failed(&e))?;
        let params = rcgen::CertificateParams::new(names).map_err(|e| failed(&e))?;
        let certificate = params.self_signed(&key).map_err(|e| failed(&e))?.der().clone();
        Certificate::of(vec![certificate], PrivatePkcs8KeyDer::from(key.serialize_der()).into())
    }

    /// What only a server that has this key and this address knows, and knows again after a restart. Another server with the same
    /// key must not tell clients that connections of this one are gone (RFC 9000 21.11).
    pub fn secret(&self, address: SocketAddr) -> [u8; 32] {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let known = [self.key.secret_der(), format!("{host} {address}").as_bytes()].concat();
        blake3::derive_key("pcc-serve/1 endpoint", &known)
    }
}
