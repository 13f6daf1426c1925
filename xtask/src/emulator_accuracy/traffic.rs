//! Datagrams, and when they came.

use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt};
use nix::sys::time::TimeSpec;
use pcc::Rate;
use std::io::{self, IoSliceMut};
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Payload of a datagram that is a packet of 1500 bytes.
pub const PAYLOAD: usize = 1472;
/// Bytes of such a packet.
pub const PACKET: u64 = 1500;

/// The time by the clock that the kernel's stamps are of.
pub fn wall_clock() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Sends super-packets of `segments` datagrams at `rate`, until `packets` are sent.
pub fn blast(socket: &UdpSocket, rate: Rate, segments: usize, packets: u64) -> io::Result<()> {
    setsockopt(socket, sockopt::UdpGsoSegment, &(PAYLOAD as i32))?;
    let datagrams = vec![0; PAYLOAD * segments];
    let began = Instant::now();
    let mut sent = 0;
    while sent < packets {
        // Always as many as the rate has earned: a late wake-up is made up for.
        std::thread::sleep(rate.time_for(sent * PACKET).saturating_sub(began.elapsed()));
        socket.send(&datagrams)?;
        sent += segments as u64;
    }
    Ok(())
}

/// Sends a datagram with the time of the wall clock each millisecond.
pub fn probe(socket: &UdpSocket, probes: u64) -> io::Result<()> {
    for _ in 0..probes {
        std::thread::sleep(Duration::from_millis(1));
        socket.send(&(wall_clock().as_nanos() as u64).to_ne_bytes())?;
    }
    Ok(())
}

/// Datagrams that were received together.
pub struct Received {
    /// When, by the kernel's clock.
    pub at: Duration,
    pub bytes: u64,
    /// The first eight bytes.
    pub stamp: u64,
}

/// Receives until nothing comes for a while after `over`.
pub fn receive(socket: &UdpSocket, over: &AtomicBool, mut each: impl FnMut(Received)) -> io::Result<()> {
    let mut buffer = vec![0; 1 << 16];
    let mut control = nix::cmsg_space!(TimeSpec, i32);
    loop {
        let ending = over.load(Ordering::Relaxed);
        let mut iov = [IoSliceMut::new(&mut buffer)];
        let message = recvmsg::<()>(socket.as_raw_fd(), &mut iov, Some(&mut control), MsgFlags::empty());
        let (bytes, at) = match message {
            Ok(message) => {
                let stamp = message.cmsgs()?.find_map(|message| match message {
                    ControlMessageOwned::ScmTimestampns(at) => Some(at.into()),
                    _ => None,
                });
                (message.bytes, stamp.unwrap_or_else(wall_clock))
            }
            Err(nix::errno::Errno::EAGAIN) if ending => return Ok(()),
            Err(nix::errno::Errno::EAGAIN | nix::errno::Errno::EINTR) => continue,
            Err(error) => return Err(error.into()),
        };
        let stamp = buffer.first_chunk().map_or(0, |stamp| u64::from_ne_bytes(*stamp));
        each(Received { at, bytes: bytes as u64, stamp });
    }
}
