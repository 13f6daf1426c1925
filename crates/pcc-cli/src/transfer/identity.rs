//! Who the receiver is, and how the sender proves that it holds the ticket.
//!
//! The receiver has a self-signed certificate whose hash is in the ticket; the sender accepts that one and no other.
//! The sender proves the ticket's secret with a hash keyed by it, over keying material that both ends export from the TLS
//! session: the secret never travels, and a proof is of no use on any other connection.

use super::failure::{Failure, Kind, Result};
use noq::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use noq::crypto::{CryptoError, HmacKey};
use noq::{EndpointConfig, rustls};
use noq_proto::HashedConnectionIdGenerator;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error as TlsError, SignatureScheme};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Says which protocol, and which version of it, this is; TLS refuses a peer that offers no common one.
const ALPN: &[u8] = b"pcc-transfer/2";
/// The name in the certificate. Nothing is derived from it: the certificate is pinned as a whole.
pub const SERVER_NAME: &str = "pcc-receiver";

/// What makes a receiver the one that a ticket names. Kept with an unfinished transfer.
#[derive(Clone, Serialize, Deserialize)]
pub struct Identity {
    certificate: Vec<u8>,
    key: Vec<u8>,
    /// The secret in the ticket.
    pub secret: [u8; 32],
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn internal(what: &str) -> impl Fn(&dyn std::fmt::Display) -> Failure + '_ {
    move |error| Failure::new(Kind::Other, format!("cannot {what}: {error}"))
}

impl Identity {
    /// A new certificate, key and secret.
    pub fn generate() -> Result<Self> {
        let fail = internal("make a certificate");
        let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).map_err(|e| fail(&e))?;
        let params = rcgen::CertificateParams::new(vec![SERVER_NAME.to_owned()]).map_err(|e| fail(&e))?;
        let certificate = params.self_signed(&key).map_err(|e| fail(&e))?.der().to_vec();
        let mut secret = [0; 32];
        provider().secure_random.fill(&mut secret).map_err(|_| fail(&"no random numbers"))?;
        Ok(Self { certificate, key: key.serialize_der(), secret })
    }

    /// The hash of the certificate that goes into the ticket.
    pub fn certificate_hash(&self) -> [u8; 32] {
        *blake3::hash(&self.certificate).as_bytes()
    }

    /// TLS 1.3 with this certificate, no session resumption and so no 0-RTT.
    pub fn server_crypto(&self) -> Result<QuicServerConfig> {
        let fail = internal("set up TLS");
        let certificate = CertificateDer::from(self.certificate.clone());
        let key = PrivatePkcs8KeyDer::from(self.key.clone());
        let mut config = rustls::ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|e| fail(&e))?
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key.into())
            .map_err(|e| fail(&e))?;
        config.alpn_protocols = vec![ALPN.to_vec()];
        config.send_tls13_tickets = 0;
        QuicServerConfig::try_from(config).map_err(|e| fail(&e))
    }

    /// Keys of an endpoint that a receiver has again after a restart: so it recognises packets of a connection that it no
    /// longer knows, and can tell the sender at once, instead of leaving it to a timeout.
    pub fn endpoint_config(&self) -> EndpointConfig {
        let id = blake3::derive_key("pcc-transfer/1 connection ids", &self.secret);
        let id = id.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let mut config = EndpointConfig::new(self.reset_key());
        config.cid_generator(Arc::new(move || Box::new(HashedConnectionIdGenerator::from_key(id))));
        config
    }

    fn reset_key(&self) -> Arc<dyn HmacKey> {
        Arc::new(ResetKey(blake3::derive_key("pcc-transfer/1 stateless reset", &self.secret)))
    }
}

struct ResetKey([u8; 32]);

impl HmacKey for ResetKey {
    fn sign(&self, data: &[u8], signature_out: &mut [u8]) {
        signature_out.copy_from_slice(blake3::keyed_hash(&self.0, data).as_bytes());
    }

    fn signature_len(&self) -> usize {
        blake3::OUT_LEN
    }

    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        let signature: [u8; blake3::OUT_LEN] = signature.try_into().map_err(|_| CryptoError)?;
        // Comparison of `blake3::Hash` takes constant time.
        if blake3::keyed_hash(&self.0, data) == signature { Ok(()) } else { Err(CryptoError) }
    }
}

/// TLS 1.3 for a sender that accepts the certificate with this hash only.
pub fn client_crypto(certificate_hash: [u8; 32]) -> Result<QuicClientConfig> {
    let fail = internal("set up TLS");
    let pinned = PinnedCertificate { hash: certificate_hash, provider: provider() };
    let mut config = rustls::ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|e| fail(&e))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(pinned))
        .with_no_client_auth();
    config.alpn_protocols = vec![ALPN.to_vec()];
    config.resumption = rustls::client::Resumption::disabled();
    QuicClientConfig::try_from(config).map_err(|e| fail(&e))
}

#[derive(Debug)]
struct PinnedCertificate {
    hash: [u8; 32],
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for PinnedCertificate {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        if blake3::hash(end_entity) == self.hash {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(TlsError::InvalidCertificate(CertificateError::ApplicationVerificationFailure))
        }
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        Err(TlsError::General("TLS 1.2 is not offered".into()))
    }

    // The certificate is public: only this signature shows that the peer holds its key.
    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// The sender's proof that it knows the secret, for this connection only.
pub fn proof(connection: &noq::Connection, secret: &[u8; 32]) -> Result<blake3::Hash> {
    let mut material = [0; 32];
    connection
        .export_keying_material(&mut material, b"EXPORTER-pcc-transfer-proof", &[])
        .map_err(|_| Failure::new(Kind::Other, "cannot export keying material from the TLS session"))?;
    Ok(blake3::keyed_hash(secret, &material))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_differ_and_work() {
        let (a, b) = (Identity::generate().unwrap(), Identity::generate().unwrap());
        assert_ne!(a.secret, b.secret);
        assert_ne!(a.certificate_hash(), b.certificate_hash());
        a.server_crypto().unwrap();
        client_crypto(a.certificate_hash()).unwrap();
    }

    #[test]
    fn only_the_pinned_certificate_passes() {
        let (a, b) = (Identity::generate().unwrap(), Identity::generate().unwrap());
        let pinned = PinnedCertificate { hash: a.certificate_hash(), provider: provider() };
        let check = |identity: &Identity| {
            let certificate = CertificateDer::from(identity.certificate.clone());
            let name = ServerName::try_from(SERVER_NAME).unwrap();
            pinned.verify_server_cert(&certificate, &[], &name, &[], UnixTime::now()).is_ok()
        };
        assert!(check(&a));
        assert!(!check(&b));
    }

    #[test]
    fn reset_tokens_survive_a_restart() {
        let identity = Identity::generate().unwrap();
        let mut signature = [0; 32];
        identity.reset_key().sign(b"connection", &mut signature);
        assert!(identity.clone().reset_key().verify(b"connection", &signature).is_ok());
        assert!(identity.reset_key().verify(b"other", &signature).is_err());
        assert!(identity.reset_key().verify(b"connection", &signature[..16]).is_err());
    }
}
