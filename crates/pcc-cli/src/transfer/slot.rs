//! One transfer at the receiver: the connections of its sender, one after the other, until all is there.

use super::event::Event;
use super::progress::Reporter;
use super::rules::Rules;
use super::session::{self, End, Peer, Shared, State, Summary};
use super::staging::{Bound, Holder, Staging};
use crate::failure::{Failure, Kind, Result};
use crate::peer::endpoint::shown;
use crate::peer::wire;
use crate::runtime::blocking;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout};

/// How long a sender that has not heard of the completion may come back to hear it.
const FAREWELL: Duration = Duration::from_secs(30);
/// How long the disk may take when the transfer is left.
const DISK: Duration = Duration::from_secs(5);

/// A transfer that senders can be brought to.
pub struct Slot {
    shared: Arc<Shared>,
    /// Tells what became of what an earlier start left: whether it is complete.
    resume: Option<oneshot::Receiver<Result<bool>>>,
    reporter: Arc<Reporter>,
    session: Option<Session>,
    /// Set when all is done but for the sender's confirmation.
    farewell: Option<Instant>,
}

struct Session {
    holder: Holder,
    connection: noq::Connection,
    task: JoinHandle<End>,
}

/// How a transfer was left.
pub struct Left {
    /// What was transferred, if it had begun.
    pub summary: Option<Summary>,
    /// Whether all of it is there; if not, why.
    pub result: Result<()>,
}

impl Slot {
    /// Takes up what is in a staging folder.
    pub async fn open(staging: Staging, bound: Option<Bound>, rules: Rules, reporter: Arc<Reporter>) -> Self {
        let (shared, resume) = Shared::start(staging, bound, rules, reporter.clone()).await;
        Self { shared, resume: Some(resume), reporter, session: None, farewell: None }
    }

    /// Whose transfer it is, if it is anybody's.
    pub fn holder(&self) -> Option<Holder> {
        self.shared.bound().or(self.session.as_ref().map(|session| session.holder))
    }

    /// Whether no sender is connected.
    pub fn is_idle(&self) -> bool {
        self.session.is_none()
    }

    /// Starts the session of a sender. An earlier one of the same transfer ends.
    pub async fn begin(&mut self, address: SocketAddr, peer: Peer) -> Result<()> {
        if let Some(old) = self.session.take() {
            let failure = Failure::new(Kind::Replaced, "a newer connection of the same transfer took over");
            wire::close(&old.connection, &failure);
            let end = old.task.await.map_err(|e| Failure::new(Kind::Other, e))?;
            // Even then it may have completed just before, and then this sender learns it.
            match end {
                End::Fatal(failure) => {
                    wire::close(&peer.connection, &failure);
                    return Err(failure);
                }
                End::Complete | End::Unconfirmed => self.farewell = Some(Instant::now() + FAREWELL),
                End::Lost(_) | End::Refused(..) => {}
            }
        }
        self.reporter.event(&Event::Connected { peer: shown(address) });
        let (holder, connection) = (peer.holder(), peer.connection.clone());
        let task = tokio::spawn(session::run(peer, address, self.shared.clone()));
        self.session = Some(Session { holder, connection, task });
        Ok(())
    }

    /// Waits until something happens; whether the transfer is over. An error means that nothing can be received any more.
    pub async fn next(&mut self) -> Result<bool> {
        let (far, idle) = (Instant::now() + Duration::from_secs(3600), self.is_idle());
        let session_over = async {
            match &mut self.session {
                Some(session) => (&mut session.task).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            resumed = outcome(&mut self.resume) => {
                if resumed? {
                    self.say_farewell();
                }
                Ok(false)
            }
            end = session_over => {
                self.session = None;
                self.ended(end.map_err(|e| Failure::new(Kind::Other, e))?)
            }
            () = sleep_until(self.farewell.unwrap_or(far)), if self.farewell.is_some() && idle => Ok(true),
        }
    }

    /// All is done, but the sender may not know.
    fn say_farewell(&mut self) {
        self.farewell = Some(Instant::now() + FAREWELL);
        let message = format!(
            "all that came is verified and in its place; waiting up to {} s for the sender to come back and hear of it",
            FAREWELL.as_secs()
        );
        self.reporter.event(&Event::Note { message: &message });
    }

    /// Whether this was the end of the transfer.
    fn ended(&mut self, end: End) -> Result<bool> {
        match end {
            End::Complete => return Ok(true),
            End::Unconfirmed => self.say_farewell(),
            End::Lost(failure) => {
                let reason = match failure.kind {
                    Kind::Interrupted => "the sender was interrupted".to_owned(),
                    _ => failure.message,
                };
                self.reporter.event(&Event::Lost { reason, retry_ms: None });
            }
            End::Refused(address, failure) => self.reporter.refused(address, &failure),
            End::Fatal(failure) => return Err(failure),
        }
        Ok(false)
    }

    /// Waits for the session, whose connection is closed unless all went well, and removes what is of no use to a later
    /// start.
    pub async fn leave(mut self, mut result: Result<()>) -> Left {
        if self.farewell.is_some() && matches!(&result, Err(failure) if failure.kind == Kind::Interrupted) {
            // Everything has its final name: only the wait for the sender was cut short.
            result = Ok(());
        }
        let session = self.session.take();
        let state = async {
            if let Some(session) = session {
                // It ends because its connection did, and gives the state back.
                if matches!(session.task.await, Ok(End::Complete)) {
                    result = Ok(());
                }
            }
            self.shared.take().await
        };
        // A disk may keep them busy; then the folder stays, as after a kill.
        let state = timeout(DISK, state).await.unwrap_or(State::Gone);
        let done = result.is_ok();
        let kept = blocking(move || dispose(state, done)).await.unwrap_or_else(|e| Err(Failure::new(Kind::Other, e)));
        let summary = self.shared.summary();
        let complete = || summary.as_ref().map_or(Ok(()), Summary::complete);
        let result = result.and_then(|()| kept.and(complete()));
        Left { summary, result }
    }
}

/// What became of what an earlier start left; only once.
async fn outcome(resume: &mut Option<oneshot::Receiver<Result<bool>>>) -> Result<bool> {
    let told = match resume {
        Some(resume) => resume.await,
        None => std::future::pending().await,
    };
    *resume = None;
    match told {
        Ok(outcome) => outcome,
        // There was nothing to take up.
        Err(_) => Ok(false),
    }
}

/// Removes the folder if a later start has no use for it. The sender that did not hear of the completion may still come
/// to a later start, so unless this one is done, what is published stays too.
fn dispose(state: State, done: bool) -> Result<()> {
    match state {
        State::Fresh(staging) => staging.remove(),
        State::Bound(store) if store.is_untouched() || (done && store.is_published()) => store.into_staging().remove(),
        State::Bound(_) | State::Failed(_) | State::Gone => Ok(()),
    }
}
