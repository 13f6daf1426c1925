//! Certificates that say nothing but "the same as before", and how each side checks that of the other.

use super::pin::Pin;
use crate::failure::{Failure, Kind, Result};
use data_encoding::BASE32_NOPAD;
use noq::rustls;
use rustls::DigitallySignedStruct;
use rustls::SignatureScheme;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DistinguishedName, Error as TlsError, OtherError};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The name in the certificates. Nothing is derived from it: a certificate is known by its hash.
pub const NAME: &str = "pcc-receiver";

/// A self-signed certificate and its key.
#[derive(Clone, Serialize, Deserialize)]
pub struct Credentials {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

/// The cryptography of all connections.
pub fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

impl Credentials {
    /// New ones.
    pub fn generate() -> Result<Self> {
        let failed = |e| Failure::new(Kind::Other, format!("cannot make a certificate: {e}"));
        let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).map_err(failed)?;
        let mut params = rcgen::CertificateParams::new(vec![NAME.to_owned()]).map_err(failed)?;
        // One made from the key, as rcgen does it, is sometimes shorter: nothing that is sent may depend on a key's value.
        params.serial_number = Some(1_u64.into());
        let certificate = params.self_signed(&key).map_err(failed)?.der().to_vec();
        Ok(Self { certificate, key: key.serialize_der() })
    }

    /// BLAKE3 of the certificate, by which the other side knows it.
    pub fn hash(&self) -> [u8; 32] {
        *blake3::hash(&self.certificate).as_bytes()
    }

    /// The certificate as a chain of one.
    pub fn chain(&self) -> Vec<CertificateDer<'static>> {
        vec![CertificateDer::from(self.certificate.clone())]
    }

    /// The private key.
    pub fn key(&self) -> PrivateKeyDer<'static> {
        PrivatePkcs8KeyDer::from(self.key.clone()).into()
    }
}

/// A sender, as a receiver knows it: the hash of its certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SenderId(pub [u8; 32]);

const PREFIX: &str = "pccs";

impl fmt::Display for SenderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", BASE32_NOPAD.encode(&self.0).to_ascii_lowercase())
    }
}

impl FromStr for SenderId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bytes =
            text.strip_prefix(PREFIX).and_then(|id| BASE32_NOPAD.decode(id.to_ascii_uppercase().as_bytes()).ok());
        let id = bytes.and_then(|bytes| bytes.try_into().ok());
        id.map(Self).ok_or_else(|| format!("this is no sender; they begin with {PREFIX}, and both sides show them"))
    }
}

impl SenderId {
    /// The sender at the other end of a connection.
    pub fn of(connection: &noq::Connection) -> Result<Self> {
        let chain = connection.peer_identity().and_then(|chain| chain.downcast::<Vec<CertificateDer<'static>>>().ok());
        let certificate = chain.as_deref().and_then(|chain| chain.first());
        let certificate = certificate.ok_or_else(|| Failure::new(Kind::Other, "the sender has no certificate"))?;
        Ok(Self(*blake3::hash(certificate).as_bytes()))
    }
}

/// The only server that is accepted.
#[derive(Clone, Copy, Debug)]
pub enum Pinned {
    /// The one whose certificate has this BLAKE3.
    Certificate([u8; 32]),
    /// The one that has this key, whatever else its certificate says.
    Key(Pin),
}

/// The server has another key than the one that it is known by: this one.
#[derive(Debug, thiserror::Error)]
#[error("its key is {0}, not the one that was named")]
pub struct OtherKey(pub Pin);

impl Pinned {
    fn check(self, certificate: &CertificateDer<'_>) -> Result<(), CertificateError> {
        match self {
            Pinned::Certificate(hash) if hash == *blake3::hash(certificate).as_bytes() => Ok(()),
            Pinned::Certificate(_) => Err(CertificateError::ApplicationVerificationFailure),
            Pinned::Key(pin) => match Pin::of(certificate).map_err(|_| CertificateError::BadEncoding)? {
                its if its == pin => Ok(()),
                its => Err(CertificateError::Other(OtherError(Arc::new(OtherKey(its))))),
            },
        }
    }
}

/// Checks that the other side holds the key of its certificate, and, if it is the server, that it is the right one.
#[derive(Debug)]
pub struct Verifier {
    /// Without one no server is accepted.
    pub pinned: Option<Pinned>,
}

impl Verifier {
    // A certificate is public: only this signature shows that the peer holds its key.
    fn verify(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        verify_tls13_signature(message, certificate, signature, &provider().signature_verification_algorithms)
    }

    fn schemes() -> Vec<SignatureScheme> {
        provider().signature_verification_algorithms.supported_schemes()
    }
}

fn no_tls12() -> Result<HandshakeSignatureValid, TlsError> {
    Err(TlsError::General("TLS 1.2 is not offered".into()))
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        let none = Err(CertificateError::ApplicationVerificationFailure);
        let checked = self.pinned.map_or(none, |pinned| pinned.check(end_entity));
        checked.map(|()| ServerCertVerified::assertion()).map_err(TlsError::InvalidCertificate)
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        no_tls12()
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        self.verify(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        Self::schemes()
    }
}

impl ClientCertVerifier for Verifier {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    // Which senders are welcome is decided where they have proved that they hold the ticket.
    fn verify_client_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, TlsError> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        no_tls12()
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        self.verify(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        Self::schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_pinned_certificate_passes() {
        let (a, b) = (Credentials::generate().unwrap(), Credentials::generate().unwrap());
        let pinned = Verifier { pinned: Some(Pinned::Certificate(a.hash())) };
        let check = |credentials: &Credentials| {
            let name = ServerName::try_from(NAME).unwrap();
            pinned.verify_server_cert(&credentials.chain()[0], &[], &name, &[], UnixTime::now()).is_ok()
        };
        assert!(check(&a));
        assert!(!check(&b));
    }

    #[test]
    fn senders_can_be_written_down() {
        let id = SenderId([7; 32]);
        assert_eq!(id.to_string().parse(), Ok(id));
        assert_eq!(id.to_string().to_uppercase().replacen("PCCS", "pccs", 1).parse(), Ok(id));
        for wrong in ["", "pccs", "pcc1aaaa", &id.to_string()[..20], &format!("{id}a")] {
            assert!(wrong.parse::<SenderId>().is_err(), "{wrong}");
        }
    }
}
