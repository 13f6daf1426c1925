//! Sender and receiver as they are, in virtual time, with either stopped now and then, and a network that loses packets.

use super::Place;
use crate::failure::{Kind, Result};
use crate::simulation::{Fate, Machine, Network, Step};
use crate::transfer::choice::Welcome;
use crate::transfer::progress::Reporter;
use crate::transfer::receiver::{Options, Receiver};
use crate::transfer::selection::{Links, Selection};
use crate::transfer::sender;
use fastrand::Rng;
use pcc_quic::Transport;
use std::cell::RefCell;
use std::net::SocketAddr;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// How long a step of the simulation is at most, when nothing is on its way.
const LONGEST: Duration = Duration::from_millis(500);
/// No transfer here takes longer.
const END: Duration = Duration::from_secs(3600);
/// How long the receiver may run after the sender.
const ENOUGH: Duration = Duration::from_secs(300);
/// How often each side is stopped at most.
const STOPS: usize = 3;
/// A process does about so much in all.
const ACTS: f64 = 1500.0;

/// What happened, for whoever watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// `pcc recv` printed this ticket.
    Invited(&'a str),
    /// `pcc send` ended with exit code 0.
    Sent,
    /// `pcc recv` did.
    Received,
}

/// What a transfer goes through.
pub struct Plan {
    pub seed: u64,
    pub delay: Duration,
    /// The share of packets that are lost.
    pub loss: f64,
    /// What becomes of the first processes of the receiver and of the sender, the last one first.
    /// Later ones end by themselves.
    pub fates: [Vec<Fate>; 2],
}

impl Plan {
    /// As a seed has it.
    pub fn drawn(seed: u64) -> Self {
        let rng = &mut Rng::with_seed(seed);
        let delay = Duration::from_millis(rng.u64(1..60));
        let loss = [0.0, 0.01, 0.1][rng.usize(..3)];
        let mut fates = || (0..rng.usize(..=STOPS)).map(|_| fate(rng)).collect();
        Self { seed, delay, loss, fates: [fates(), fates()] }
    }
}

fn fate(rng: &mut Rng) -> Fate {
    let acts = ACTS.powf(rng.f64()) as u64;
    if rng.u32(..4) > 0 { Fate::IsKilled(acts) } else { Fate::IsInterrupted(acts) }
}

/// What came of a plan.
#[derive(Debug, PartialEq, Eq)]
pub struct Course {
    /// Starts and ends of processes, and all packets.
    pub events: Vec<String>,
    /// How much the last process of the receiver did, and that of the sender.
    pub acts: [u64; 2],
}

/// One side: the process, if it runs, and what is to become of it.
struct Side {
    name: &'static str,
    machine: Option<Machine<Result<()>>>,
    fates: Vec<Fate>,
    starts_at: Duration,
    /// How much the last process did.
    acts: u64,
}

/// How a step of a side ended.
enum After {
    Runs,
    Done,
    Again,
}

impl Side {
    fn new(name: &'static str, fates: Vec<Fate>) -> Self {
        Self { name, machine: None, fates, starts_at: Duration::ZERO, acts: 0 }
    }

    /// Starts it if it is time to.
    fn start(&mut self, world: &mut World, seed: u64, main: impl FnOnce() -> Main) {
        if self.machine.is_none() && world.now >= self.starts_at {
            let fate = self.fates.pop().unwrap_or(Fate::Ends);
            world.note(format!("{} starts and {fate:?}", self.name));
            self.machine = Some(Machine::start(&world.network, seed, fate, main()));
        }
    }

    fn step(&mut self, world: &mut World, time: Duration) -> After {
        let Some(machine) = &mut self.machine else { return After::Runs };
        let step = machine.step(time);
        self.acts = machine.acts();
        let (after, how) = match step {
            Step::Runs => return After::Runs,
            Step::Ended(Ok(())) => (After::Done, "done".to_owned()),
            Step::Ended(Err(failure)) => {
                assert!(failure.kind != Kind::Corrupt, "{failure}");
                world.failed = Some(format!("{}: {failure}", self.name));
                world.exists |= failure.kind == Kind::Exists;
                // Without the message, which has addresses in it.
                (After::Again, format!("{:?}", failure.kind))
            }
            Step::Killed => (After::Again, "killed".to_owned()),
        };
        world.note(format!("{}: {how} after {} acts", self.name, self.acts));
        self.machine = None;
        self.starts_at = world.now + Duration::from_millis(world.rng.u64(..10_000));
        after
    }
}

