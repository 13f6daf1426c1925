//! What maintainers of PCC run: the tables of the documents, the accuracy of emulator and relay, recordings of kernels.

mod baselines_table;
mod controller_tables;
mod emulator_accuracy;
mod gauntlet_agreement;
mod host_lateness;
mod modules;
mod peers;
mod peers_table;
#[cfg(feature = "tcp")]
mod record;
mod relay_accuracy;

use clap::{Parser, Subcommand};
use std::path::PathBuf;

/// The tasks for maintainers of PCC.
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Prints the table of docs/baselines.md: our baselines beside independent implementations, medians over seeds.
    BaselinesTable {
        /// Where the data are: docs/data.
        folder: PathBuf,
    },
    /// Prints the tables of docs/queue-target-measured.md: controllers over the cases of a folder in the simulator, some minutes.
    ControllerTables {
        /// Where the cases are: benches/controllers.
        folder: PathBuf,
    },
    /// Runs controllers over the links on standard input (docs/data/links.csv), and prints rows of docs/data/noq.csv or ours.csv.
    Peers {
        /// Whose controllers.
        whose: peers::Whose,
    },
    /// Prints the table of docs/peers.md: what real senders did on the emulator, medians over seeds.
    PeersTable {
        /// The scenario, which gives the order of the rows: benches/peers/grid.toml.
        scenario: PathBuf,
        /// The JSON lines of `pcc lab run`: docs/data/peers.jsonl.
        data: PathBuf,
    },
    /// Measures how exactly the emulator does what it should, with real UDP traffic: a minute and a half, as root.
    EmulatorAccuracy {
        /// JSON instead of Markdown tables.
        #[arg(long)]
        json: bool,
    },
    /// Runs cases of the gauntlet in the simulator and on real traffic, as root and in real time, and prints who wins in each.
    GauntletAgreement {
        /// How many of the cases that the emulator can play.
        #[arg(long, default_value_t = 10)]
        cases: usize,
        /// Only the case with this number; may be repeated.
        #[arg(long, value_name = "NUMBER")]
        case: Vec<u32>,
    },
    /// Measures how late a thread of this machine runs, and prints it as a host of the simulator (docs/scenarios.md, "Hosts").
    HostLateness {
        /// How long to measure, in seconds.
        #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600))]
        seconds: u64,
        /// How many busy loops of the lowest priority to run beside it; they end by themselves.
        #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=64))]
        load: u32,
    },
    /// Measures how exactly the relay of `pcc demo` does what it should: a minute.
    RelayAccuracy,
    /// Counts the lines of each crate, and fails if modules use each other in circles.
    Modules,
    /// Records what the kernel's PCC is told while a command runs, for the replay in crates/pcc-tcp: as root.
    #[cfg(feature = "tcp")]
    Record(record::Args),
}

fn main() -> anyhow::Result<()> {
    match Cli::parse().task {
        Task::BaselinesTable { folder } => baselines_table::run(&folder),
        Task::ControllerTables { folder } => controller_tables::run(&folder),
        Task::Peers { whose } => peers::run(whose),
        Task::PeersTable { scenario, data } => peers_table::run(&scenario, &data),
        Task::EmulatorAccuracy { json } => emulator_accuracy::run(json),
        Task::GauntletAgreement { cases, case } => gauntlet_agreement::run(cases, &case),
        Task::HostLateness { seconds, load } => host_lateness::run(seconds, load),
        Task::RelayAccuracy => Ok(relay_accuracy::run()?),
        Task::Modules => modules::run(),
        #[cfg(feature = "tcp")]
        Task::Record(args) => record::run(args),
    }
}
