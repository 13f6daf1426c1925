//! What PCC in the kernel costs, beside the kernel's own controllers: memory, processor time, and how a thousand connections do.
//! On a quiet machine, as root:
//!
//! ```text
//! cargo bench -p pcc-cli --features tcp --bench tcp -- [PART]... [--json] [--seeds N] [--set KEY=VALUE]...
//! ```
//!
//! `--json` prints a line for each run instead of tables; `--set` changes the scenarios, as in `pcc lab run`.

mod acknowledgements;
mod connections;
mod functions;
mod runs;

use clap::{Parser, ValueEnum};
use pcc_tcp::kernel::{Controller, load};

/// All controllers to compare.
const CONTROLLERS: [&str; 5] = ["pcc_vivace", "pcc_vivaceloss", "pcc_allegro", "cubic", "bbr"];

#[derive(Parser)]
struct Args {
    /// Given by cargo bench. Tests of all targets don't run this.
    #[arg(long, hide = true)]
    bench: bool,
    /// What to measure instead of everything.
    part: Vec<Part>,
    /// Print a JSON document for each run instead of tables.
    #[arg(long)]
    json: bool,
    /// Run everything so often.
    #[arg(long, default_value_t = 3)]
    seeds: u64,
    /// Set a key of the scenarios, such as duration="5s".
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    set: Vec<(String, toml::Value)>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Memory of connections; seconds.
    Memory,
    /// Time for an acknowledgement; 2 minutes.
    Acknowledgements,
    /// Time in the controllers' functions, by perf; 3 minutes for each seed.
    Functions,
    /// benches/tcp-cost.toml; 3 minutes for each seed.
    Cost,
    /// benches/tcp-many.toml; 4 minutes for each seed.
    Many,
}

fn setting(text: &str) -> Result<(String, toml::Value), String> {
    let (key, value) = text.split_once('=').ok_or("KEY=VALUE is meant")?;
    let value = value.parse().unwrap_or_else(|_| toml::Value::String(value.to_owned()));
    Ok((key.to_owned(), value))
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    if !args.bench {
        return Ok(());
    }
    let _registered = load(&Controller::ALL)?;
    let parts = if args.part.is_empty() { Part::value_variants() } else { &args.part };
    for part in parts {
        match part {
            Part::Memory => connections::measure(&args)?,
            Part::Acknowledgements => acknowledgements::measure(&args)?,
            Part::Functions => functions::measure(&args)?,
            Part::Cost => runs::measure("tcp-cost", &args)?,
            Part::Many => runs::measure("tcp-many", &args)?,
        }
    }
    Ok(())
}
