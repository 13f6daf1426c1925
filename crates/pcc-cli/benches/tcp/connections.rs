//! Memory of a connection that does nothing.

use crate::{Args, CONTROLLERS};
use anyhow::Context;
use pcc_emulator::host::Namespace;
use pcc_lab::report::{aligned, median};
use pcc_tcp::kernel::statistics;
use rustix::net::sockopt::set_tcp_congestion;
use serde_json::json;
use std::net::{TcpListener, TcpStream};
use std::thread::sleep;
use std::time::Duration;

/// Both ends of so many connections.
const CONNECTIONS: usize = 1000;
/// Other programs of the machine take and give back memory, too.
const ROUNDS: usize = 5;
/// Until the kernel has given back what is no longer used.
const REST: Duration = Duration::from_secs(1);

/// Prints the kernel's memory of a connection's end under each controller.
pub fn measure(args: &Args) -> anyhow::Result<()> {
    let state = statistics().context("no statistics of the controllers")?.bytes_per_connection;
    let host = Namespace::new()?;
    let mut measured = CONTROLLERS.map(|controller| (controller, Vec::new()));
    for _ in 0..ROUNDS {
        for (controller, values) in &mut measured {
            values.push(host.run(|| Ok(bytes(controller)))??);
        }
    }
    let mut rows = vec![["controller", "kernel memory of an end, bytes"].map(str::to_owned).to_vec()];
    for (controller, values) in measured {
        let bytes = median(values).unwrap_or_default();
        if args.json {
            println!("{}", json!({ "controller": controller, "bytes": bytes }));
        }
        rows.push(vec![controller.to_owned(), format!("{bytes:.0}")]);
    }
    if args.json {
        println!("{}", json!({ "state": state }));
    } else {
        println!("{}PCC's own state of a connection: {state} bytes\n", aligned(&rows, 1));
    }
    Ok(())
}

/// What the kernel takes for the end of a connection, the mean of many.
fn bytes(controller: &str) -> anyhow::Result<f64> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    set_tcp_congestion(&listener, controller)?;
    let to = listener.local_addr()?;
    sleep(REST);
    let before = unreclaimable()?;
    let mut ends = Vec::new();
    for _ in 0..CONNECTIONS {
        let client = TcpStream::connect(to)?;
        set_tcp_congestion(&client, controller)?;
        ends.push((client, listener.accept()?));
    }
    sleep(REST);
    Ok((unreclaimable()? - before) / (2 * CONNECTIONS) as f64)
}

/// Bytes of kernel objects that are in use: proc_meminfo(5).
fn unreclaimable() -> anyhow::Result<f64> {
    let table = std::fs::read_to_string("/proc/meminfo")?;
    let line = table.lines().find_map(|line| line.strip_prefix("SUnreclaim:")).context("no SUnreclaim")?;
    let kib: f64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kib * 1024.0)
}
