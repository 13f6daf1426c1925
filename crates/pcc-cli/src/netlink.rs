//! Questions to the kernel about sockets and routes, in the network namespace of this thread.

use anyhow::Context;
use rtnetlink::packet_core::{
    NLM_F_REQUEST, NetlinkDeserializable, NetlinkHeader, NetlinkMessage, NetlinkPayload, NetlinkSerializable,
};
use rtnetlink::sys::{Socket, SocketAddr};

/// Sends a request with these flags (`NLM_F_*`), and waits for all answers.
///
/// # Errors
///
/// When the kernel refuses; the cause is a [`std::io::Error`].
pub fn request<M>(protocol: isize, message: M, flags: u16) -> anyhow::Result<Vec<M>>
where
    M: NetlinkSerializable + NetlinkDeserializable,
{
    let mut socket = Socket::new(protocol)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    let mut request = NetlinkMessage::new(NetlinkHeader::default(), NetlinkPayload::InnerMessage(message));
    request.header.flags = NLM_F_REQUEST | flags;
    request.finalize();
    let mut bytes = vec![0; request.buffer_len()];
    request.serialize(&mut bytes);
    socket.send(&bytes, 0)?;
    let mut answers = Vec::new();
    loop {
        let (datagram, _) = socket.recv_from_full()?;
        let mut rest = &datagram[..];
        while !rest.is_empty() {
            let answer = NetlinkMessage::<M>::deserialize(rest).context("the kernel's answer")?;
            let length = answer.header.length.next_multiple_of(4) as usize;
            rest = rest.get(length..).unwrap_or_default();
            match answer.payload {
                NetlinkPayload::InnerMessage(message) => answers.push(message),
                NetlinkPayload::Error(error) if error.code.is_some() => return Err(error.to_io().into()),
                NetlinkPayload::Error(_) | NetlinkPayload::Done(_) => return Ok(answers),
                NetlinkPayload::Noop | NetlinkPayload::Overrun(_) => {}
                _ => {}
            }
        }
    }
}
