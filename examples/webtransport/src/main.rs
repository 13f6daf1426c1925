//! Live video over WebTransport, with PCC as its congestion controller.
//!
//! ```text
//! cargo run --release                                          both ends on this machine, for five seconds
//! cargo run --release -- publish 0.0.0.0:4443 queue-target     prints the hash of its certificate
//! cargo run --release -- watch https://HOST:4443 HASH 30       for 30 seconds
//! ```
//!
//! The frames are made up, 20 Mbit/s of them; each travels on a stream of its own, and those that are a second old are given
//! up. The viewer says how late they came, so the clocks of both ends have to agree. CONTROLLER is one that
//! `pcc proxy connect --help` lists too.

mod publish;
mod watch;

use anyhow::{Result, bail};
use std::net::SocketAddr;
use std::time::Duration;

const FRAMES_PER_SECOND: u32 = 30;

const USAGE: &str = "no arguments, `publish ADDRESS:PORT CONTROLLER`, or `watch URL HASH SECONDS`";

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        [] => {
            let publisher = publish::Publisher::listen(SocketAddr::from(([127, 0, 0, 1], 0)), Default::default())?;
            let (url, hash) = (publisher.url()?, publisher.hash.clone());
            tokio::spawn(publisher.run());
            watch::watch(&url, &hash, Duration::from_secs(5)).await
        }
        ["publish", address, controller] => {
            let publisher = publish::Publisher::listen(address.parse()?, controller.parse()?)?;
            println!("{}", publisher.hash);
            publisher.run().await;
            Ok(())
        }
        ["watch", url, hash, seconds] => watch::watch(url, hash, Duration::from_secs(seconds.parse()?)).await,
        _ => bail!("wrong arguments; it takes {USAGE}"),
    }
}
