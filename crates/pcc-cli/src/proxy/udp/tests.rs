//! Flows over a real connection, with sides that don't keep to the protocol.

use super::serve::Far;
use crate::proxy::credit::Memory;
use crate::proxy::flow::Tally;
use crate::proxy::outcome::End;
use crate::proxy::protocol::Refusal;
use crate::proxy::report::Reporter;
use crate::proxy::rules::Rules;
use crate::proxy::target::Target;
use crate::proxy::tests::{Ends, PATIENCE, ends};
use crate::proxy::tunnel::Opener;
use bytes::Bytes;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

const SOON: Duration = Duration::from_millis(300);

/// A socket that sends back what comes, and where it is.
async fn echo() -> Target {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let target = socket.local_addr().unwrap().to_string().parse().unwrap();
    tokio::spawn(async move {
        let mut buffer = [0; 2000];
        while let Ok((len, from)) = socket.recv_from(&mut buffer).await {
            let _ = socket.send_to(&buffer[..len], from).await;
        }
    });
    target
}

/// A far side that allows this target, or nothing of this machine; and what opens flows to it.
fn attend(ends: &Ends, allow: Option<&Target>, patience: Duration) -> Opener {
    let allow = allow.map(|target| target.to_string().parse().unwrap());
    let rules = Arc::new(Rules { allow: allow.into_iter().collect(), only_allowed: false });
    tokio::spawn(Arc::new(Far::new(rules, Arc::new(Reporter::new(false)), patience)).attend(ends.far.clone()));
    Opener::new(ends.near.clone(), Memory::new())
}

/// A flow that is carried: where its payloads go in and come out.
struct Carried {
    payloads: mpsc::Sender<Bytes>,
    replies: mpsc::UnboundedReceiver<Vec<u8>>,
    tally: Arc<Tally>,
    end: JoinHandle<Result<End, Refusal>>,
}

async fn carry(opener: &Opener, target: Target, patience: Duration) -> Carried {
    let flow = opener.flow(target).await.unwrap();
    let (payloads, queue) = mpsc::channel(8);
    let (reply, replies) = mpsc::unbounded_channel();
    let tally = Arc::<Tally>::default();
    let count = tally.clone();
    let end = tokio::spawn(async move {
        flow.carry(queue, move |payload| reply.send(payload.to_vec()).is_ok(), &count, patience).await
    });
    Carried { payloads, replies, tally, end }
}

impl Carried {
    /// Sends it until it comes back.
    async fn exchange(&mut self, payload: &'static [u8]) {
        let exchange = async {
            loop {
                self.payloads.send(Bytes::from_static(payload)).await.unwrap();
                while let Ok(Some(reply)) = timeout(SOON, self.replies.recv()).await {
                    if reply == payload {
                        return;
                    }
                }
            }
        };
        timeout(PATIENCE, exchange).await.expect("nothing comes back");
    }

    async fn end(self) -> Result<End, Refusal> {
        timeout(PATIENCE, self.end).await.expect("no end").unwrap()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn either_side_ends_a_flow_in_which_nothing_moves() {
    let (ends, target) = (ends().await, echo().await);
    let opener = attend(&ends, Some(&target), SOON);
    let mut flow = carry(&opener, target.clone(), PATIENCE).await;
    flow.exchange(b"").await;
    assert_eq!(flow.end().await, Ok(End::Idle));
    // The far side is more patient now.
    let ends = crate::proxy::tests::ends().await;
    let opener = attend(&ends, Some(&target), PATIENCE);
    let mut flow = carry(&opener, target, SOON).await;
    flow.exchange(b"x").await;
    assert_eq!(flow.end().await, Ok(End::Idle));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flow_in_which_something_moves_stays() {
    let (ends, target) = (ends().await, echo().await);
    let opener = attend(&ends, Some(&target), PATIENCE);
    let mut flow = carry(&opener, target, 2 * SOON).await;
    for _ in 0..6 {
        flow.exchange(b"x").await;
        sleep(SOON).await;
    }
    drop(flow.payloads);
    assert_eq!(timeout(PATIENCE, flow.end).await.unwrap().unwrap(), Ok(End::Closed));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_allowed_is_said() {
    let (ends, target) = (ends().await, echo().await);
    let opener = attend(&ends, None, PATIENCE);
    assert_eq!(carry(&opener, target, PATIENCE).await.end().await, Err(Refusal::NotAllowed));
    let nobody = "nobody.invalid:53".parse().unwrap();
    assert_eq!(carry(&opener, nobody, PATIENCE).await.end().await, Err(Refusal::HostUnreachable));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_fits_no_packet_is_dropped_and_counted() {
    let (ends, target) = (ends().await, echo().await);
    let opener = attend(&ends, Some(&target), PATIENCE);
    let mut flow = carry(&opener, target, PATIENCE).await;
    let most = ends.near.connection().max_datagram_size().unwrap();
    for len in [most + 100, 1500, 1501, 60_000] {
        flow.payloads.send(vec![0; len].into()).await.unwrap();
    }
    flow.exchange(b"x").await;
    assert_eq!(flow.tally.dropped(), 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nonsense_harms_nobody() {
    let (ends, target) = (ends().await, echo().await);
    let opener = attend(&ends, Some(&target), PATIENCE);
    let mut flow = carry(&opener, target.clone(), PATIENCE).await;
    flow.exchange(b"before").await;
    let mut rng = fastrand::Rng::with_seed(1);
    for n in 0..5000 {
        // Datagrams for flows that are none, and streams that begin with something else than a request.
        let mut bytes = vec![0; rng.usize(0..60)];
        rng.fill(&mut bytes);
        ends.near.connection().send_datagram(bytes.clone().into()).unwrap();
        if n % 50 == 0 {
            let mut stream =
                timeout(PATIENCE, ends.near.connection().open_uni()).await.expect("no more streams").unwrap();
            // It may be stopped meanwhile.
            let _ = stream.write_all(&bytes).await;
        }
    }
    flow.exchange(b"after").await;
    carry(&opener, target, PATIENCE).await.exchange(b"another").await;
}
