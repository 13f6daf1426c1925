//! `--metrics`: the numbers of `pcc proxy status`, and how connections of programs ended.

use super::counters::Counters;
use super::session::Status;
use crate::metrics::Page;

/// A number of each connection: its name, type and meaning, and the number where there is one.
type Metric = (&'static str, &'static str, &'static str, fn(&Status) -> Option<f64>);

/// Bytes per second in a Mbit/s.
const MBPS: f64 = 125_000.0;

const METRICS: [Metric; 12] = [
    ("sent_bytes_total", "counter", "Bytes sent, without the headers of UDP and IP", |s| Some(s.sent_bytes as f64)),
    ("received_bytes_total", "counter", "Bytes received, without the headers of UDP and IP", |s| {
        Some(s.received_bytes as f64)
    }),
    ("sent_packets_total", "counter", "Packets sent", |s| Some(s.sent_packets as f64)),
    ("lost_packets_total", "counter", "Packets of these that were lost", |s| Some(s.lost_packets as f64)),
    ("rate_bytes_per_second", "gauge", "Rate of acknowledged packets in the last round trip", |s| {
        s.rate_mbps.map(|rate| rate * MBPS)
    }),
    ("pacing_bytes_per_second", "gauge", "Rate at which packets are sent while there are any", |s| {
        s.pacing_mbps.map(|rate| rate * MBPS)
    }),
    ("loss_ratio", "gauge", "Share of packets lost in the last round trip", |s| s.loss),
    ("rtt_seconds", "gauge", "Smoothed round-trip time", |s| s.rtt_ms.map(|ms| ms * 1e-3)),
    ("min_rtt_seconds", "gauge", "Smallest round-trip time", |s| s.min_rtt_ms.map(|ms| ms * 1e-3)),
    ("weight", "gauge", "Weight among connections that share a bottleneck", |s| s.weight),
    ("open_tunnels", "gauge", "Open TCP connections of programs", |s| Some(s.tunnels as f64)),
    ("open_flows", "gauge", "Open flows of datagrams", |s| Some(s.flows as f64)),
];

/// All numbers.
pub fn text(connections: &[Status], counters: &Counters) -> String {
    let mut page = Page::new("pcc_proxy");
    page.add_one("connections", "gauge", "Connections to the other side", connections.len());
    for (name, kind, meaning, of) in METRICS {
        let samples = connections.iter().filter_map(|connection| {
            let Status { id, peer, controller, .. } = connection;
            let labels = vec![("id", id.clone()), ("peer", peer.clone()), ("controller", controller.clone())];
            of(connection).map(|value| (labels, value))
        });
        page.add(name, kind, meaning, samples);
    }
    let ended = counters
        .all_ended()
        .map(|(protocol, end, count)| (vec![("protocol", protocol.to_owned()), ("end", end.name().to_owned())], count));
    page.add("ended_total", "counter", "Connections and flows of programs that ended", ended);
    for (name, meaning, count) in counters.others() {
        page.add_one(name, "counter", meaning, count);
    }
    page.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proxy::outcome::End;

    #[test]
    fn every_line_is_of_the_format() {
        let counters = Counters::default();
        counters.ended(End::Reset, None);
        counters.ended(End::Idle, Some(3));
        counters.dropped(4);
        counters.denied();
        let status = Status {
            id: "7.1".to_owned(),
            peer: "[2001:db8::1]:5".to_owned(),
            controller: "cubic".to_owned(),
            weight: None,
            age_s: 1.0,
            pacing_mbps: None,
            rate_mbps: Some(8.0),
            loss: Some(0.01),
            rtt_ms: Some(20.0),
            min_rtt_ms: None,
            sent_packets: 10,
            lost_packets: 1,
            sent_bytes: 12_000,
            received_bytes: 5,
            tunnels: 2,
            flows: 0,
        };
        let text = text(&[status], &counters);
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (name, value) = line.rsplit_once(' ').unwrap();
            assert!(value.parse::<f64>().is_ok(), "{line}");
            let bare = name.split('{').next().unwrap();
            assert!(text.contains(&format!("# TYPE {bare} ")), "{line}");
        }
        for line in [
            "pcc_proxy_rate_bytes_per_second{id=\"7.1\",peer=\"[2001:db8::1]:5\",controller=\"cubic\"} 1000000",
            "pcc_proxy_rtt_seconds{id=\"7.1\",peer=\"[2001:db8::1]:5\",controller=\"cubic\"} 0.02",
            "pcc_proxy_ended_total{protocol=\"tcp\",end=\"reset\"} 1",
            "pcc_proxy_ended_total{protocol=\"udp\",end=\"idle\"} 1",
            "pcc_proxy_dropped_datagrams_total 7",
            "pcc_proxy_denied_total 1",
            "pcc_proxy_connections 1",
        ] {
            assert!(text.lines().any(|other| other == line), "{line} is not in\n{text}");
        }
        assert!(!text.contains("pcc_proxy_weight{"), "a number that is not there");
    }
}
