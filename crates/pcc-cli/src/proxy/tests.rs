//! Tunnels over a real connection, with another side that doesn't keep to the protocol.

use super::credit::{Memory, START};
use super::outcome::End;
use super::protocol::{ALPN, Answer, MAX_MESSAGE, RESET, Refusal, Request};
use super::relay;
use super::session::Session;
use super::setup::{self, Traffic};
use super::target::Target;
use super::tunnel::{Opener, Wanted};
use crate::peer::connecting::{HANDSHAKE, connect};
use crate::peer::credentials::Credentials;
use crate::peer::endpoint;
use crate::peer::identity::Identity;
use crate::peer::ticket::Ticket;
use crate::peer::wire;
use crate::sending::Sending;
use noq::{Endpoint, ReadError, VarInt};
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf, duplex};
use tokio::task::coop::poll_proceed;
use tokio::task::yield_now;
use tokio::time::timeout;

pub const PATIENCE: Duration = Duration::from_secs(60);

/// Both ends of a connection on which the near side may open streams.
pub struct Ends {
    pub near: Arc<Session>,
    pub far: Arc<Session>,
    _endpoints: [Endpoint; 2],
}

pub async fn ends() -> Ends {
    let settings = Traffic { sending: Sending::default(), timeout: Duration::from_secs(60) }.settings().unwrap();
    let identity = Identity::generate().unwrap();
    let socket = endpoint::bind(Some("127.0.0.1:0".parse().unwrap())).unwrap();
    let addresses = vec![socket.local_addr().unwrap()];
    let server = endpoint::server_config(&identity, ALPN, settings.config(&settings.own())).unwrap();
    let server = endpoint::server(&identity, server, socket).unwrap();
    let ticket = Ticket { certificate: identity.credentials.hash(), secret: identity.secret, addresses };
    let me = Credentials::generate().unwrap();
    let (client, config) = endpoint::client(&me, ALPN, settings.config(&settings.own()), &ticket).unwrap();
    let accept = async { server.accept().await.unwrap().await.unwrap() };
    let (near, far) = tokio::join!(connect(&client, &config, &ticket.addresses, HANDSHAKE), accept);
    let near = near.unwrap();
    far.set_max_concurrent_bi_streams(VarInt::from_u32(100));
    [&near, &far].into_iter().for_each(setup::follow_path);
    let [near, far] = [near, far].map(|connection| Arc::new(Session::new(connection, &settings, settings.own())));
    Ends { near, far, _endpoints: [client, server] }
}

fn target() -> Target {
    "camera:554".parse().unwrap()
}

#[tokio::test]
async fn who_sends_more_than_was_granted_is_stopped() {
    let ends = ends().await;
    let hostile = async {
        let (mut data, _credit) = ends.near.connection().open_bi().await.unwrap();
        let (mut grants, _answer) = ends.near.connection().open_bi().await.unwrap();
        grants.write_all(&START.to_le_bytes()).await.unwrap();
        wire::send(&mut data, &Request { target: target() }).await.unwrap();
        // Twice as much, which noq bears for a while.
        for _ in 0..2 * START / 4096 {
            if data.write(&[0; 4096]).await.is_err() {
                break;
            }
        }
        let stopped = timeout(PATIENCE, data.stopped()).await.expect("nobody minds");
        assert!(matches!(stopped, Ok(Some(_))), "{stopped:?}");
    };
    let honest = async {
        let mut wanted = Wanted::next(&ends.far).await.unwrap();
        assert_eq!(wanted.request().await.unwrap().target, target());
        let tunnel = wanted.accept(&Memory::new()).await.unwrap();
        // A program that reads nothing.
        let (program, _other) = duplex(1);
        assert_eq!(tunnel.inward.receive(program, &AtomicU64::new(0)).await, End::Reset);
    };
    tokio::join!(hostile, honest);
}

