//! A server known by its key, whatever name and issuer its certificate has.
//!
//! A pin is the SHA-256 of the key's SubjectPublicKeyInfo in Base64 (RFC 7469 2.4), written as `curl --pinnedpubkey` takes
//! it. It stays the same when a certificate is renewed for the same key.

use data_encoding::BASE64;
use noq::rustls::Error;
use noq::rustls::pki_types::CertificateDer;
use noq::rustls::server::ParsedCertificate;
use ring::digest::{SHA256, digest};
use std::fmt;
use std::str::FromStr;

const PREFIX: &str = "sha256//";

/// The hash of a public key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pin([u8; 32]);

impl Pin {
    /// That of a certificate's key.
    ///
    /// # Errors
    ///
    /// When the certificate makes no sense.
    pub fn of(certificate: &CertificateDer<'_>) -> Result<Pin, Error> {
        let key = ParsedCertificate::try_from(certificate)?.subject_public_key_info();
        let mut pin = [0; 32];
        pin.copy_from_slice(digest(&SHA256, &key).as_ref());
        Ok(Pin(pin))
    }
}

impl fmt::Display for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", BASE64.encode(&self.0))
    }
}

impl FromStr for Pin {
    type Err = String;

    fn from_str(text: &str) -> Result<Pin, String> {
        let hash = text.strip_prefix(PREFIX).and_then(|hash| BASE64.decode(hash.as_bytes()).ok());
        let hash = hash.and_then(|hash| hash.try_into().ok());
        hash.map(Pin)
            .ok_or_else(|| format!("this is no pin; they are {PREFIX} and 44 characters, as pcc serve prints them"))
    }
}