type Main = std::pin::Pin<Box<dyn Future<Output = Result<()>>>>;

struct World {
    network: Network,
    rng: Rng,
    now: Duration,
    events: Vec<String>,
    /// The last failure that a process ended with, for whoever looks for the reason of a transfer without an end.
    failed: Option<String>,
    /// Whether an end said that something is there already.
    exists: bool,
}

impl World {
    fn note(&mut self, what: String) {
        self.events.push(format!("{:?}: {what}", self.now));
    }
}

/// Transfers what is in a place to a folder, on an address of its own. The error says how it did not come to its end.
pub fn transfer(
    place: &Place,
    to: &Path,
    address: SocketAddr,
    plan: Plan,
    watch: impl Fn(Event<'_>),
) -> std::result::Result<Course, String> {
    let Plan { seed, delay, loss, fates: [receivers, senders] } = plan;
    // Of whoever draws random numbers of its own: a controller, a connection's address.
    fastrand::seed(seed);
    let (mut receiver, mut sender) = (Side::new("receiver", receivers), Side::new("sender", senders));
    let (network, rng) = (Network::new(seed, delay, loss), Rng::with_seed(seed));
    let mut world = World { network, rng, now: Duration::ZERO, events: Vec::new(), failed: None, exists: false };
    let ticket = Rc::new(RefCell::new(None));
    let mut invited = false;
    let (mut received, mut sent) = (false, None);
    // Within it neither side hears of what the other does.
    let step = delay.div_f64(2.0);
    let mut time = step;
    while !(received && sender.machine.is_none()) {
        time = if world.network.is_quiet() { (time * 2).min(LONGEST) } else { step };
        world.now += time;
        world.network.step(time);
        if !received {
            receiver.start(&mut world, seed, || receive(place, to, address, ticket.clone()));
        }
        if let Some(ticket) = &*ticket.borrow()
            && !received
            && sent.is_none()
        {
            if !std::mem::replace(&mut invited, true) {
                watch(Event::Invited(ticket));
            }
            sender.start(&mut world, seed ^ 1, || send(place, ticket.clone()));
        }
        if let After::Done = receiver.step(&mut world, time) {
            received = true;
            watch(Event::Received);
        }
        if let After::Done = sender.step(&mut world, time) {
            sent = Some(world.now);
            watch(Event::Sent);
        }
        // One that was killed when it had removed all but itself waits for nobody, and its user stops it.
        // Nor does one that was killed so after it had waited for a sender in vain know what that sends: all must be there.
        if world.exists || sent.is_some_and(|sent| world.now > sent + ENOUGH) {
            break;
        }
        if world.now > END {
            let failed = world.failed.as_deref().unwrap_or("none");
            return Err(format!("no end; the last failure: {failed}\nafter this: {:#?}", world.events));
        }
    }
    let (packets, trace) = world.network.sent();
    world.note(format!("{packets} packets, {trace:x}"));
    Ok(Course { events: world.events, acts: [receiver.acts, sender.acts] })
}

/// `pcc recv`.
fn receive(place: &Place, dir: &Path, address: SocketAddr, ticket: Rc<RefCell<Option<String>>>) -> Main {
    let (dir, listen) = (dir.to_owned(), Some(address));
    let options = Options { dir, listen, advertise: Vec::new(), welcome: Welcome::Anyone, rules: place.rules() };
    Box::pin(async move {
        let (receiver, printed) = Receiver::open(options, Arc::new(Reporter::new(false))).await?;
        *ticket.borrow_mut() = Some(printed.to_string());
        receiver.receive(crate::signals::interrupted()).await
    })
}

/// `pcc send`.
fn send(place: &Place, ticket: String) -> Main {
    let options = sender::Options {
        paths: place.paths(),
        selection: Selection::new(Links::Keep, &[]).expect("no pattern"),
        strict: false,
        ticket,
        credentials: place.sender(),
        transport: Transport::default().config(),
        patience: Duration::from_secs(60),
    };
    Box::pin(sender::run(options, Arc::new(Reporter::new(false))))
}
