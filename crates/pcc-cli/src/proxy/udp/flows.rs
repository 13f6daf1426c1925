//! The flows of a socket that programs send to.

use super::MAX_FLOWS;
use crate::proxy::flow::Tally;
use crate::proxy::link::Link;
use crate::proxy::report::{Event, Reporter};
use crate::proxy::target::Target;
use bytes::Bytes;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

/// Flows of one socket: beyond that, the one that was idle for longest ends for a new one.
const MAX_OF_SOCKET: usize = 256;
/// Payloads that wait while a flow is opened, or its task is busy.
const QUEUE: usize = 32;
/// Associations of a near side that may be open at once.
const MAX_ASSOCIATIONS: usize = 256;

/// What all flows of a near side share.
pub struct Near {
    link: Link,
    flows: Arc<Semaphore>,
    associations: Arc<Semaphore>,
    reporter: Arc<Reporter>,
    patience: Duration,
}

impl Near {
    /// Over this link. Flows end when nothing has moved for so long.
    pub fn new(link: Link, reporter: Arc<Reporter>, patience: Duration) -> Near {
        let flows = Arc::new(Semaphore::new(MAX_FLOWS as usize));
        Near { link, flows, associations: Arc::new(Semaphore::new(MAX_ASSOCIATIONS)), reporter, patience }
    }

    /// A place for an association, if there is one.
    pub fn association(&self) -> Option<OwnedSemaphorePermit> {
        self.associations.clone().try_acquire_owned().ok()
    }

    /// Reports an event.
    pub fn report(&self, event: &Event<'_>) {
        self.reporter.event(event);
    }

    async fn carry<R>(&self, new: New<R>, payloads: mpsc::Receiver<Bytes>, tally: Arc<Tally>)
    where
        R: Fn(&[u8]) -> bool + Send + Sync + 'static,
    {
        let began = Instant::now();
        let carried = match self.link.flow(&new.target).await {
            Ok(flow) => flow.carry(payloads, new.reply, &tally, self.patience).await,
            Err(refusal) => Err(refusal),
        };
        match carried {
            Ok(end) => self.reporter.closed(new.from, &new.target, began, &tally.carried, Some(tally.dropped()), end),
            Err(refusal) => {
                let (target, reason) = (Some(new.target.to_string()), refusal.to_string());
                self.reporter.event(&Event::Denied { from: new.from, target, reason });
            }
        }
    }
}

/// A flow to be opened.
pub struct New<R> {
    /// Who sends, as it is reported.
    pub from: String,
    /// Where to.
    pub target: Target,
    /// Takes what comes back; whether it could.
    pub reply: R,
}

/// The flows of one socket, by what tells them apart. Dropped, all end.
pub struct Flows<K> {
    near: Arc<Near>,
    open: HashMap<K, Open>,
}

struct Open {
    payloads: mpsc::Sender<Bytes>,
    tally: Arc<Tally>,
    used: Instant,
}

impl<K: Clone + Eq + Hash> Flows<K> {
    /// None yet.
    pub fn new(near: Arc<Near>) -> Flows<K> {
        Flows { near, open: HashMap::new() }
    }

    /// Sends a payload, over a new flow if there is none yet. False where there can be none.
    pub fn send<R>(&mut self, key: K, payload: &[u8], new: impl FnOnce() -> New<R>) -> bool
    where
        R: Fn(&[u8]) -> bool + Send + Sync + 'static,
    {
        if self.open.get(&key).is_none_or(|open| open.payloads.is_closed()) {
            self.make_room();
            let Ok(place) = self.near.flows.clone().try_acquire_owned() else { return false };
            let (payloads, queue) = mpsc::channel(QUEUE);
            let tally = Arc::<Tally>::default();
            self.open.insert(key.clone(), Open { payloads, tally: tally.clone(), used: Instant::now() });
            let (near, new) = (self.near.clone(), new());
            tokio::spawn(async move {
                let _place = place;
                near.carry(new, queue, tally).await;
            });
        }
        if let Some(open) = self.open.get_mut(&key) {
            open.used = Instant::now();
            if open.payloads.try_send(Bytes::copy_from_slice(payload)).is_err() {
                open.tally.drop_one();
            }
        }
        true
    }

    fn make_room(&mut self) {
        if self.open.len() < MAX_OF_SOCKET {
            return;
        }
        self.open.retain(|_, open| !open.payloads.is_closed());
        if self.open.len() == MAX_OF_SOCKET {
            let longest = self.open.iter().min_by_key(|(_, open)| open.used).map(|(key, _)| key.clone());
            longest.iter().for_each(|key| drop(self.open.remove(key)));
        }
    }
}
