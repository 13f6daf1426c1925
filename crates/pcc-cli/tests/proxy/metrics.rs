//! `--metrics`.

use crate::common::{Pcc, forge};
use crate::support::{connect, dial, echo, exchange, http, listening, proxy, serve};
use std::io::Read;

/// The page: numbers by their names with labels.
fn metrics(pcc: &Pcc) -> Vec<(String, f64)> {
    let (code, mut stream) = http(listening(pcc, "metrics"), "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!(code, 200);
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    let lines = page.lines().filter(|line| !line.starts_with('#')).map(|line| line.rsplit_once(' ').expect("a value"));
    lines.map(|(name, value)| (name.to_owned(), value.parse().expect("a number"))).collect()
}

fn value(metrics: &[(String, f64)], name: &str) -> f64 {
    let is_it = |other: &str| other.strip_prefix(name).is_some_and(|rest| rest.is_empty() || name.contains('{'));
    let found = metrics.iter().find(|(other, _)| is_it(other));
    found.unwrap_or_else(|| panic!("no {name} in {metrics:?}")).1
}

#[test]
fn both_sides_have_metrics() {
    let echo = echo();
    let far = serve(&[echo.to_string()], &["--metrics", "0"]);
    let near = connect(&far.ticket(), echo, &["--metrics", "127.0.0.1:0"]);
    assert_eq!(exchange(dial(near.forward), vec![1; 50_000]), vec![1; 50_000]);
    assert_eq!(http(near.http, "CONNECT 127.0.0.1:1 HTTP/1.1\r\n\r\n").0, 403);
    near.pcc.event("closed");
    far.event("closed");
    near.pcc.event("denied");
    for pcc in [&far, &near.pcc] {
        let metrics = metrics(pcc);
        assert_eq!(value(&metrics, "pcc_proxy_connections"), 1.0);
        assert!(value(&metrics, "pcc_proxy_sent_bytes_total") > 50_000.0);
        assert!(!metrics.iter().any(|(name, _)| name.starts_with("pcc_proxy_sent_bytes_total{")), "{metrics:?}");
        assert!(value(&metrics, "pcc_proxy_rtt_seconds{id=") > 0.0);
        assert_eq!(value(&metrics, "pcc_proxy_weight{id="), 1.0);
        assert_eq!(value(&metrics, "pcc_proxy_ended_total{protocol=\"tcp\",end=\"closed\"}"), 1.0);
        assert_eq!(value(&metrics, "pcc_proxy_denied_total"), 1.0);
        assert_eq!(http(listening(pcc, "metrics"), "GET / HTTP/1.1\r\n\r\n").0, 404);
    }
}

#[test]
fn what_was_carried_stays_when_connections_end() {
    let echo = echo();
    let far = serve(&[echo.to_string()], &["--metrics", "0"]);
    for connections in 1..=2 {
        let near = connect(&far.ticket(), echo, &[]);
        assert_eq!(exchange(dial(near.forward), vec![1; 50_000]), vec![1; 50_000]);
        near.pcc.interrupt();
        far.until("the end", || (far.events("lost").len() == connections).then_some(()));
    }
    let counted = metrics(&far);
    assert_eq!(value(&counted, "pcc_proxy_connections_total"), 2.0);
    assert_eq!(value(&counted, "pcc_proxy_connections"), 0.0);
    assert!(value(&counted, "pcc_proxy_received_bytes_total") > 100_000.0);
    assert!(value(&counted, "pcc_proxy_sent_packets_total") > 10.0);
    // Those without the ticket are counted, although one line stands for many.
    let forged = forge(&far.ticket(), |(_, secret, _)| secret[0] ^= 1);
    for _ in 0..3 {
        proxy(&["pipe", "host", "22"], Some(&forged)).exits(4);
    }
    assert_eq!(value(&metrics(&far), "pcc_proxy_refused_total"), 3.0);
    assert_eq!(far.events("refused").len(), 1);
}
