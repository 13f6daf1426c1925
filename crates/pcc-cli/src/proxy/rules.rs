//! Where tunnels may lead.

use super::own_addresses::is_of_this_machine;
use super::public::{is_public, translated};
use super::target::Target;
use ipnet::{IpNet, Ipv4Net};
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use tokio::net::lookup_host;

/// Something that `--allow` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowed {
    host: Host,
    /// Absent for all ports.
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Host {
    Network(IpNet),
    /// Looked up whenever it matters.
    Name(String),
}

impl FromStr for Allowed {
    type Err = String;

    fn from_str(text: &str) -> Result<Allowed, String> {
        let wanted = || {
            format!(
                "{text:?} is neither HOST:PORT nor NETWORK:PORT; right are camera:554, 10.1.0.0/16:22, [fd00::/8]:443 and, for all ports, camera:*"
            )
        };
        let (host, port) = text.rsplit_once(':').ok_or_else(wanted)?;
        let port = match port {
            "*" => None,
            port => Some(port.parse().ok().filter(|port| *port > 0).ok_or_else(wanted)?),
        };
        if host.contains('*') {
            let all = "only a port can be *; all hosts, private ones too, are 0.0.0.0/0:* and [::/0]:*";
            return Err(format!("{text:?}: {all}"));
        }
        let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let network =
            |text: &str| text.parse().or_else(|_| text.parse::<IpAddr>().map(IpNet::from)).ok().map(canonical);
        let host = match inner {
            Some(inner) => Host::Network(network(inner).ok_or_else(wanted)?),
            None => match network(host).filter(|net| matches!(net, IpNet::V4(_))) {
                Some(network) => Host::Network(network),
                None if host.contains('/') => return Err(wanted()),
                None => Host::Name(Target::new(host, 1).map_err(|why| format!("{text:?}: {why}"))?.host().to_owned()),
            },
        };
        Ok(Allowed { host, port })
    }
}

impl Allowed {
    async fn names(&self, address: SocketAddr) -> bool {
        if self.port.is_some_and(|port| port != address.port()) {
            return false;
        }
        let ips = [address.ip(), translated(address.ip())];
        match &self.host {
            Host::Network(network) => ips.iter().any(|ip| network.contains(ip)),
            Host::Name(name) => {
                let found = lookup_host((name.as_str(), address.port())).await;
                found.is_ok_and(|mut found| found.any(|found| ips.contains(&found.ip().to_canonical())))
            }
        }
    }
}

/// A network of IPv4 addresses that is written as one of IPv6 addresses (RFC 4291 2.5.5.2), as one of IPv4.
fn canonical(network: IpNet) -> IpNet {
    const MAPPED: u8 = 96;
    match (network.addr().to_canonical(), network.prefix_len().checked_sub(MAPPED)) {
        (IpAddr::V4(v4), Some(prefix)) if network.addr().is_ipv6() => Ipv4Net::new_assert(v4, prefix).into(),
        _ => network,
    }
}

/// Where tunnels may lead.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// What is allowed although it is not of the public internet.
    pub allow: Vec<Allowed>,
    /// Whether nothing else is allowed.
    pub only_allowed: bool,
}

impl Rules {
    /// Whether a tunnel may lead to this address. It is what a name was resolved to, and what is connected to: a name that is
    /// something else when it is looked up again leads nowhere else.
    pub async fn allow(&self, address: SocketAddr) -> bool {
        let address = SocketAddr::new(address.ip().to_canonical(), address.port());
        if !self.only_allowed && is_public(address.ip()) && !is_of_this_machine(address.ip()) {
            return true;
        }
        for allowed in &self.allow {
            if allowed.names(address).await {
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(allow: &[&str], only_allowed: bool) -> Rules {
        Rules { allow: allow.iter().map(|text| text.parse().unwrap()).collect(), only_allowed }
    }

    #[tokio::test]
    async fn what_is_not_public_must_be_named() {
        let rules = rules(
            &[
                "127.0.0.1:80",
                "[::ffff:127.0.0.3]:80",
                "[::ffff:127.0.1.0/120]:80",
                "10.1.0.0/16:22",
                "[64:ff9b::/96]:26",
                "[fd00::/8]:443",
                "10.9.9.9:*",
            ],
            false,
        );
        for (address, allowed) in [
            ("127.0.0.1:80", true),
            ("[::ffff:127.0.0.1]:80", true),
            ("127.0.0.1:81", false),
            ("127.0.0.2:80", false),
            ("127.0.0.3:80", true),
            ("127.0.1.7:80", true),
            ("[64:ff9b::10.1.200.3]:22", true),
            ("[64:ff9b::10.2.0.1]:22", false),
            ("[64:ff9b::1.1.1.1]:25", true),
            ("[64:ff9b::10.3.0.1]:26", true),
            ("10.3.0.1:26", false),
            ("10.1.200.3:22", true),
            ("10.2.0.1:22", false),
            ("[fd12::1]:443", true),
            ("[fd12::1]:444", false),
            ("10.9.9.9:1", true),
            ("169.254.169.254:80", false),
            ("1.1.1.1:25", true),
        ] {
            assert_eq!(rules.allow(address.parse().unwrap()).await, allowed, "{address}");
        }
    }

    #[tokio::test]
    async fn the_public_internet_can_be_left_out() {
        let rules = rules(&["1.1.1.1:443"], true);
        assert!(rules.allow("1.1.1.1:443".parse().unwrap()).await);
        assert!(!rules.allow("1.1.1.1:80".parse().unwrap()).await);
        assert!(!rules.allow("8.8.8.8:443".parse().unwrap()).await);
    }

    #[tokio::test]
    async fn names_are_looked_up() {
        let rules = rules(&["localhost:80"], false);
        assert!(rules.allow("127.0.0.1:80".parse().unwrap()).await);
        assert!(!rules.allow("127.0.0.1:81".parse().unwrap()).await);
        assert!(!rules.allow("10.0.0.1:80".parse().unwrap()).await);
    }

    #[test]
    fn mistakes_are_named() {
        for text in ["camera", "camera:0", "camera:x", "[camera]:1", "10.0.0.0/33:1", "fd00::/8:443", ":80"] {
            let error = text.parse::<Allowed>().unwrap_err();
            assert!(error.contains(text), "{error}");
        }
        for text in ["*:*", "*:22", "*.lan:80"] {
            let error = text.parse::<Allowed>().unwrap_err();
            assert!(error.contains("0.0.0.0/0:* and [::/0]:*"), "{error}");
        }
        for all in ["0.0.0.0/0:*", "[::/0]:*"] {
            assert!(all.parse::<Allowed>().is_ok(), "{all}");
        }
        for network in ["10.0.0.0/33:1", "[fd00::/129]:443"] {
            assert!(network.parse::<Allowed>().unwrap_err().contains("NETWORK:PORT"));
        }
    }
}
