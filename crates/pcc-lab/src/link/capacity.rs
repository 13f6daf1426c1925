//! How fast a bottleneck lets packets through.

use super::rate::{self, Serialiser};
use super::trace::{Replay, Trace};
use pcc::{Rate, Time};
use std::sync::Arc;

/// How fast a bottleneck lets packets through.
#[derive(Clone, Debug, PartialEq)]
pub enum Capacity {
    /// There is no bottleneck, and so no queue.
    Unlimited,
    /// Bit after bit at this rate.
    Constant(Rate),
    /// By the opportunities of a trace.
    Trace(Arc<Trace>),
}

impl From<Rate> for Capacity {
    fn from(rate: Rate) -> Capacity {
        Capacity::Constant(rate)
    }
}

impl Capacity {
    /// Bytes that can pass in `from..to`, `None` for no limit.
    pub(super) fn between(&self, from: Time, to: Time) -> Option<f64> {
        match self {
            Capacity::Unlimited => None,
            Capacity::Constant(rate) => Some(rate::bytes_in(*rate, to.since(from))),
            Capacity::Trace(trace) => Some(trace.capacity_between(from, to) as f64),
        }
    }
}

/// What serves packets, one after the other, in virtual time.
#[derive(Clone, Debug)]
pub(super) enum Server {
    None,
    Rate(Serialiser),
    Trace(Replay),
}

impl Server {
    pub(super) fn new(capacity: &Capacity) -> Server {
        match capacity {
            Capacity::Unlimited => Server::None,
            Capacity::Constant(rate) => Server::Rate(Serialiser::new(*rate)),
            Capacity::Trace(trace) => Server::Trace(Replay::new(trace.clone())),
        }
    }

    /// When it can begin with a packet that comes at `now` and finds it idle.
    pub(super) fn wake(&mut self, now: Time) -> Time {
        match self {
            Server::None => now,
            Server::Rate(serialiser) => serialiser.wake(now),
            Server::Trace(replay) => replay.wake(now),
        }
    }

    /// When it can begin with a packet that waited for the one that has left at `ended`.
    pub(super) fn next(&mut self, ended: Time) -> Time {
        match self {
            Server::None | Server::Rate(_) => ended,
            Server::Trace(replay) => replay.next(),
        }
    }

    /// Begins with a packet; returns when its last bit has left.
    pub(super) fn serve(&mut self, began: Time, bytes: u64) -> Time {
        match self {
            Server::None => began,
            Server::Rate(serialiser) => serialiser.serve(bytes),
            Server::Trace(replay) => replay.serve(bytes),
        }
    }

    /// Goes on at `rate` from `now`; returns when the packet in service, if there is one, has left then.
    pub(super) fn set_rate(&mut self, now: Time, rate: Rate) -> Time {
        let left = match self {
            Server::None => 0.0,
            Server::Rate(serialiser) => serialiser.left(now),
            Server::Trace(replay) => replay.left(now),
        };
        let serialiser = Serialiser::resume(rate, now, left);
        let end = serialiser.free_at();
        *self = Server::Rate(serialiser);
        end
    }
}