#[tokio::test]
async fn a_tunnel_carries_more_than_was_granted_at_first() {
    const BYTES: usize = 40 * START as usize;
    let ends = ends().await;
    let memory = Memory::new();
    let sends = async {
        let opener = Opener::new(ends.near.clone(), memory.clone());
        let tunnel = opener.ask(target()).await.unwrap();
        let count = AtomicU64::new(0);
        assert_eq!(tunnel.outward.send(&vec![7; BYTES][..], b"early", &count).await, End::Closed);
        assert_eq!(count.into_inner(), BYTES as u64 + 5);
    };
    let receives = async {
        let mut wanted = Wanted::next(&ends.far).await.unwrap();
        wanted.request().await.unwrap();
        let tunnel = wanted.accept(&memory).await.unwrap();
        let (program, mut other) = duplex(1000);
        let (count, mut got) = (AtomicU64::new(0), Vec::new());
        let (end, read) = tokio::join!(tunnel.inward.receive(program, &count), other.read_to_end(&mut got));
        assert_eq!((end, read.unwrap()), (End::Closed, BYTES + 5));
        assert!(got.starts_with(b"early") && got[5..].iter().all(|byte| *byte == 7));
    };
    timeout(PATIENCE, async { tokio::join!(sends, receives) }).await.expect("it hangs");
}

#[tokio::test]
async fn no_program_waits_for_the_answer() {
    let ends = ends().await;
    let near = async {
        let tunnel = Opener::new(ends.near.clone(), Memory::new()).ask(target()).await.unwrap();
        let (sent, received, mut heard) = (AtomicU64::new(0), AtomicU64::new(0), Vec::new());
        let end = relay::pipe(&b" and more"[..], &mut heard, tunnel, b"question", &sent, &received).await;
        assert_eq!((end, &heard[..]), (Ok(End::Closed), &b"reply"[..]));
    };
    let far = async {
        let (_grants, mut request) = ends.far.connection().accept_bi().await.unwrap();
        let (mut answer, _credit) = ends.far.connection().accept_bi().await.unwrap();
        assert_eq!(wire::receive::<Request>(&mut request, MAX_MESSAGE).await.unwrap().target, target());
        assert_eq!(request.read_to_end(100).await.unwrap(), b"question and more");
        wire::send(&mut answer, &Answer::Ok(())).await.unwrap();
        answer.write_all(b"reply").await.unwrap();
        answer.finish().unwrap();
        answer.stopped().await.unwrap();
    };
    timeout(PATIENCE, async { tokio::join!(near, far) }).await.expect("it hangs");
}

#[tokio::test]
async fn a_refusal_comes_through_whatever_was_sent_meanwhile() {
    let ends = ends().await;
    let near = async {
        let tunnel = Opener::new(ends.near.clone(), Memory::new()).ask(target()).await.unwrap();
        let (sent, received, mut heard) = (AtomicU64::new(0), AtomicU64::new(0), Vec::new());
        let end = relay::pipe(tokio::io::repeat(7), &mut heard, tunnel, &[], &sent, &received).await;
        assert_eq!((end, &heard[..]), (Err(Refusal::NotAllowed), &[][..]));
        assert_eq!(received.into_inner(), 0);
    };
    let far = async {
        let mut wanted = Wanted::next(&ends.far).await.unwrap();
        wanted.request().await.unwrap();
        wanted.refuse(Refusal::NotAllowed).await;
        // The other side has to hear it.
        ends.near.connection().closed().await
    };
    tokio::select! {
        done = timeout(PATIENCE, near) => done.expect("it hangs"),
        reason = far => panic!("{reason}"),
    }
}

#[tokio::test]
async fn a_reset_may_come_instead_of_the_answer() {
    let ends = ends().await;
    let near = async {
        let tunnel = Opener::new(ends.near.clone(), Memory::new()).ask(target()).await.unwrap();
        let (sent, received) = (AtomicU64::new(0), AtomicU64::new(0));
        let end = relay::pipe(tokio::io::repeat(7), tokio::io::sink(), tunnel, &[], &sent, &received).await;
        assert_eq!(end, Ok(End::Reset));
    };
    let far = async {
        let (_grants, mut request) = ends.far.connection().accept_bi().await.unwrap();
        let (mut answer, _credit) = ends.far.connection().accept_bi().await.unwrap();
        wire::receive::<Request>(&mut request, MAX_MESSAGE).await.unwrap();
        answer.reset(RESET).unwrap();
        ends.near.connection().closed().await
    };
    tokio::select! {
        done = timeout(PATIENCE, near) => done.expect("it hangs"),
        reason = far => panic!("{reason}"),
    }
}

