//! `--metrics`: the numbers of `pcc proxy status`, and how connections of programs ended.

use super::counters::Counters;
use super::session::{Status, Totals};
use crate::metrics::Page;

/// What each connection does at the moment: name and meaning, and the number where there is one.
type Metric = (&'static str, &'static str, fn(&Status) -> Option<f64>);

/// Bytes per second in a Mbit/s.
const MBPS: f64 = 125_000.0;

const METRICS: [Metric; 8] = [
    ("rate_bytes_per_second", "Rate of acknowledged packets in the last round trip", |s| {
        s.rate_mbps.map(|rate| rate * MBPS)
    }),
    ("pacing_bytes_per_second", "Rate at which packets are sent while there are any", |s| {
        s.pacing_mbps.map(|rate| rate * MBPS)
    }),
    ("loss_ratio", "Share of packets lost in the last round trip", |s| s.loss),
    ("rtt_seconds", "Smoothed round-trip time", |s| s.rtt_ms.map(|ms| ms * 1e-3)),
    ("min_rtt_seconds", "Smallest round-trip time", |s| s.min_rtt_ms.map(|ms| ms * 1e-3)),
    ("weight", "Weight among connections that share a bottleneck", |s| s.weight),
    ("open_tunnels", "Open TCP connections of programs", |s| Some(s.tunnels as f64)),
    ("open_flows", "Open flows of datagrams", |s| Some(s.flows as f64)),
];

/// All numbers.
pub fn text(connections: &[Status], totals: Totals, counters: &Counters) -> String {
    let mut page = Page::new("pcc_proxy");
    // Without labels: they are to go on when connections end, and not to become more with each new one.
    for (name, meaning, sum) in [
        ("connections_total", "Connections to the other side since the start", totals.connections),
        ("sent_bytes_total", "Bytes sent, without the headers of UDP and IP", totals.sent_bytes),
        ("received_bytes_total", "Bytes received, without the headers of UDP and IP", totals.received_bytes),
        ("sent_packets_total", "Packets sent", totals.sent_packets),
        ("lost_packets_total", "Packets of these that were lost", totals.lost_packets),
    ] {
        page.add_one(name, "counter", meaning, sum);
    }
    page.add_one("connections", "gauge", "Open connections to the other side", connections.len());
    for (name, meaning, of) in METRICS {
        let samples = connections.iter().filter_map(|connection| {
            let Status { id, peer, controller, .. } = connection;
            let labels = vec![("id", id.clone()), ("peer", peer.clone()), ("controller", controller.clone())];
            of(connection).map(|value| (labels, value))
        });
        page.add(name, "gauge", meaning, samples);
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
        counters.refused();
        counters.unreported().fetch_add(5, std::sync::atomic::Ordering::Relaxed);
        let totals =
            Totals { connections: 3, sent_packets: 30, lost_packets: 2, sent_bytes: 36_000, received_bytes: 9 };
        let text = text(&[status], totals, &counters);
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
            "pcc_proxy_connections_total 3",
            "pcc_proxy_sent_bytes_total 36000",
            "pcc_proxy_received_bytes_total 9",
            "pcc_proxy_sent_packets_total 30",
            "pcc_proxy_lost_packets_total 2",
            "pcc_proxy_refused_total 6",
        ] {
            assert!(text.lines().any(|other| other == line), "{line} is not in\n{text}");
        }
        assert!(!text.contains("pcc_proxy_weight{"), "a number that is not there");
    }
}
