//! The end that receives.

use crate::FRAMES_PER_SECOND;
use anyhow::{Context, Result, ensure};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};
use web_transport_noq::{ClientBuilder, RecvStream};

/// Longer ones are not taken.
const MAX_FRAME: usize = 1 << 20;

/// Watches for this long what the publisher with this certificate sends, and prints how late the frames were.
pub async fn watch(url: &str, hash: &str, time: Duration) -> Result<()> {
    let hash = bytes(hash).context("the hash must be 64 hexadecimal digits")?;
    let client = ClientBuilder::new().with_server_certificate_hashes(vec![hash])?;
    let session = client.connect(url.parse::<url::Url>()?).await?;
    let end = Instant::now() + time;
    let mut frames = JoinSet::new();
    while let Ok(stream) = timeout_at(end, session.accept_uni()).await {
        frames.spawn(receive(stream?));
    }
    frames.abort_all();
    let mut delays = Vec::new();
    while let Some(frame) = frames.join_next().await {
        delays.extend(frame.ok().flatten());
    }
    session.close(0, b"enough");
    ensure!(!delays.is_empty(), "no frame came");
    delays.sort_unstable();
    let at = |percent: usize| delays[(delays.len() - 1) * percent / 100].as_millis();
    let (came, made) = (delays.len(), time.as_secs() * u64::from(FRAMES_PER_SECOND));
    println!(
        "{came} of {made} frames; late by {} ms in the median, {} ms (95 %), {} ms (99 %)",
        at(50),
        at(95),
        at(99)
    );
    Ok(())
}

/// How long a frame took from its making; nothing if the publisher gave it up.
async fn receive(mut stream: RecvStream) -> Option<Duration> {
    let frame = stream.read_to_end(MAX_FRAME).await.ok()?;
    let made = Duration::from_nanos(u64::from_le_bytes(frame.get(..8)?.try_into().ok()?));
    Some(SystemTime::now().duration_since(UNIX_EPOCH).ok()?.saturating_sub(made))
}

/// The bytes of hexadecimal digits.
fn bytes(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
    pairs.collect::<Option<Vec<_>>>().filter(|bytes| digits.is_ascii() && bytes.len() == 32)
}
