//! Where a connection leads: a host and a port, as people and programs write it.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

/// The longest name of a host (RFC 1035 2.3.4; SOCKS5 has a byte for the length).
const MAX_HOST: usize = 255;

/// A host, by name or address, and a port. Names are resolved at the far side.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Target {
    host: String,
    port: u16,
}

impl Target {
    /// The port of this host. IPv6 addresses may be in brackets.
    ///
    /// # Errors
    ///
    /// What is wrong with the host or the port.
    pub fn new(host: &str, port: u16) -> Result<Target, String> {
        let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let host = match inner {
            Some(inner) => inner.parse::<Ipv6Addr>().map_err(|_| format!("{inner:?} is no IPv6 address"))?.to_string(),
            None => host.to_owned(),
        };
        let target = Target { host, port };
        target.check().map(|()| target)
    }

    /// Whether it makes sense: what came over the network may be anything.
    ///
    /// # Errors
    ///
    /// What is wrong.
    pub fn check(&self) -> Result<(), String> {
        let shown = |c: char| c.is_ascii_graphic() && !"/\\@[]%\"<>".contains(c) || c.is_alphanumeric();
        let is_address = self.host.parse::<IpAddr>().is_ok();
        if self.host.is_empty() || self.host.len() > MAX_HOST {
            return Err(format!("the name of a host has 1 to {MAX_HOST} bytes"));
        }
        if !is_address && (!self.host.chars().all(shown) || self.host.contains(':')) {
            return Err(format!("{:?} is no name of a host", self.host));
        }
        if self.port == 0 {
            return Err("port 0 is none to connect to".to_owned());
        }
        Ok(())
    }

    /// The name or address.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let brackets = if self.host.contains(':') { ("[", "]") } else { ("", "") };
        write!(f, "{}{}{}:{}", brackets.0, self.host, brackets.1, self.port)
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Target, String> {
        let wanted = || format!("{text:?} is no HOST:PORT, such as camera:554 or [2001:db8::1]:22");
        let (host, port) = text.rsplit_once(':').ok_or_else(wanted)?;
        if host.contains(':') && !host.starts_with('[') {
            return Err(wanted());
        }
        Target::new(host, port.parse().map_err(|_| wanted())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        for text in ["camera:554", "192.0.2.1:80", "[2001:db8::1]:22", "größe.example:443", "_x.example.:1"] {
            assert_eq!(text.parse::<Target>().unwrap().to_string(), text);
        }
        assert_eq!("[2001:DB8:0::1]:22".parse::<Target>().unwrap().host(), "2001:db8::1");
    }

    #[test]
    fn mistakes_are_named() {
        for (text, why) in [
            ("camera", "HOST:PORT"),
            ("camera:", "HOST:PORT"),
            ("camera:99999", "HOST:PORT"),
            ("2001:db8::1:22", "HOST:PORT"),
            ("camera:0", "port 0"),
            (":80", "1 to 255"),
            ("[camera]:80", "IPv6"),
            ("a b:80", "no name"),
            ("a\n:80", "no name"),
            ("user@host:80", "no name"),
        ] {
            let error = text.parse::<Target>().unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
        assert!(Target::new(&"a".repeat(256), 1).is_err());
    }
}
