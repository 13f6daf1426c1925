//! TUN devices: what the kernel of one side sends comes out here, and what goes in here it receives.

use super::EmulatorError;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use tun_rs::{DeviceBuilder, SyncDevice};

/// The largest IP packet that a device carries.
pub const MTU: u16 = 1500;

/// Packets that the kernel holds while the emulator doesn't read. Filling it would be a loss that no link asked for.
const QUEUE_PACKETS: u32 = 10_000;

/// A TUN device; it is gone when dropped.
///
/// Each read and write is one frame: a header of virtio-net (`super::vnet`) and an IP packet, which may be a super-packet of up to
/// 64 KB where the device offloads segmentation.
pub struct Tun {
    device: SyncDevice,
}

impl Tun {
    /// Makes the device `name` in the network namespace of this thread, up and without addresses. With `offload` the kernel leaves
    /// segmentation and checksums of TCP and UDP to us.
    ///
    /// # Errors
    ///
    /// When the kernel has no TUN, or doesn't let this process make one.
    pub fn open(name: &str, offload: bool) -> Result<Tun, EmulatorError> {
        let device = DeviceBuilder::new()
            .name(name)
            .mtu(MTU)
            .offload(offload)
            .tx_queue_len(QUEUE_PACKETS)
            .build_sync()
            .map_err(|error| EmulatorError::Tun { name: name.to_owned(), error })?;
        device.set_nonblocking(true).map_err(|error| EmulatorError::Tun { name: name.to_owned(), error })?;
        Ok(Tun { device })
    }

    /// Reads a frame.
    ///
    /// # Errors
    ///
    /// `WouldBlock` when there is none.
    pub fn read(&self, frame: &mut [u8]) -> io::Result<usize> {
        self.device.recv(frame)
    }

    /// Writes a frame.
    ///
    /// # Errors
    ///
    /// When the kernel doesn't take it.
    pub fn write(&self, frame: &[u8]) -> io::Result<usize> {
        self.device.send(frame)
    }

    /// Whether frames have super-packets, and the header of virtio-net.
    pub fn offloads(&self) -> bool {
        self.device.tcp_gso()
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}
