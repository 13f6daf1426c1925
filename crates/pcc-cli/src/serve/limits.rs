//! What clients may have of this server at once, and for how long they may do nothing with it.

use crate::drain::Places;
use crate::peer::door::network_of;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::sleep;

/// Connections, of all versions of HTTP.
pub const MAX_CONNECTIONS: u32 = 1024;
/// Those from one address, which for IPv6 is a /64.
const MAX_PER_ADDRESS: usize = 64;
/// Requests that are being answered on all connections: each keeps a piece of a file in memory.
pub const MAX_REQUESTS: usize = 2048;
/// Requests of one connection at once.
pub const MAX_STREAMS: u32 = 64;
/// The longest head of a request, in bytes: names and values of its fields.
pub const MAX_HEAD: u32 = 16 << 10;

/// A connection on which nothing moves for so long is closed: no handshake, no request, and nothing of a response. A client
/// has to take a piece of 128 KiB in this time, wherever the bottleneck is.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Connections of all clients.
#[derive(Clone)]
pub struct Admission {
    places: Places,
    taken: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

/// The right to one connection, until it is dropped.
pub struct Admitted {
    address: IpAddr,
    taken: Arc<Mutex<HashMap<IpAddr, usize>>>,
    _place: OwnedSemaphorePermit,
}

impl Admission {
    /// To these places.
    pub fn new(places: Places) -> Admission {
        Admission { places, taken: Arc::default() }
    }

    /// Lets a client in, if there is room for one more of its address, and this server isn't about to end.
    pub fn admit(&self, ip: IpAddr) -> Option<Admitted> {
        let address = network_of(ip);
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let here = taken.get(&address).copied().unwrap_or(0);
        if here >= MAX_PER_ADDRESS {
            return None;
        }
        let place = self.places.take()?;
        taken.insert(address, here + 1);
        Some(Admitted { address, taken: self.taken.clone(), _place: place })
    }

    /// Whether so many are in that a client has to show that its address is its own before it gets a place.
    pub fn is_crowded(&self) -> bool {
        self.places.taken() > MAX_CONNECTIONS as usize / 2
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(here) = taken.get_mut(&self.address) {
            *here -= 1;
            if *here == 0 {
                taken.remove(&self.address);
            }
        }
    }
}

/// Whether this server is about to end.
#[derive(Clone)]
pub struct Ending(watch::Receiver<bool>);

impl Ending {
    /// Not yet, until the sender says so.
    pub fn new() -> (watch::Sender<bool>, Ending) {
        let (tell, ending) = watch::channel(false);
        (tell, Ending(ending))
    }

    /// Waits until it is.
    pub async fn begun(&mut self) {
        // The sender is dropped at the very end.
        let _ = self.0.wait_for(|ending| *ending).await;
    }
}

/// When something last moved on a connection.
#[derive(Clone)]
pub struct Activity(Arc<Mutex<Instant>>);

impl Activity {
    /// It has just begun.
    pub fn new() -> Activity {
        Activity(Arc::new(Mutex::new(Instant::now())))
    }

    /// Something moves.
    pub fn touch(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Waits until nothing has moved for so long.
    pub async fn quiet(&self, patience: Duration) {
        loop {
            let last = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let left = patience.saturating_sub(last.elapsed());
            if left.is_zero() {
                return;
            }
            sleep(left).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_has_all_places() {
        let admission = Admission::new(Places::new(MAX_PER_ADDRESS as u32 + 1));
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        let mut first: Vec<_> =
            (0..MAX_PER_ADDRESS).filter_map(|n| admission.admit(ip(&format!("2001:db8::{n}")))).collect();
        assert_eq!(first.len(), MAX_PER_ADDRESS);
        assert!(admission.admit(ip("2001:db8::ffff")).is_none(), "the same /64");
        let other = admission.admit(ip("192.0.2.1"));
        assert!(other.is_some() && admission.admit(ip("192.0.2.2")).is_none(), "all places are taken");
        first.pop();
        assert!(admission.admit(ip("2001:db8::ffff")).is_some());
        drop((first, other));
        assert!(admission.taken.lock().unwrap().is_empty(), "nothing is kept");
    }

    #[tokio::test]
    async fn who_does_something_is_not_quiet() {
        let (activity, patience) = (Activity::new(), Duration::from_millis(300));
        let began = Instant::now();
        std::thread::sleep(patience / 2);
        activity.touch();
        let touched = Instant::now();
        activity.quiet(patience).await;
        assert!(began.elapsed() >= patience + patience / 2 && touched.elapsed() >= patience);
    }
}
