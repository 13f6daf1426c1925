//! A hostile receiver, made of the same parts as the real one, to which a real sender connects.

use super::progress::Reporter;
use super::protocol::{Answer, Hello};
use super::selection::{Links, Selection};
use super::{endpoint, sender};
use crate::failure::{Failure, Kind, Result};
use crate::peer::credentials::Credentials;
use crate::peer::identity::Identity;
use crate::peer::ticket::Ticket;
use crate::peer::wire::{self, connection_failure};
use noq::{Connection, Endpoint, RecvStream, SendStream};
use pcc_quic::Transport;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// Nothing here takes that long, on however busy a machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// That of the sender.
const SHORT: Duration = Duration::from_secs(1);

/// Waits for a sender.
pub struct Hostile {
    pub endpoint: Endpoint,
    /// With this it comes here.
    pub ticket: Ticket,
}

/// A sender that has said hello.
pub struct Victim {
    pub connection: Connection,
    pub send: SendStream,
    _control: RecvStream,
    endpoint: Endpoint,
}

impl Hostile {
    pub fn listen() -> Self {
        let identity = Identity::generate().unwrap();
        let socket = crate::peer::endpoint::bind(Some("127.0.0.1:0".parse().unwrap())).unwrap();
        let addresses = vec![socket.local_addr().unwrap()];
        let ticket = Ticket { certificate: identity.credentials.hash(), secret: identity.secret, addresses };
        Self { endpoint: endpoint::server(&identity, socket).unwrap(), ticket }
    }

    pub async fn greet(self) -> Victim {
        let connection = self.endpoint.accept().await.unwrap().await.unwrap();
        let (send, mut control) = connection.accept_bi().await.unwrap();
        let _: Hello = wire::receive(&mut control, crate::peer::door::MAX_HELLO).await.unwrap();
        endpoint::open_for_data(&connection);
        Victim { connection, send, _control: control, endpoint: self.endpoint }
    }
}

impl Victim {
    pub async fn say(&mut self, answer: &Answer) -> Result<()> {
        wire::send(&mut self.send, answer).await
    }
}

/// Sends this file to whoever made the ticket.
pub async fn send(file: &Path, ticket: &Ticket) -> Result<()> {
    send_for(SHORT, file, ticket).await
}

/// The same, and waits this long for something to move.
pub async fn send_for(patience: Duration, file: &Path, ticket: &Ticket) -> Result<()> {
    let options = sender::Options {
        paths: vec![file.to_owned()],
        selection: Selection::new(Links::Keep, &[]).unwrap(),
        strict: false,
        ticket: ticket.to_string(),
        credentials: Credentials::generate().unwrap(),
        transport: Transport::default().config(),
        patience,
    };
    timeout(PATIENCE, sender::run(options, Arc::new(Reporter::new(false)))).await.expect("an end")
}

/// How the sender of a small file fails with a receiver that behaves like this.
async fn sent_to<F: Future<Output = Victim> + Send + 'static>(
    behaves: impl FnOnce(Victim) -> F + Send + 'static,
) -> Failure {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "hello").unwrap();
    let hostile = Hostile::listen();
    let ticket = hostile.ticket.clone();
    let victim = tokio::spawn(async move { behaves(hostile.greet().await).await });
    let failure = send(&file, &ticket).await.unwrap_err();
    let victim = victim.await.unwrap();
    let heard = connection_failure(&timeout(PATIENCE, victim.connection.closed()).await.expect("closed"));
    if failure.kind == Kind::Stalled {
        assert_eq!(heard.kind, failure.kind, "both sides hear why: {heard}");
    }
    failure
}

pub fn nothing() -> Answer {
    Answer::Have { bytes: 0, blocks: Vec::new(), files: Vec::new() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_says_nothing_is_given_up() {
    let failure = sent_to(|victim| async { victim }).await;
    assert_eq!(failure.kind, Kind::Stalled, "{failure}");
}

/// As `pcc recv --keep` does that has too many transfers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_is_always_busy_is_given_up() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "hello").unwrap();
    let Hostile { endpoint, ticket } = Hostile::listen();
    let busy = tokio::spawn(async move {
        let mut open = Vec::new();
        while let Some(incoming) = endpoint.accept().await {
            let Ok(connection) = incoming.await else { continue };
            wire::close(&connection, &Failure::new(Kind::LostPeer, "busy with others"));
            open.push(connection);
        }
    });
    let failure = send(&file, &ticket).await.unwrap_err();
    assert!(failure.kind == Kind::LostPeer && failure.message.contains("gave up"), "{failure}");
    busy.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_takes_nothing_is_given_up() {
    let sent = sent_to(|mut victim| async {
        victim.say(&nothing()).await.unwrap();
        victim
    });
    let failure = sent.await;
    assert_eq!(failure.kind, Kind::Stalled, "{failure}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_checks_for_ever_is_given_up() {
    let sent = sent_to(|mut victim| async {
        for n in 0.. {
            if victim.say(&Answer::Checking { bytes: n % 2, total: 100 + n }).await.is_err() {
                break;
            }
            sleep(SHORT / 10).await;
        }
        victim
    });
    let failure = sent.await;
    assert_eq!(failure.kind, Kind::Stalled, "{failure}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_asks_again_and_again_gets_nothing_for_it() {
    for question in [Answer::SendManifest, Answer::Confirm] {
        let sent = sent_to(move |mut victim| async move {
            while victim.say(&question).await.is_ok() {
                sleep(SHORT / 100).await;
            }
            victim
        });
        let failure = sent.await;
        assert!(failure.message.contains("out of turn"), "{failure}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_lacks_more_than_there_is_is_not_believed() {
    for without in [vec![(0, u64::MAX)], vec![(0, 1), (0, 1)], vec![(u64::MAX, 1)], vec![(1 << 32, 1)]] {
        let sent = sent_to(|mut victim| async {
            victim.say(&nothing()).await.unwrap();
            victim.say(&Answer::Complete { without }).await.unwrap();
            victim
        });
        let failure = sent.await;
        assert!(failure.message.contains("never sent"), "{failure}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_has_more_than_there_is_is_not_believed() {
    let all = vec![(0, 1)];
    for (bytes, blocks, files) in [
        (6, Vec::new(), Vec::new()),
        (0, vec![(0, 2)], Vec::new()),
        (0, Vec::new(), vec![(0, u64::MAX)]),
        (0, vec![(1, 1)], all.clone()),
        (u64::MAX, all.clone(), all),
    ] {
        let sent = sent_to(move |mut victim| async move {
            victim.say(&Answer::Have { bytes, blocks, files }).await.unwrap();
            victim
        });
        let failure = sent.await;
        assert!(failure.message.contains("never sent"), "{failure}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_ends_is_waited_for() {
    let sent = sent_to(|mut victim| async {
        victim.say(&nothing()).await.unwrap();
        let _begun = victim.connection.accept_uni().await.unwrap();
        // Whoever comes now is refused.
        victim.endpoint.close(noq::VarInt::from_u32(Kind::Interrupted.code().into()), b"interrupted");
        victim
    });
    let failure = sent.await;
    assert_eq!(failure.kind, Kind::LostPeer, "{failure}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_compares_what_is_not_there_is_not_believed() {
    for there in [Vec::new(), vec![(1, [0; 32])], vec![(0, [0; 32]), (0, [0; 32])], vec![(u64::MAX, [0; 32])]] {
        let sent = sent_to(move |mut victim| async move {
            victim.say(&Answer::There(there)).await.unwrap();
            victim
        });
        let failure = sent.await;
        assert_eq!(failure.kind, Kind::Other, "{failure}");
    }
}
