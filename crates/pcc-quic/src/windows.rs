//! Flow control windows that follow the path.
//!
//! Flow control must never be what limits a transfer. But a window is memory that a peer may fill, or that an application may fill
//! before anything is sent. So the windows start at [`START`] and grow to four times what the connection carried in the
//! latest round trip. A factor of two is for start-up, which sends twice as much in each round trip as in the one before, and
//! another one for the time until new credit takes effect.

use futures_core::Stream;
use noq::{Connection, PathEvents, PathId, VarInt};
use noq_proto::PathEvent;
use std::collections::{BTreeSet, VecDeque};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// The window of a new connection, in bytes.
pub const START: u64 = 4 << 20;

/// A sensible largest window, in bytes: four times 1.3 Gbit/s x 200 ms.
pub const CAP: u64 = 128 << 20;

/// A window holds this many times the bytes of the last round trip.
const HEADROOM: u64 = 4;

/// The round-trip time that is assumed before a path tells its own.
const INITIAL_RTT: Duration = Duration::from_millis(100);

/// Decides on the size of the windows, without I/O.
#[derive(Clone, Debug)]
pub struct Windows {
    size: u64,
    cap: u64,
    /// The size that the bytes of the latest round trip ask for.
    wanted: u64,
    /// When each update of the last round trip was, and the total of bytes then.
    totals: VecDeque<(Instant, u64)>,
}

impl Windows {
    /// Windows of [`START`] bytes that grow to `cap` bytes at most.
    pub fn new(cap: u64) -> Windows {
        Windows::starting_at(START, cap)
    }

    /// Windows of `start` bytes that grow to `cap` bytes at most.
    pub fn starting_at(start: u64, cap: u64) -> Windows {
        Windows { size: start, cap, wanted: 0, totals: VecDeque::new() }
    }

    /// The size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Takes in how many bytes the connection has carried up to `now`, and its round-trip time. Returns the new size in bytes if it
    /// has grown.
    ///
    /// Call it at least every [`interval`](Self::interval). With several paths, `rtt` is the longest of theirs: a window has to hold what is in
    /// flight on all of them.
    pub fn update(&mut self, now: Instant, rtt: Duration, total_bytes: u64) -> Option<u64> {
        self.totals.push_back((now, total_bytes));
        while self.totals.get(1).is_some_and(|&(at, _)| now.saturating_duration_since(at) >= rtt) {
            self.totals.pop_front();
        }
        let (since, before) = *self.totals.front()?;
        let carried = total_bytes.saturating_sub(before) as f64;
        // Updates come late, or seldom, so this may have been more than a round trip.
        let round_trips = now.saturating_duration_since(since).div_duration_f64(rtt).max(1.0);
        self.wanted = ((carried / round_trips) as u64).saturating_mul(HEADROOM).min(self.cap);
        // It grows by half at least, or the peer would be told of every byte more.
        if self.wanted <= self.size {
            return None;
        }
        self.size = self.wanted.max(self.size.saturating_mul(3) / 2).min(self.cap);
        Some(self.size)
    }

    /// The time until the next update, for a path with this round-trip time; the shortest, if there are several paths. A round trip, if
    /// the size suffices even when the next one carries twice as much, or can't grow; else a quarter of that. From 5 to 100 ms.
    pub fn interval(&self, rtt: Duration) -> Duration {
        let suffices = self.size >= self.wanted.saturating_mul(2).min(self.cap);
        (if suffices { rtt } else { rtt / 4 }).clamp(Duration::from_millis(5), Duration::from_millis(100))
    }
}

/// Lets the windows of `connection` follow its paths, up to `cap` bytes each, until it closes.
///
/// Both ends of a connection should do so, each for what it sends and receives. The future is meant for a task of its own
/// ([`tokio::spawn`]); it doesn't keep the connection open. Call this before a second path
/// is opened: paths opened earlier aren't followed.
///
/// The window of a single stream can't be changed once the connection is up (`TransportConfig::stream_receive_window`), so
/// split large data over several streams.
pub fn follow_path(connection: &Connection, cap: u64) -> impl Future<Output = ()> + Send + 'static {
    let mut set = START;
    follow_path_with(connection, Windows::new(cap), move |connection, size| {
        if size != set {
            set = size;
            connection.set_send_window(size);
            connection.set_receive_window(VarInt::from_u64(size).unwrap_or(VarInt::MAX));
        }
    })
}