#[tokio::test]
async fn a_lost_connection_is_no_reset() {
    let ends = ends().await;
    let near = async {
        let tunnel = Opener::new(ends.near.clone(), Memory::new()).ask(target()).await.unwrap();
        // A program that says nothing.
        let (program, _other) = duplex(1);
        assert_eq!(tunnel.outward.send(program, &[], &AtomicU64::new(0)).await, End::Lost);
    };
    let far = async {
        let mut wanted = Wanted::next(&ends.far).await.unwrap();
        wanted.request().await.unwrap();
        ends.far.connection().close(VarInt::from_u32(1), b"gone");
    };
    timeout(PATIENCE, async { tokio::join!(near, far) }).await.expect("it hangs");
}

#[tokio::test]
async fn what_is_dropped_does_not_look_complete() {
    let ends = ends().await;
    let near = async { drop(Opener::new(ends.near.clone(), Memory::new()).open(target()).await.unwrap()) };
    let far = async {
        let (mut grants, mut request) = ends.far.connection().accept_bi().await.unwrap();
        let (mut answer, _) = ends.far.connection().accept_bi().await.unwrap();
        wire::send(&mut answer, &Answer::Ok(())).await.unwrap();
        let mut bytes = [0; 100];
        let end = async {
            while request.read(&mut bytes).await?.is_some() {}
            Ok(())
        };
        assert_eq!(timeout(PATIENCE, end).await.expect("an end"), Err(ReadError::Reset(RESET)));
        let refused = async { while grants.write(&[0; 8]).await.is_ok() {} };
        timeout(PATIENCE, refused).await.expect("nobody wants credit");
    };
    tokio::join!(near, far);
}

/// A program that has always something to say, byte by byte, until a task's budget for a turn is used up.
struct Talker;

impl AsyncRead for Talker {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        ready!(poll_proceed(cx)).made_progress();
        buf.put_slice(b"x");
        Poll::Ready(Ok(()))
    }
}

#[tokio::test]
async fn what_comes_is_read_in_each_turn_whatever_the_program_says() {
    let ends = ends().await;
    let tunnel = Opener::new(ends.near.clone(), Memory::new()).ask(target()).await.unwrap();
    let (_grants, _request) = ends.far.connection().accept_bi().await.unwrap();
    let (mut answer, _credit) = ends.far.connection().accept_bi().await.unwrap();
    wire::send(&mut answer, &Answer::Ok(())).await.unwrap();
    let (sent, received) = (AtomicU64::new(0), AtomicU64::new(0));
    let mut piping = pin!(relay::pipe(Talker, tokio::io::sink(), tunnel, &[], &sent, &received));
    let mut turn = async || {
        yield_now().await;
        assert_eq!(poll_fn(|cx| Poll::Ready(piping.as_mut().poll(cx))).await, Poll::Pending);
    };
    // A stream without anything, of which the near side has said that it has come: so has what was sent before.
    ends.near.connection().set_max_concurrent_uni_streams(VarInt::from_u32(100));
    let all_has_come = async || {
        let mut mark = ends.far.connection().open_uni().await.unwrap();
        mark.finish().unwrap();
        let stopped = timeout(PATIENCE, mark.stopped()).await.expect("nothing comes");
        assert_eq!(stopped, Ok(None));
    };
    all_has_come().await;
    turn().await;
    for words in 1..=30 {
        answer.write_all(b"word").await.unwrap();
        all_has_come().await;
        turn().await;
        assert_eq!(received.load(Ordering::Relaxed), 4 * words);
    }
}
