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
use std::net::SocketAddr;
use std::path::Path;

/// A certificate with its issuers, and its key.
pub struct Certificate {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    /// By what a client can know this server.
    pub pin: Pin,
}

fn failed(what: &str) -> impl Fn(&dyn std::fmt::Display) -> Failure + '_ {
    move |error| Failure::new(Kind::Other, format!("cannot {what}: {error}"))
}

impl Certificate {
    /// From PEM files, as authorities hand them out: the server's certificate first, and then its issuers.
    ///
    /// # Errors
    ///
    /// When a file can't be read, has nothing of the kind in it, or they don't belong together.
    pub fn read(certificate: &Path, key: &Path) -> anyhow::Result<Certificate> {
        let bad = |path: &Path, what: &str, error: &dyn std::fmt::Display| {
            usage(format!("can't read {what} (PEM) from {}: {error}", path.display()))
        };
        let read = CertificateDer::pem_file_iter(certificate).and_then(Iterator::collect);
        let chain: Vec<_> = read.map_err(|error| bad(certificate, "certificates", &error))?;
        let first = chain.first().ok_or_else(|| bad(certificate, "certificates", &"there are none in it"))?;
        let pin = Pin::of(first).map_err(|error| bad(certificate, "certificates", &error))?;
        let key = PrivateKeyDer::from_pem_file(key).map_err(|error| bad(key, "a private key", &error))?;
        let certificate = Certificate { chain, key, pin };
        certificate.config(&[]).map_err(usage)?;
        Ok(certificate)
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
        let pin = Pin::of(&certificate).map_err(|e| failed(&e))?;
        let key = PrivatePkcs8KeyDer::from(key.serialize_der()).into();
        Ok(Certificate { chain: vec![certificate], key, pin })
    }

    /// What only a server that has this key and this address knows, and knows again after a restart. Another server with the same
    /// key must not tell clients that connections of this one are gone (RFC 9000 21.11).
    pub fn secret(&self, address: SocketAddr) -> [u8; 32] {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let known = [self.key.secret_der(), format!("{host} {address}").as_bytes()].concat();
        blake3::derive_key("pcc-serve/1 endpoint", &known)
    }

    /// TLS 1.3 for HTTP/3.
    pub fn quic(&self) -> Result<QuicServerConfig> {
        QuicServerConfig::try_from(self.config(&[http3::ALPN])?).map_err(|e| failed("set up TLS")(&e))
    }

    /// TLS 1.3 for HTTP/2 and 1.1, whichever the client likes better.
    pub fn tcp(&self) -> Result<ServerConfig> {
        self.config(&[b"h2", b"http/1.1"])
    }

    fn config(&self, protocols: &[&[u8]]) -> Result<ServerConfig> {
        let failed = failed("use this certificate and key");
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|e| failed(&e))?
            .with_no_client_auth()
            .with_single_cert(self.chain.clone(), self.key.clone_key())
            .map_err(|error| match error {
                rustls::Error::InconsistentKeys(_) => failed(&"the key is not that of the certificate"),
                other => failed(&other),
            })?;
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        Ok(config)
    }
}
