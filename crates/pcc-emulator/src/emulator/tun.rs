//! TUN devices: what the kernel of one side sends comes out here, and what goes in here it receives.

use crate::error::EmulatorError;
use crate::host::Namespace;
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
    name: String,
    /// The network namespace that the device was made in.
    namespace: Namespace,
}

impl Tun {
    /// Makes the device `name` in the network namespace of this thread, up and without addresses. With `offload` the kernel leaves
    /// segmentation and checksums of TCP and UDP to us, which takes a fraction of the processor time; without, each packet is sent
    /// and received by itself.
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
        Ok(Tun { device, name: name.to_owned(), namespace: Namespace::current()? })
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

    /// How many packets the device has dropped, both ways.
    ///
    /// # Errors
    ///
    /// When its namespace can't be entered.
    pub fn drops(&self) -> Result<u64, EmulatorError> {
        self.namespace.run(|| {
            let table = std::fs::read_to_string("/proc/thread-self/net/dev")
                .map_err(|error| EmulatorError::System { doing: "reading /proc/thread-self/net/dev", error })?;
            Ok(drops_of(&table, &self.name))
        })
    }
}

/// Finds the dropped packets of a device in the format of Linux' `/proc/net/dev`: after its name, 8 numbers on what it received
/// and 8 on what it sent, of which each time the fourth counts drops.
fn drops_of(table: &str, device: &str) -> u64 {
    let numbers = table.lines().find_map(|line| line.trim_start().strip_prefix(device)?.strip_prefix(':'));
    let numbers: Vec<u64> = numbers.into_iter().flat_map(str::split_whitespace).flat_map(str::parse).collect();
    [3, 11].iter().filter_map(|column| numbers.get(*column)).sum()
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_are_those_of_the_device() {
        let table = "Inter-|   Receive                                                |  Transmit\n \
            face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n    \
              lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n \
            tun1: 10 20 0 3 0 0 0 0 30 40 0 5 0 0 0 0\n";
        assert_eq!((drops_of(table, "tun1"), drops_of(table, "tun"), drops_of(table, "tun12")), (8, 0, 0));
    }
}
