//! Many connections, and one that nobody reads.

use crate::common::PATIENCE;
use crate::support::{both, data, dial, echo, exchange, memory, serve, target};
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn two_hundred_connections_at_once() {
    let (_far, near) = both(echo());
    let address = near.forward;
    // All are open before any is used.
    let streams: Vec<_> = (0..200).map(|_| dial(address)).collect();
    let threads = streams.into_iter().zip(0..).map(|(stream, seed)| {
        thread::spawn(move || {
            let sent = data(50_000 + 100 * seed as usize, seed);
            assert!(exchange(stream, sent.clone()) == sent);
        })
    });
    threads.collect::<Vec<_>>().into_iter().for_each(|thread| thread.join().unwrap());
    near.pcc.until("all ends", || (near.pcc.events("closed").len() == 200).then_some(()));
}

#[test]
fn a_pipe_carries_much_in_both_directions_at_once() {
    const BYTES: u64 = 100_000_000;
    let echo = echo();
    let far = serve(&[echo.to_string()], &[]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_pcc"));
    command.args(["proxy", "pipe", "127.0.0.1", &echo.port().to_string()]).env("PCC_TICKET", far.ticket());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let writing = thread::spawn(move || std::io::copy(&mut std::io::repeat(7).take(BYTES), &mut input));
    let got = std::io::copy(&mut output, &mut std::io::sink()).unwrap();
    assert!(child.wait().unwrap().success(), "after {got} bytes; far: {:?}", far.lines());
    assert_eq!((got, writing.join().unwrap().unwrap()), (BYTES, BYTES));
}

/// What the buffers of the kernel and of the proxy may hold of one connection.
const BUFFERS: u64 = 100_000_000;

#[test]
fn who_does_not_read_stops_only_itself() {
    let pushed = Arc::new(AtomicU64::new(0));
    let count = pushed.clone();
    // Asked for "e", it sends without an end, else as many megabytes as the number says.
    let target = target(move |mut stream| {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        let block = [7; 100_000];
        let blocks = if byte == *b"e" { u64::MAX } else { 10 * u64::from(byte[0]) };
        for _ in 0..blocks {
            match stream.write(&block) {
                Ok(written) if byte == *b"e" => drop(count.fetch_add(written as u64, Ordering::Relaxed)),
                Ok(100_000) => {}
                Ok(part) => stream.write_all(&block[part..]).unwrap(),
                Err(_) => return,
            }
        }
    });
    let (far, near) = both(target);
    let before = memory(&far) + memory(&near.pcc);
    let mut stalled: Vec<_> = (0..3).map(|_| dial(near.forward)).collect();
    stalled.iter_mut().for_each(|stream| stream.write_all(b"e").unwrap());
    // Until nothing moves any more.
    let (mut last, mut since) = (0, Instant::now());
    let deadline = Instant::now() + PATIENCE;
    while since.elapsed() < Duration::from_secs(1) {
        assert!(Instant::now() < deadline, "{last} bytes, and no end");
        let now = pushed.load(Ordering::Relaxed);
        if now != last {
            (last, since) = (now, Instant::now());
        }
        thread::sleep(Duration::from_millis(20));
    }
    assert!(last < 3 * BUFFERS, "{last} bytes went into three connections that nobody reads");
    let grown = (memory(&far) + memory(&near.pcc)).saturating_sub(before);
    assert!(grown < 3 * BUFFERS, "{grown} bytes of memory for {last}");
    // Others go on.
    let mut other = dial(near.forward);
    other.write_all(&[50]).unwrap();
    let mut got = 0;
    let mut block = [0; 65536];
    loop {
        let read = match other.read(&mut block) {
            Ok(0) => break,
            Ok(read) => read,
            Err(e) => panic!("{e} after {got} bytes; near: {:?}; far: {:?}", near.pcc.lines(), far.lines()),
        };
        assert!(block[..read].iter().all(|byte| *byte == 7));
        got += read;
    }
    assert_eq!(got, 50_000_000);
    println!("{last} bytes waited, {grown} bytes of memory");
}