/// As [`follow_path`], for who sets the windows by itself, or only one of them: `apply` gets the size in bytes after each update, also where it is
/// the same as before.
pub fn follow_path_with(
    connection: &Connection,
    mut windows: Windows,
    mut apply: impl FnMut(&Connection, u64) + Send + 'static,
) -> impl Future<Output = ()> + Send + 'static {
    let (weak, mut paths) = (connection.weak_handle(), Paths::new(connection));
    async move {
        while let Some(connection) = weak.upgrade() {
            if connection.close_reason().is_some() {
                break;
            }
            paths.update(&connection);
            let stats = connection.stats();
            let total = stats.udp_tx.bytes.saturating_add(stats.udp_rx.bytes);
            windows.update(tokio::time::Instant::now().into_std(), paths.longest, total);
            apply(&connection, windows.size());
            drop(connection);
            tokio::time::sleep(windows.interval(paths.shortest)).await;
        }
    }
}

/// The paths of a connection.
#[derive(Debug)]
struct Paths {
    events: PathEvents,
    open: BTreeSet<PathId>,
    /// The shortest and the longest round-trip time of the open paths, or of the last that there were.
    shortest: Duration,
    longest: Duration,
}

impl Paths {
    fn new(connection: &Connection) -> Paths {
        let (events, open) = (connection.path_events(), BTreeSet::from([PathId::ZERO]));
        Paths { events, open, shortest: INITIAL_RTT, longest: INITIAL_RTT }
    }

