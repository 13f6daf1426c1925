//! What the two sides of a proxy say to each other.
//!
//! The side that has the ticket connects and proves on a first stream that it holds it, and the other side says that it is
//! in. From then on each TCP connection is a *tunnel*: two bidirectional streams, opened one after the other, one for each
//! direction of the data.
//!
//! ```text
//! first stream:   ->  Request, then what the program sends        <-  credit for it
//! second stream:  ->  credit                                      <-  Answer, then what the target sends
//! ```
//!
//! What the program sends may follow the request at once. Data goes as it is up to the end of the stream, which is the end of
//! that direction (TCP's FIN). A reset stream is a reset TCP connection. Credit is numbers of 8 bytes, the least significant
//! byte first: how many bytes of data may be sent from the begin on. It starts at [`START`](super::credit::START). The first
//! credit on the second stream says just that, so that the other side sees the stream.
//!
//! UDP has *flows*: a unidirectional stream that says where datagrams go, and that is open as long as the flow (as in
//! RFC 9298). Their payloads are QUIC datagrams (RFC 9221), behind the index of that stream among its kind (RFC 9000, 2.1) in
//! LEB128. They may come before the stream does.
//!
//! ```text
//! stream:      ->  Request        <-  STOP_SENDING, with a code that says why the flow has ended: [`ENDED`] or a refusal's
//! datagrams:  <->  index, payload
//! ```

use super::target::Target;
use crate::peer::door;
use noq::VarInt;
use serde::{Deserialize, Serialize};

/// Says which protocol, and which version of it, this is.
pub const ALPN: &[u8] = b"pcc-proxy/1";
/// The longest message. A request has the name of a host.
pub const MAX_MESSAGE: usize = 300;
/// Tunnels of a connection that may be open at once.
pub const MAX_TUNNELS: u32 = 1024;
/// With this, streams of a tunnel end that was cut off.
pub const RESET: VarInt = VarInt::from_u32(1);
/// With this, the stream of a flow is stopped when nothing moves any more.
pub const ENDED: VarInt = VarInt::from_u32(0);

/// The first message of the side that has the ticket.
#[derive(Debug, Serialize, Deserialize)]
pub struct Hello {
    /// Proof that it knows the secret of the ticket.
    pub proof: [u8; 32],
}

impl door::Hello for Hello {
    fn proof(&self) -> [u8; 32] {
        self.proof
    }
}

/// The proof is good: tunnels may be opened.
#[derive(Debug, Serialize, Deserialize)]
pub struct Welcome;

/// What a tunnel or a flow is for.
#[derive(Debug, Serialize, Deserialize)]
pub struct Request {
    /// Where it is to lead.
    pub target: Target,
}

/// Whether there is a connection to the target.
pub type Answer = Result<(), Refusal>;

/// Why there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Refusal {
    /// The rules of the far side forbid it.
    #[error("this target is not allowed: see pcc proxy serve --allow")]
    NotAllowed,
    /// There is no such name, or no way to its addresses.
    #[error("the far side knows no way to this host")]
    HostUnreachable,
    /// No network leads there.
    #[error("no network of the far side leads to this host")]
    NetworkUnreachable,
    /// Nobody listens there.
    #[error("the target refuses connections")]
    ConnectionRefused,
    /// It did not answer in time.
    #[error("the target does not answer")]
    TimedOut,
    /// Too many tunnels are open, or the far side is about to end.
    #[error("the far side takes no more connections")]
    Overloaded,
    /// It can't be reached.
    #[error("there is no connection to the far side")]
    NoFarSide,
    /// Something else is wrong.
    #[error("the far side cannot connect to the target")]
    Other,
    /// Too many tunnels of the near side are open, or it is about to end. It is never sent.
    #[error("this side of the proxy takes no more connections: {MAX_TUNNELS} are open, or it is about to end")]
    Full,
}

impl Refusal {
    const ALL: [Refusal; 9] = [
        Refusal::NotAllowed,
        Refusal::HostUnreachable,
        Refusal::NetworkUnreachable,
        Refusal::ConnectionRefused,
        Refusal::TimedOut,
        Refusal::Overloaded,
        Refusal::NoFarSide,
        Refusal::Other,
        Refusal::Full,
    ];

    /// With this, the stream of a flow is stopped.
    pub fn code(self) -> VarInt {
        VarInt::from_u32(self as u32 + 1)
    }

    /// What was meant with a code.
    pub fn from_code(code: VarInt) -> Refusal {
        Refusal::ALL.into_iter().find(|refusal| refusal.code() == code).unwrap_or(Refusal::Other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_comes_is_refused_or_a_target(host in "\\PC{0,20}|[0-9a-f:.]{0,20}|[a-z.-]{1,260}", port: u16) {
            let bytes = postcard::to_stdvec(&(host, port)).unwrap();
            let Request { target } = postcard::from_bytes(&bytes).unwrap();
            if target.check().is_ok() {
                prop_assert!(target.to_string().parse::<Target>().is_ok(), "{}", target);
            }
        }

        #[test]
        fn nonsense_is_survived(bytes in prop::collection::vec(any::<u8>(), 0..MAX_MESSAGE)) {
            if let Ok(Request { target }) = postcard::from_bytes(&bytes) {
                prop_assert!(target.host().len() <= bytes.len());
            }
        }
    }

    #[test]
    fn every_refusal_has_its_code() {
        for refusal in Refusal::ALL {
            assert_eq!(Refusal::from_code(refusal.code()), refusal);
            assert_ne!(refusal.code(), ENDED);
        }
        assert_eq!(Refusal::from_code(VarInt::MAX), Refusal::Other);
    }

    #[test]
    fn messages_fit_their_limits() {
        let hello = postcard::to_stdvec(&Hello { proof: [255; 32] }).unwrap();
        assert!(hello.len() <= door::MAX_HELLO);
        let target = Target::new(&"a".repeat(255), u16::MAX).unwrap();
        assert!(postcard::to_stdvec(&Request { target }).unwrap().len() <= MAX_MESSAGE);
        assert!(Target::new(&"a".repeat(256), 1).is_err());
    }
}
