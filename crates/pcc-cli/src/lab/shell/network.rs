//! The two ends of the path: a network namespace for the command, and this machine.

use anyhow::{Context, bail};
use pcc_emulator::EmulatorError;
use pcc_emulator::emulator::Tun;
use pcc_emulator::host::{Namespace, To};
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr};

/// The name of the TUN device that the command sees.
const INSIDE: &str = "pcc0";

/// Both ends; all of it is gone when the process ends.
pub struct Network {
    /// The network namespace of the command.
    pub namespace: Namespace,
    /// The command's end of the path.
    pub inside: Tun,
    /// This machine's end.
    pub outside: Tun,
    /// What this machine's device is called.
    pub device: String,
    /// The address of the command.
    pub address: Ipv4Addr,
    /// The address under which the command reaches this machine.
    pub host: Ipv4Addr,
}

impl Network {
    /// Makes the devices, with addresses that nothing else here uses.
    pub fn new() -> anyhow::Result<Network> {
        let namespace = Namespace::new()?;
        let inside = namespace.run(|| Tun::open(INSIDE, true))?;
        let (outside, number) = free_device()?;
        let device = device_name(number);
        let [host, address] = addresses(number);
        // Else this machine looks for routers behind the path.
        let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{device}/disable_ipv6"), "1");
        Namespace::current()?.attach(&device, &[host], &[To::host(address, host)])?;
        namespace.attach(INSIDE, &[address], &[To::ANYWHERE])?;
        Ok(Network { namespace, inside, outside, device, address, host })
    }
}

fn device_name(number: u8) -> String {
    format!("pcc{number}")
}

/// This machine's address and that of the command, in the network that RFC 2544 reserves for measurements.
fn addresses(number: u8) -> [Ipv4Addr; 2] {
    [1, 2].map(|end| Ipv4Addr::new(198, 18, number, end))
}

/// Opens the first device whose name and addresses are free.
fn free_device() -> anyhow::Result<(Tun, u8)> {
    let used: Vec<IpAddr> = if_addrs::get_if_addrs()
        .context("can't list the addresses of this machine")?
        .iter()
        .map(|interface| interface.ip())
        .collect();
    let is_free = |number: &u8| !addresses(*number).iter().any(|address| used.contains(&IpAddr::V4(*address)));
    for number in (1..=u8::MAX).filter(is_free) {
        match Tun::open(&device_name(number), true) {
            Ok(device) => return Ok((device, number)),
            // Another shell was faster.
            Err(EmulatorError::Tun { error, .. }) if error.kind() == ErrorKind::ResourceBusy => {}
            Err(error) => return Err(error.into()),
        }
    }
    bail!("there are {} devices pcc1, pcc2, ... already", u8::MAX)
}
