//! The datagrams of a connection: each is the number of its flow and a payload.

use super::MAX_PAYLOAD;
use bytes::Bytes;
use noq::Connection;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Datagrams that wait for a flow: the first ones may overtake the stream that opens it, and it takes a while to find the
/// target. Beyond that the oldest are dropped.
const MAX_EARLY: usize = 64;

/// Takes a payload.
type Receive = dyn Fn(&[u8]) + Send + Sync;

/// Sends the payloads of flows, and gives those that come to whom they are for.
#[derive(Clone)]
pub struct Datagrams {
    connection: Connection,
    incoming: Arc<Mutex<Incoming>>,
}

/// What comes is for one of these.
#[derive(Default)]
struct Incoming {
    flows: HashMap<u64, Arc<Receive>>,
    early: VecDeque<(u64, Bytes)>,
}

/// A flow that takes payloads, until this is dropped.
pub struct Registered {
    flow: u64,
    incoming: Arc<Mutex<Incoming>>,
}

impl Datagrams {
    /// Those of this connection. It reads them until the connection ends.
    pub fn new(connection: Connection) -> Datagrams {
        let datagrams = Datagrams { connection: connection.clone(), incoming: Arc::default() };
        let incoming = datagrams.incoming.clone();
        tokio::spawn(async move {
            while let Ok(datagram) = connection.read_datagram().await {
                dispatch(&incoming, &datagram);
            }
        });
        datagrams
    }

    /// Sends a payload if it fits into a packet and there is room for it now; whether it does. It is never sent again.
    pub fn send(&self, flow: u64, payload: &[u8]) -> bool {
        if payload.len() > MAX_PAYLOAD {
            return false;
        }
        let mut datagram = postcard::to_stdvec(&flow).unwrap_or_default();
        datagram.extend_from_slice(payload);
        // Else noq would drop older ones, which nobody could count.
        self.connection.datagram_send_buffer_space() >= datagram.len()
            && self.connection.send_datagram(datagram.into()).is_ok()
    }

    /// Gives payloads of this flow to `receive`, which must not block, and first those that came early.
    pub fn register(&self, flow: u64, receive: impl Fn(&[u8]) + Send + Sync + 'static) -> Registered {
        let mut incoming = lock(&self.incoming);
        incoming.early.retain(|(to, payload)| {
            if *to == flow {
                receive(payload);
            }
            *to != flow
        });
        incoming.flows.insert(flow, Arc::new(receive));
        Registered { flow, incoming: self.incoming.clone() }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        lock(&self.incoming).flows.remove(&self.flow);
    }
}

fn dispatch(incoming: &Mutex<Incoming>, datagram: &Bytes) {
    // What makes no sense is dropped.
    let Ok((flow, payload)) = postcard::take_from_bytes::<u64>(datagram) else { return };
    let mut incoming = lock(incoming);
    if let Some(receive) = incoming.flows.get(&flow).cloned() {
        drop(incoming);
        return receive(payload);
    }
    if incoming.early.len() == MAX_EARLY {
        incoming.early.pop_front();
    }
    incoming.early.push_back((flow, datagram.slice_ref(payload)));
}

fn lock(incoming: &Mutex<Incoming>) -> MutexGuard<'_, Incoming> {
    incoming.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::mpsc::channel;

    fn datagram(flow: u64, payload: &[u8]) -> Bytes {
        [&postcard::to_stdvec(&flow).unwrap()[..], payload].concat().into()
    }

    #[test]
    fn each_goes_to_its_flow() {
        let incoming = Mutex::new(Incoming::default());
        let (sent, received) = channel();
        lock(&incoming).flows.insert(300, Arc::new(move |payload: &[u8]| sent.send(payload.to_vec()).unwrap()));
        dispatch(&incoming, &datagram(300, b"for it"));
        dispatch(&incoming, &datagram(301, b"for another"));
        dispatch(&incoming, &datagram(300, b""));
        drop(lock(&incoming).flows.remove(&300));
        assert_eq!(received.iter().collect::<Vec<_>>(), [b"for it".to_vec(), vec![]]);
        assert_eq!(lock(&incoming).early, [(301, Bytes::from_static(b"for another"))]);
    }

    proptest! {
        #[test]
        fn whatever_comes_is_kept_within_bounds(
            datagrams in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..200)
        ) {
            let incoming = Mutex::new(Incoming::default());
            for bytes in &datagrams {
                dispatch(&incoming, &Bytes::copy_from_slice(bytes));
            }
            let early = &lock(&incoming).early;
            prop_assert!(early.len() <= MAX_EARLY);
            // A number that goes on for too long is none.
            prop_assert!(early.iter().all(|(_, payload)| payload.len() < 40));
        }
    }
}
