//! What several tests need.

use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg};
use nix::sys::time::TimeSpec;
use std::io::IoSliceMut;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::time::{Duration, SystemTime};

/// Receives a datagram on a socket with `ReceiveTimestampns`; when it came by the kernel's clock, so that it doesn't count when
/// this thread woke up.
pub fn receive(socket: &UdpSocket, buffer: &mut [u8]) -> SystemTime {
    let mut control = nix::cmsg_space!(TimeSpec);
    let mut iov = [IoSliceMut::new(buffer)];
    let message = recvmsg::<()>(socket.as_raw_fd(), &mut iov, Some(&mut control), MsgFlags::empty()).unwrap();
    match message.cmsgs().unwrap().next() {
        Some(ControlMessageOwned::ScmTimestampns(at)) => SystemTime::UNIX_EPOCH + Duration::from(at),
        other => panic!("no time but {other:?}"),
    }
}
