//! The controller of connections along a route.

use crate::netlink::request;
use anyhow::{Context, bail};
use rtnetlink::packet_core::{NLM_F_ACK, NLM_F_DUMP, NLM_F_REPLACE};
use rtnetlink::packet_route::route::{
    RouteAddress, RouteAttribute, RouteFlags, RouteHeader, RouteMessage, RouteMetric,
};
use rtnetlink::packet_route::{AddressFamily, RouteNetlinkMessage};
use rtnetlink::sys::protocols::NETLINK_ROUTE;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;

/// The destinations of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    address: IpAddr,
    length: u8,
}

impl FromStr for Prefix {
    type Err = String;

    /// As `ip route` writes them: `10.0.0.0/8`, `2001:db8::/32`, one address, or `default`.
    fn from_str(text: &str) -> Result<Prefix, String> {
        if text == "default" {
            return Ok(Prefix { address: Ipv4Addr::UNSPECIFIED.into(), length: 0 });
        }
        let wrong =
            || format!("write the prefix as `ip route` shows it, such as 10.0.0.0/8 or 2001:db8::/32, not `{text}`");
        let (address, length) = text.split_once('/').map_or((text, None), |(address, length)| (address, Some(length)));
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let length = length.map_or(Ok(most), str::parse).ok().filter(|length| *length <= most).ok_or_else(wrong)?;
        Ok(Prefix { address, length })
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

/// Sets the controller of connections to destinations of this route in the main table, or leaves it to the default for
/// `None`; gives what it was before. An application may still choose another one.
///
/// # Errors
///
/// When there is no such route, several of them differ, the controller isn't registered, or the caller may not do it.
pub fn set_controller(prefix: Prefix, controller: Option<&str>) -> anyhow::Result<Option<String>> {
    let (routes, before) = (routes(prefix)?, controller_of(prefix)?);
    if routes.iter().any(expires) {
        bail!(
            "the route to {prefix} is there for a time only, as from a router's advertisement; changing it would make it stay: \
             set the default of the namespace instead"
        );
    }
    for mut route in routes.iter().cloned() {
        change(&mut route, controller);
        request(NETLINK_ROUTE, RouteNetlinkMessage::NewRoute(route), NLM_F_REPLACE | NLM_F_ACK)
            .with_context(|| format!("changing the route to {prefix}"))?;
    }
    Ok(before)
}

/// The controller of connections to destinations of this route in the main table; `None` for that of the namespace.
///
/// # Errors
///
/// When there is no such route, or several of them differ.
pub fn controller_of(prefix: Prefix) -> anyhow::Result<Option<String>> {
    let routes = routes(prefix)?;
    let Some(controller) = routes.first().map(self::controller) else {
        bail!("there is no route to {prefix} in the main table; `ip route` shows those that there are");
    };
    if routes.iter().any(|route| self::controller(route) != controller) {
        bail!(
            "the routes to {prefix} have different controllers, which could not be brought back: use `ip route change`"
        );
    }
    Ok(controller.map(str::to_owned))
}

/// The routes to exactly this prefix in the main table: more than one where they have different metrics.
fn routes(prefix: Prefix) -> anyhow::Result<Vec<RouteMessage>> {
    let mut all = RouteMessage::default();
    all.header.address_family = if prefix.address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let answers =
        request(NETLINK_ROUTE, RouteNetlinkMessage::GetRoute(all), NLM_F_DUMP).context("reading the routes")?;
    let is_meant = |route: &RouteMessage| {
        let destination = route.attributes.iter().find_map(|attribute| match attribute {
            RouteAttribute::Destination(RouteAddress::Inet(address)) => Some(IpAddr::V4(*address)),
            RouteAttribute::Destination(RouteAddress::Inet6(address)) => Some(IpAddr::V6(*address)),
            _ => None,
        });
        route.header.table == RouteHeader::RT_TABLE_MAIN
            && route.header.destination_prefix_length == prefix.length
            && (prefix.length == 0 || destination == Some(prefix.address))
    };
    let routes = answers.into_iter().filter_map(|answer| match answer {
        RouteNetlinkMessage::NewRoute(route) => Some(route),
        _ => None,
    });
    Ok(routes.filter(is_meant).collect())
}

/// Whether the kernel will remove it by itself.
fn expires(route: &RouteMessage) -> bool {
    route.attributes.iter().any(|attribute| matches!(attribute, RouteAttribute::CacheInfo(info) if info.expires != 0))
}

fn controller(route: &RouteMessage) -> Option<&str> {
    let metrics = route.attributes.iter().filter_map(|attribute| match attribute {
        RouteAttribute::Metrics(metrics) => Some(metrics),
        _ => None,
    });
    metrics.flatten().find_map(|metric| match metric {
        RouteMetric::CcAlgo(name) => Some(name.as_str()),
        _ => None,
    })
}

/// Makes of a route, as the kernel shows it, one that it takes, with another controller.
fn change(route: &mut RouteMessage, controller: Option<&str>) {
    // The others tell of the link's state, and the kernel refuses them.
    route.header.flags &= RouteFlags::Onlink;
    let mut metrics = Vec::new();
    route.attributes.retain_mut(|attribute| match attribute {
        RouteAttribute::Metrics(known) => {
            metrics.append(known);
            false
        }
        RouteAttribute::CacheInfo(_) => false,
        _ => true,
    });
    metrics.retain(|metric| !matches!(metric, RouteMetric::CcAlgo(_)));
    metrics.extend(controller.map(|name| RouteMetric::CcAlgo(name.to_owned())));
    if !metrics.is_empty() {
        route.attributes.push(RouteAttribute::Metrics(metrics));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_those_of_ip_route() {
        for (text, shown) in [
            ("10.0.0.0/8", "10.0.0.0/8"),
            ("10.1.2.3", "10.1.2.3/32"),
            ("2001:db8::/32", "2001:db8::/32"),
            ("::1", "::1/128"),
            ("default", "0.0.0.0/0"),
        ] {
            assert_eq!(text.parse::<Prefix>().map(|prefix| prefix.to_string()).as_deref(), Ok(shown));
        }
        for text in ["10.0.0/8", "10.0.0.0/33", "::/129", "10.0.0.0/", "example.org"] {
            assert!(text.parse::<Prefix>().is_err_and(|error| error.contains(text)), "{text}");
        }
    }

    #[test]
    fn other_metrics_of_a_route_stay() {
        let mut route = RouteMessage::default();
        route.attributes =
            vec![RouteAttribute::Metrics(vec![RouteMetric::Mtu(1400), RouteMetric::CcAlgo("bbr".into())])];
        change(&mut route, Some("cubic"));
        assert_eq!(controller(&route), Some("cubic"));
        change(&mut route, None);
        assert_eq!(route.attributes, [RouteAttribute::Metrics(vec![RouteMetric::Mtu(1400)])]);
    }
}
