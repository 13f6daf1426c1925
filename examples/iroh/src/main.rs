//! Two iroh endpoints on this machine; the one that connects sends with PCC Vivace.
//!
//! `cargo run --release` in this folder.

use anyhow::{Context, Result};
use iroh::Endpoint;
use iroh::endpoint::{QuicTransportConfig, presets};
use pcc::Profile;
use pcc_quic::Factory;
use std::sync::Arc;
use std::time::Instant;

const ALPN: &[u8] = b"pcc-iroh-example/0";
const BYTES: usize = 100_000_000;

#[tokio::main]
async fn main() -> Result<()> {
    // This line is all it takes.
    let pcc = QuicTransportConfig::builder()
        .congestion_controller_factory(Arc::new(Factory::profile(Profile::default())));

    let receiver = Endpoint::builder(presets::Minimal).alpns(vec![ALPN.to_vec()]).bind().await?;
    let sender = Endpoint::builder(presets::Minimal).transport_config(pcc.build()).bind().await?;
    let address = receiver.addr();
    let receive = tokio::spawn(async move {
        let connection = receiver.accept().await.context("the endpoint is open")?.await?;
        let mut stream = connection.accept_uni().await?;
        while stream.read_chunk(usize::MAX).await?.is_some() {}
        connection.closed().await;
        anyhow::Ok(())
    });

    let connection = sender.connect(address, ALPN).await?;
    let mut stream = connection.open_uni().await?;
    let began = Instant::now();
    stream.write_all(&vec![0; BYTES]).await?;
    stream.finish()?;
    stream.stopped().await?;
    let seconds = began.elapsed().as_secs_f64();
    println!("{BYTES} bytes in {seconds:.2} s, {:.0} Mbit/s", BYTES as f64 * 8e-6 / seconds);
    connection.close(0_u32.into(), b"done");
    receive.await??;
    sender.close().await;
    Ok(())
}
