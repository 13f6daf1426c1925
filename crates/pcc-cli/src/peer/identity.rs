//! Who made a ticket, and how the other side proves that it holds it. The first is called the receiver here and the
//! second the sender, whatever they do with the connection.
//!
//! The receiver has a self-signed certificate whose hash is in the ticket; the sender accepts that one and no other.
//! The sender proves the ticket's secret with a hash keyed by it, over keying material that both ends export from the TLS
//! session: the secret never travels, and a proof is of no use on any other connection.
//!
//! The sender has a certificate too, by which the receiver knows it again: whoever else learns the ticket has another one.

use super::credentials::{Credentials, Pinned, Verifier, provider};
use crate::failure::{Failure, Kind, Result};
use noq::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use noq::rustls;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What makes a receiver the one that a ticket names.
#[derive(Clone, Serialize, Deserialize)]
pub struct Identity {
    /// Its certificate, whose hash is in the ticket.
    pub credentials: Credentials,
    /// The secret in the ticket.
    pub secret: [u8; 32],
}

fn internal(what: &str) -> impl Fn(&dyn std::fmt::Display) -> Failure + '_ {
    move |error| Failure::new(Kind::Other, format!("cannot {what}: {error}"))
}

impl Identity {
    /// A new certificate, key and secret.
    pub fn generate() -> Result<Self> {
        let fail = internal("make a secret");
        let mut secret = [0; 32];
        provider().secure_random.fill(&mut secret).map_err(|_| fail(&"no random numbers"))?;
        Ok(Self { credentials: Credentials::generate()?, secret })
    }

    /// TLS 1.3 with this certificate and one of the sender, no session resumption and so no 0-RTT. Who speaks another
    /// protocol than `alpn` (RFC 7301) is refused.
    pub fn server_crypto(&self, alpn: &[u8]) -> Result<QuicServerConfig> {
        let fail = internal("set up TLS");
        let mut config = rustls::ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|e| fail(&e))?
            .with_client_cert_verifier(Arc::new(Verifier { pinned: None }))
            .with_single_cert(self.credentials.chain(), self.credentials.key())
            .map_err(|e| fail(&e))?;
        config.alpn_protocols = vec![alpn.to_vec()];
        config.send_tls13_tickets = 0;
        QuicServerConfig::try_from(config).map_err(|e| fail(&e))
    }
}

/// TLS 1.3 for this sender, which accepts the receiver's certificate with this hash only.
pub fn client_crypto(sender: &Credentials, receiver: [u8; 32], alpn: &[u8]) -> Result<QuicClientConfig> {
    let fail = internal("set up TLS");
    let mut config = rustls::ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|e| fail(&e))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Verifier { pinned: Some(Pinned::Certificate(receiver)) }))
        .with_client_auth_cert(sender.chain(), sender.key())
        .map_err(|e| fail(&e))?;
    config.alpn_protocols = vec![alpn.to_vec()];
    config.resumption = rustls::client::Resumption::disabled();
    QuicClientConfig::try_from(config).map_err(|e| fail(&e))
}

fn export<const N: usize>(connection: &noq::Connection, label: &[u8]) -> Result<[u8; N]> {
    let mut material = [0; N];
    let exported = connection.export_keying_material(&mut material, label, &[]);
    exported.map_err(|_| Failure::new(Kind::Other, "cannot export keying material from the TLS session"))?;
    Ok(material)
}

/// The sender's proof that it knows the secret, for this connection only.
pub fn proof(connection: &noq::Connection, secret: &[u8; 32]) -> Result<blake3::Hash> {
    Ok(blake3::keyed_hash(secret, &export::<32>(connection, b"EXPORTER-pcc-transfer-proof")?))
}

/// Six digits that both ends of this connection, and nobody else, can compute.
pub fn code(connection: &noq::Connection) -> Result<String> {
    let number = u64::from_le_bytes(export(connection, b"EXPORTER-pcc-transfer-code")?) % 1_000_000;
    Ok(format!("{:03}-{:03}", number / 1000, number % 1000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_differ_and_work() {
        let (a, b) = (Identity::generate().unwrap(), Identity::generate().unwrap());
        assert_ne!(a.secret, b.secret);
        assert_ne!(a.credentials.hash(), b.credentials.hash());
        a.server_crypto(b"test/1").unwrap();
        client_crypto(&b.credentials, a.credentials.hash(), b"test/1").unwrap();
    }
}
