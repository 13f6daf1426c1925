//! `pcc tcp status`: what the kernel can, has and uses.

use super::connections;
use super::namespaces::{Place, everywhere};
use crate::output::{json_lines, show};
use pcc_tcp::kernel::{Controller, Holder, KernelStatistics, holders, release, requirements, statistics, versions};
use serde::Serialize;
use std::fmt::{self, Write};
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  sudo pcc tcp status
  pcc tcp status --json                          as any user: what that one can see
  pcc tcp status > /dev/null || sudo pcc tcp load --pin

Exit code:
  0 when a controller is registered, 1 when none is, 2 for a wrong command line";

/// Shows what this kernel can, which controllers are registered and by whom, and who uses them.
///
/// Root sees all; another user sees the connections of this network namespace only, and not who registered a controller.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Print a JSON document instead of text.
    #[arg(long)]
    json: bool,
}

/// Shows what the kernel has; the exit code is 1 where no controller is registered.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let status = Status::now();
    show(&if args.json { json_lines([&status])? } else { status.to_string() })?;
    let registered = status.controllers.iter().any(|controller| controller.registered);
    Ok(if registered { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[derive(Serialize)]
struct Status {
    kernel: String,
    requirements: Vec<Requirement>,
    controllers: Vec<Row>,
    /// The default of this network namespace.
    default: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    statistics: Option<Costs>,
}

#[derive(Serialize)]
struct Requirement {
    what: &'static str,
    met: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

#[derive(Serialize)]
struct Row {
    name: &'static str,
    profile: &'static str,
    registered: bool,
    pinned: bool,
    /// The process that ends it when it ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    process: Option<u32>,
    /// What keeps it registered, for people.
    #[serde(skip)]
    by: String,
    connections: u64,
    /// Versions that aren't registered any more, but in use.
    old_versions: usize,
}

#[derive(Serialize)]
struct Costs {
    bytes_per_connection: u32,
    /// `null` where the kernel never counted.
    nanoseconds_per_acknowledgement: Option<f64>,
    acknowledgements: u64,
    counting: bool,
}

impl Status {
    fn now() -> Status {
        let places = everywhere();
        let (holders, versions, connections) = (holders(), versions(), connections::by_controller(&places));
        let rows = Controller::ALL.map(|controller| {
            let versions = versions.get(&controller).copied().unwrap_or(0);
            let connections = connections.get(controller.name()).copied().unwrap_or(0);
            Row::new(controller, holders.get(&controller), versions, connections)
        });
        let requirements = requirements().into_iter().map(|requirement| Requirement {
            what: requirement.what,
            met: requirement.met.is_ok(),
            reason: requirement.met.err().map(|error| error.to_string()),
        });
        Status {
            kernel: release(),
            requirements: requirements.collect(),
            controllers: rows.into(),
            default: Place::here().default().ok(),
            statistics: statistics().map(Costs::from),
        }
    }
}

impl Row {
    fn new(controller: Controller, holder: Option<&Holder>, versions: usize, connections: u64) -> Row {
        Row {
            name: controller.name(),
            profile: controller.profile(),
            registered: holder.is_some(),
            pinned: holder == Some(&Holder::Pin),
            process: match holder {
                Some(Holder::Process { id, .. }) => Some(*id),
                _ => None,
            },
            by: match holder {
                None => "no".to_owned(),
                Some(Holder::Unknown) => "yes".to_owned(),
                Some(holder) => holder.to_string(),
            },
            old_versions: versions.saturating_sub(usize::from(holder.is_some())),
            connections,
        }
    }
}

impl From<KernelStatistics> for Costs {
    fn from(counted: KernelStatistics) -> Costs {
        let nanoseconds = counted.nanoseconds as f64 / counted.acknowledgements as f64;
        Costs {
            bytes_per_connection: counted.bytes_per_connection,
            nanoseconds_per_acknowledgement: nanoseconds.is_finite().then_some(nanoseconds),
            acknowledgements: counted.acknowledgements,
            counting: counted.counting,
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Linux {}", self.kernel)?;
        for requirement in &self.requirements {
            match &requirement.reason {
                None => writeln!(f, "  yes  {}", requirement.what)?,
                Some(reason) => writeln!(f, "  no   {}: {reason}", requirement.what)?,
            }
        }
        writeln!(f, "\n{:<16}{:<28}{:>12}", "controller", "registered", "connections")?;
        for row in &self.controllers {
            writeln!(f, "{:<16}{:<28}{:>12}", row.name, row.by, row.connections)?;
        }
        f.write_char('\n')?;
        for row in self.controllers.iter().filter(|row| row.old_versions > 0) {
            writeln!(f, "{}: connections or defaults still use unloaded programs ({})", row.name, row.old_versions)?;
        }
        if let Some(default) = &self.default {
            writeln!(f, "default of this network namespace: {default}{}", self.doubt(default))?;
        }
        if let Some(costs) = &self.statistics {
            writeln!(f, "memory: {} bytes a connection", costs.bytes_per_connection)?;
            match costs.nanoseconds_per_acknowledgement {
                Some(ns) => writeln!(f, "time: {ns:.0} ns an acknowledgement, of {}", costs.acknowledgements)?,
                None if costs.counting => writeln!(f, "time: no acknowledgement yet")?,
                None => writeln!(f, "time: the kernel doesn't count it (sysctl -w kernel.bpf_stats_enabled=1)")?,
            }
        }
        Ok(())
    }
}

impl Status {
    /// What is to be said about a default that is one of ours and isn't registered.
    fn doubt(&self, default: &str) -> &'static str {
        if self.controllers.iter().any(|row| row.name == default && !row.registered) {
            ", of an unloaded version that it keeps until another default is set"
        } else {
            ""
        }
    }
}