    fn update(&mut self, connection: &Connection) {
        // Nobody is to be woken: this is called often enough.
        let mut cx = Context::from_waker(Waker::noop());
        while let Poll::Ready(Some(event)) = Pin::new(&mut self.events).poll_next(&mut cx) {
            match event {
                Ok(PathEvent::Established { id, .. }) => _ = self.open.insert(id),
                Ok(PathEvent::Abandoned { id, .. }) => _ = self.open.remove(&id),
                _ => {}
            }
        }
        let round_trips = || self.open.iter().filter_map(|path| connection.rtt(*path));
        if let (Some(shortest), Some(longest)) = (round_trips().min(), round_trips().max()) {
            (self.shortest, self.longest) = (shortest, longest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use noq::rustls::RootCertStore;
    use noq::rustls::pki_types::PrivatePkcs8KeyDer;
    use noq::{ClientConfig, Endpoint, ServerConfig, TransportConfig};
    use noq_proto::PathStatus;
    use std::net::Ipv4Addr;
    use std::sync::Arc;

    /// A client and its connection, which may have several paths, to a server that accepts one.
    async fn connect() -> (Endpoint, Connection) {
        let mut transport = TransportConfig::default();
        transport.max_concurrent_multipath_paths(4);
        let transport = Arc::new(transport);
        let certificate = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
        let key = PrivatePkcs8KeyDer::from(certificate.signing_key.serialize_der());
        let certificate = certificate.cert.der().clone();
        let mut config = ServerConfig::with_single_cert(vec![certificate.clone()], key.into()).expect("valid");
        config.transport_config(transport.clone());
        let server = Endpoint::server(config, (Ipv4Addr::LOCALHOST, 0).into()).expect("loopback has free ports");
        let address = server.local_addr().expect("bound");
        tokio::spawn(async move {
            let connection = server.accept().await.expect("the endpoint is open").await.expect("accepts");
            connection.closed().await;
        });
        let mut roots = RootCertStore::empty();
        roots.add(certificate).expect("valid");
        let mut config = ClientConfig::with_root_certificates(Arc::new(roots)).expect("valid");
        config.transport_config(transport);
        let client = Endpoint::client((Ipv4Addr::LOCALHOST, 0).into()).expect("loopback has free ports");
        let connection = client.connect_with(config, address, "localhost").expect("valid").await.expect("connects");
        (client, connection)
    }

    async fn follow_paths() {
        let (_client, connection) = connect().await;
        let mut paths = Paths::new(&connection);
        paths.update(&connection);
        let first = connection.rtt(PathId::ZERO).expect("the path exists");
        assert_eq!((paths.shortest, paths.longest), (first, first));

        let address = connection.path(PathId::ZERO).expect("it exists").remote_address().expect("it is open");
        let second = loop {
            // The server first has to say that it allows it.
            match connection.open_path(address, PathStatus::Available).await {
                Ok(path) => break path.id(),
                Err(_) => tokio::time::sleep(Duration::from_millis(1)).await,
            }
        };
        paths.update(&connection);
        assert_eq!(paths.open, BTreeSet::from([PathId::ZERO, second]));
        let both = [PathId::ZERO, second].map(|path| connection.rtt(path).expect("the path exists"));
        assert_eq!([paths.shortest, paths.longest], [both[0].min(both[1]), both[0].max(both[1])]);

        connection.path(PathId::ZERO).expect("it exists").close().expect("another one is open");
        while paths.open.contains(&PathId::ZERO) {
            tokio::time::sleep(Duration::from_millis(1)).await;
            paths.update(&connection);
        }
        let second = connection.rtt(second).expect("the path exists");
        assert_eq!((paths.shortest, paths.longest), (second, second));
    }

    #[tokio::test]
    async fn all_paths_that_exist_are_followed() {
        tokio::time::timeout(Duration::from_secs(60), follow_paths()).await.expect("paths come and go at once");
    }

    /// A sender that doubles each round trip from 10 packets, up to `bytes_per_sec`: the largest share of the window
    /// that is ever in flight, one round trip after the window was set.
    fn worst_share(bytes_per_sec: f64, rtt: Duration) -> f64 {
        let begin = Instant::now();
        let mut windows = Windows::new(CAP);
        let mut sizes = VecDeque::from([(Duration::ZERO, START)]);
        let (mut now, mut total, mut worst) = (Duration::ZERO, 0.0, 0.0_f64);
        for _ in 0..2000 {
            let step = windows.interval(rtt);
            now += step;
            let rate = (12e3 / rtt.as_secs_f64() * 2_f64.powf(now.div_duration_f64(rtt))).min(bytes_per_sec);
            total += rate * step.as_secs_f64();
            // What counts is the size that was set a round trip ago.
            while sizes.get(1).is_some_and(|&(set, _)| set + rtt <= now) {
                sizes.pop_front();
            }
            worst = worst.max(rate * rtt.as_secs_f64() / sizes[0].1 as f64);
            windows.update(begin + now, rtt, total as u64);
            sizes.push_back((now, windows.size));
        }
        worst
    }

    #[test]
    fn never_limits_a_start_up_that_doubles() {
        for (mbps, millis) in [(42.0, 800), (1000.0, 100), (100.0, 30), (1000.0, 1)] {
            let worst = worst_share(mbps * 1e6 / 8.0, Duration::from_millis(millis));
            assert!(worst < 0.95, "{mbps} Mbit/s, {millis} ms: {worst}");
        }
    }

    #[test]
    fn is_updated_more_often_only_while_it_may_have_to_grow() {
        let now = Instant::now();
        let rtt = Duration::from_millis(40);
        let mut windows = Windows::new(CAP);
        let mut interval = |round: u32, bytes: u64| {
            windows.update(now + rtt * round, rtt, bytes);
            windows.interval(rtt)
        };
        assert_eq!(interval(0, 0), rtt);
        assert_eq!(interval(1, START / HEADROOM / 2), rtt);
        assert_eq!(interval(2, START / HEADROOM * 3 / 2), rtt / 4);
        assert_eq!(interval(3, u64::MAX), rtt, "it is as large as it may be");
    }

    #[test]
    fn grows_to_the_cap_and_not_without_need() {
        let now = Instant::now();
        let rtt = Duration::from_millis(100);
        let mut windows = Windows::new(CAP);
        windows.update(now, rtt, 0);
        assert_eq!(windows.update(now + rtt / 2, rtt, START / HEADROOM), None);
        assert_eq!(windows.update(now + rtt, rtt, u64::MAX), Some(CAP));
        assert_eq!(windows.update(now + rtt * 3 / 2, rtt, u64::MAX), None);
    }
}
