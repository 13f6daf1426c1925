//! `--metrics`.

use crate::common::Pcc;
use crate::support::{connect, dial, echo, exchange, http, listening, serve};
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
    let found = metrics.iter().find(|(other, _)| other.starts_with(name));
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
        assert!(value(&metrics, "pcc_proxy_sent_bytes_total{id=") > 50_000.0);
        assert!(value(&metrics, "pcc_proxy_rtt_seconds{id=") > 0.0);
        assert_eq!(value(&metrics, "pcc_proxy_weight{id="), 1.0);
        assert_eq!(value(&metrics, "pcc_proxy_ended_total{protocol=\"tcp\",end=\"closed\"}"), 1.0);
        assert_eq!(value(&metrics, "pcc_proxy_denied_total"), 1.0);
        assert_eq!(http(listening(pcc, "metrics"), "GET / HTTP/1.1\r\n\r\n").0, 404);
    }
}
