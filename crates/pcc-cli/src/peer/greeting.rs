//! The first packet of a sender: it shows already that the sender holds the ticket.
//!
//! The sender chooses the connection ID that its first packet goes to (RFC 9000 7.2). Here it is a number and a hash of it
//! that is keyed with the ticket's secret. So the receiver can turn everybody else away before it keeps or computes
//! anything, however many they are. It is no proof: who listens on the path can use it again.

use noq_proto::ConnectionId;

/// The longest that QUIC has (RFC 9000 17.2).
const LEN: usize = 20;
const NUMBER_LEN: usize = 8;

/// Makes and recognises such IDs.
#[derive(Clone, Copy)]
pub struct Greeting {
    key: [u8; 32],
}

impl Greeting {
    /// Of those that hold this secret.
    pub fn new(secret: &[u8; 32]) -> Self {
        Self { key: blake3::derive_key("pcc-transfer/3 first packet", secret) }
    }

    fn id(&self, number: &[u8]) -> [u8; LEN] {
        let hash = blake3::keyed_hash(&self.key, number);
        let mut id = [0; LEN];
        id[..NUMBER_LEN].copy_from_slice(number);
        id[NUMBER_LEN..].copy_from_slice(&hash.as_bytes()[..LEN - NUMBER_LEN]);
        id
    }

    /// A new one.
    pub fn make(&self) -> ConnectionId {
        ConnectionId::new(&self.id(&fastrand::u64(..).to_le_bytes()))
    }

    /// Whether whoever chose this ID holds the secret.
    pub fn is_good(&self, id: &ConnectionId) -> bool {
        // Comparison of `blake3::Hash` takes constant time.
        id.len() == LEN && blake3::hash(&self.id(&id[..NUMBER_LEN])) == blake3::hash(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_secret_makes_good_ones() {
        let (right, wrong) = (Greeting::new(&[1; 32]), Greeting::new(&[2; 32]));
        let id = right.make();
        assert!(right.is_good(&id) && right.is_good(&right.make()) && !wrong.is_good(&id));
        assert_ne!(id, right.make());
        for at in 0..LEN {
            let mut other = id.to_vec();
            other[at] ^= 1;
            assert!(!right.is_good(&ConnectionId::new(&other)));
            assert!(!right.is_good(&ConnectionId::new(&id[..at])));
        }
    }
}
