//! What the columns say: what became of each connection since the last look.

use super::format;
use pcc_tcp::kernel::{Connection, TcpFlow};
use std::cmp::Ordering;
use std::collections::HashMap;

/// What rows are sorted by: the largest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Column {
    #[default]
    Rate,
    Goodput,
    Rtt,
    Loss,
    Utility,
    Age,
}

impl Column {
    /// The column that a key stands for.
    pub fn of_key(key: char) -> Option<Column> {
        Some(match key {
            'r' => Column::Rate,
            'g' => Column::Goodput,
            't' => Column::Rtt,
            'l' => Column::Loss,
            'u' => Column::Utility,
            'a' => Column::Age,
            _ => return None,
        })
    }
}

/// The headings, with the column that they are for, if rows can be sorted by it.
pub const HEADINGS: [(&str, Option<Column>); 11] = [
    ("local", None),
    ("remote", None),
    ("controller", None),
    ("rate", Some(Column::Rate)),
    ("goodput", Some(Column::Goodput)),
    ("RTT", Some(Column::Rtt)),
    ("min", None),
    ("loss", Some(Column::Loss)),
    ("utility", Some(Column::Utility)),
    ("phase", None),
    ("age", Some(Column::Age)),
];

/// A connection, and what became of it since the look before.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    flow: TcpFlow,
    /// In Mbit/s, and a fraction, both since the look before; `None` at the first.
    goodput: Option<f64>,
    loss: Option<f64>,
}

impl Row {
    fn new(flow: TcpFlow, before: Option<&TcpFlow>) -> Row {
        let seconds = before.map(|before| flow.time.since(before.time).as_secs_f64()).filter(|&seconds| seconds > 0.0);
        let bytes = before.map(|before| flow.bytes_acked.saturating_sub(before.bytes_acked));
        let sent = before.map(|before| flow.segments_sent.wrapping_sub(before.segments_sent));
        let lost = before.map(|before| flow.segments_lost.wrapping_sub(before.segments_lost));
        Row {
            flow,
            goodput: bytes.zip(seconds).map(|(bytes, seconds)| bytes as f64 * 8e-6 / seconds),
            loss: lost.zip(sent).map(|(lost, sent)| f64::from(lost) / f64::from(sent.max(lost).max(1))),
        }
    }

    /// The number that a column sorts by.
    fn key(&self, column: Column) -> f64 {
        match column {
            Column::Rate => self.flow.rate.mbps(),
            Column::Goodput => self.goodput.unwrap_or(0.0),
            Column::Rtt => self.flow.rtt.as_secs_f64(),
            Column::Loss => self.loss.unwrap_or(0.0),
            Column::Utility => self.flow.last.map_or(f64::NEG_INFINITY, |(_, utility)| utility),
            Column::Age => self.flow.time.since(self.flow.connection.began).as_secs_f64(),
        }
    }

    /// The texts under [`HEADINGS`].
    pub fn texts(&self) -> [String; HEADINGS.len()] {
        let TcpFlow { connection, .. } = self.flow;
        let known = |number: Option<f64>| number.map_or("-".to_owned(), format::number);
        [
            connection.local.to_string(),
            connection.remote.to_string(),
            connection.controller.to_string(),
            format::number(self.flow.rate.mbps()),
            known(self.goodput),
            format::number(self.flow.rtt.as_secs_f64() * 1e3),
            format::number(self.flow.min_rtt.as_secs_f64() * 1e3),
            known(self.loss.map(|loss| loss * 100.0)),
            known(self.flow.last.map(|(_, utility)| utility)),
            format::phase(self.flow.phase).to_owned(),
            format::age(self.flow.time.since(connection.began)),
        ]
    }
}

/// The rows of all connections, in the order of a column.
#[derive(Debug, Default)]
pub struct Table {
    rows: Vec<Row>,
    sort: Column,
}

impl Table {
    /// Takes what all connections are like now; rates are those since the look before.
    pub fn update(&mut self, flows: Vec<TcpFlow>) {
        let before: HashMap<Connection, TcpFlow> =
            self.rows.iter().map(|row| (row.flow.connection, row.flow)).collect();
        self.rows = flows.into_iter().map(|flow| Row::new(flow, before.get(&flow.connection))).collect();
        self.sort_by(self.sort);
    }

    /// Sorts by a column, the largest first.
    pub fn sort_by(&mut self, column: Column) {
        self.sort = column;
        let by = |a: &Row, b: &Row| b.key(column).partial_cmp(&a.key(column)).unwrap_or(Ordering::Equal);
        self.rows.sort_by(|a, b| by(a, b).then(a.flow.connection.cmp(&b.flow.connection)));
    }

    /// The column that rows are sorted by.
    pub fn sorted_by(&self) -> Column {
        self.sort
    }

    /// The rows in the order that was chosen.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The goodput of all connections together, in Mbit/s.
    pub fn goodput(&self) -> f64 {
        self.rows.iter().filter_map(|row| row.goodput).fold(0.0, |sum, goodput| sum + goodput)
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use pcc::{Phase, Rate, Time};
    use pcc_tcp::kernel::Controller;
    use std::time::Duration;

    pub fn flow(remote: &str, mbps: f64, second: u64, acked: u64) -> TcpFlow {
        TcpFlow {
            connection: Connection {
                began: Time::from_nanos(1_000_000_000),
                local: "10.0.0.1:1000".parse().unwrap(),
                remote: remote.parse().unwrap(),
                controller: Controller::Vivace,
            },
            time: Time::from_nanos(second * 1_000_000_000),
            phase: Phase::Probing,
            rate: Rate::from_mbps(mbps),
            bytes_sent: acked,
            bytes_acked: acked,
            segments_sent: (acked / 1000) as u32,
            segments_lost: (acked / 100_000) as u32,
            window: 20,
            rtt: Duration::from_millis(30),
            min_rtt: Duration::from_millis(20),
            last: None,
        }
    }

    fn first(table: &Table) -> [String; HEADINGS.len()] {
        table.rows()[0].texts()
    }

    #[test]
    fn rates_are_those_since_the_look_before() {
        let mut table = Table::default();
        table.update(vec![flow("10.0.0.2:80", 10.0, 5, 1_000_000)]);
        assert_eq!(first(&table)[3..9], ["10.0", "-", "30.0", "20.0", "-", "-"]);
        table.update(vec![flow("10.0.0.2:80", 12.0, 7, 3_000_000)]);
        assert_eq!(first(&table)[3..8], ["12.0", "8.00", "30.0", "20.0", "1.00"]);
        assert_eq!(first(&table)[9..], ["probing", "6s"]);
        assert_eq!(table.goodput(), 8.0);
    }

    #[test]
    fn the_largest_comes_first() {
        let mut table = Table::default();
        let flows = |second, acked: [u64; 2]| {
            vec![flow("10.0.0.2:80", 1.0, second, acked[0]), flow("[2001:db8::1]:80", 2.0, second, acked[1])]
        };
        table.update(flows(1, [0, 0]));
        table.update(flows(2, [5000, 1000]));
        assert_eq!(first(&table)[1], "[2001:db8::1]:80", "by rate");
        table.sort_by(Column::Goodput);
        assert_eq!(first(&table)[1], "10.0.0.2:80");
    }
}
