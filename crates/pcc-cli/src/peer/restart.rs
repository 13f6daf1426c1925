//! What a server keeps over a restart, so that it recognises packets of a connection that it no longer knows, and can tell the
//! other side at once, instead of leaving it to a timeout (a stateless reset, RFC 9000 10.3).

use noq::EndpointConfig;
use noq::crypto::{CryptoError, HmacKey};
use noq_proto::HashedConnectionIdGenerator;
use std::sync::Arc;

/// An endpoint with the keys that follow from this secret.
pub fn endpoint_config(secret: &[u8; 32]) -> EndpointConfig {
    let id = blake3::derive_key("pcc-transfer/1 connection ids", secret);
    let id = id.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let mut config = EndpointConfig::new(Arc::new(ResetKey::new(secret)));
    config.cid_generator(Arc::new(move || Box::new(HashedConnectionIdGenerator::from_key(id))));
    config
}

struct ResetKey([u8; 32]);

impl ResetKey {
    fn new(secret: &[u8; 32]) -> ResetKey {
        ResetKey(blake3::derive_key("pcc-transfer/1 stateless reset", secret))
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reset_tokens_survive_a_restart() {
        let secret = [7; 32];
        let mut signature = [0; 32];
        ResetKey::new(&secret).sign(b"connection", &mut signature);
        assert!(ResetKey::new(&secret).verify(b"connection", &signature).is_ok());
        assert!(ResetKey::new(&secret).verify(b"other", &signature).is_err());
        assert!(ResetKey::new(&secret).verify(b"connection", &signature[..16]).is_err());
    }
}
