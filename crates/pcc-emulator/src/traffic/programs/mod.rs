//! Flows of outside programs.

mod command;
mod output;
mod program;

use super::group::TrafficFlow;
use super::pacing::PacingErrors;
use super::place::Place;
use super::record::Record;
use super::running::Running;
use super::worker::{Over, Worker};
use crate::error::EmulatorError;
use crate::host::Namespace;
use command::CommandLine;
use pcc_quic::precise::Timer;
use program::{Ending, Program};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// How long a server may take until it listens. Its port is not known, so that its first output or this time counts as the sign.
const BEGINNING: Duration = Duration::from_millis(300);

/// Sets up the flows of a run that lasts for `duration`.
pub(super) fn start(
    place: &Place<'_>,
    client: &str,
    server: Option<&str>,
    flows: Vec<TrafficFlow>,
    duration: Duration,
) -> Result<Running, EmulatorError> {
    let client = command(place, "command", client)?;
    let server = server.map(|server| command(place, "server", server)).transpose()?;
    let records: Vec<Arc<Record>> = flows.iter().map(|_| Arc::default()).collect();
    let start = |server: &CommandLine, flow| Program::start(place.right, &server.words(flow, duration));
    let servers = server.iter().flat_map(|server| flows.iter().map(move |flow| start(server, flow)));
    let servers = servers.collect::<Result<Vec<_>, _>>()?;
    let begun = Instant::now() + BEGINNING;
    let servers: Vec<_> = servers.into_iter().zip(records.clone()).collect();
    for (server, _) in &servers {
        server.wait_for_output(begun);
    }
    let receiver = Worker::spawn(place, "receiver", async move |_, over| {
        let mut tasks = JoinSet::new();
        for (server, record) in servers {
            tasks.spawn(serve(server, record, over.clone()));
        }
        tasks.join_all().await.iter().sum()
    })?;
    let namespace = Arc::new(place.left.try_clone()?);
    let clients: Vec<_> = flows.into_iter().zip(records.clone()).collect();
    let sender = Worker::spawn(place, "sender", async move |origin, over| {
        let mut tasks = JoinSet::new();
        for (flow, record) in clients {
            let words = client.words(&flow, duration);
            tasks.spawn(send(namespace.clone(), words, flow, origin, record, over.clone()));
        }
        tasks.join_all().await.iter().sum()
    })?;
    Ok(Running { records, sender, receiver, pacing: PacingErrors::default() })
}

fn command(place: &Place<'_>, key: &'static str, text: &str) -> Result<CommandLine, EmulatorError> {
    let command = CommandLine::parse(text).map_err(|reason| place.fault(key, reason))?;
    match command.missing() {
        Some(program) => Err(EmulatorError::NoProgram { flow: place.index, key, program: program.to_owned() }),
        None => Ok(command),
    }
}

/// Lets a server run to the end; the processor time that it took.
async fn serve(server: Program, record: Arc<Record>, mut over: Over) -> Duration {
    let ending = server.run_until(over.wait()).await;
    if let Some(bytes) = ending.received {
        record.set_payload(bytes);
    }
    note(&record, ending)
}

/// Runs a client from the start of its flow to its stop; the processor time that it took.
async fn send(
    namespace: Arc<Namespace>,
    words: Vec<String>,
    flow: TrafficFlow,
    origin: Instant,
    record: Arc<Record>,
    mut over: Over,
) -> Duration {
    let failed = |error: EmulatorError| {
        record.fail(error);
        Duration::ZERO
    };
    let mut timer = match Timer::new() {
        Ok(timer) => timer,
        Err(error) => return failed(EmulatorError::System { doing: "can't make a timer", error }),
    };
    tokio::select! {
        () = timer.sleep_until(origin + flow.start) => {}
        () = over.wait() => return Duration::ZERO,
    }
    let client = match Program::start(&namespace, &words) {
        Ok(client) => client,
        Err(error) => return failed(error),
    };
    let stop = async {
        match flow.stop {
            Some(stop) => timer.sleep_until(origin + stop).await,
            None => std::future::pending().await,
        }
    };
    let until = async {
        tokio::select! {
            () = stop => {}
            () = over.wait() => {}
        }
    };
    note(&record, client.run_until(until).await)
}

fn note(record: &Record, ending: Ending) -> Duration {
    if let Some(failure) = ending.failure {
        record.fail(failure);
    }
    ending.cpu
}
