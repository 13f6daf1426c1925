//! A far side, a near side, and targets.

use crate::common::{PATIENCE, Pcc, start};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::thread;

/// Starts `pcc proxy` with these arguments and this ticket.
pub fn proxy(arguments: &[&str], ticket: Option<&str>) -> Pcc {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pcc"));
    command.arg("proxy").args(arguments);
    if let Some(ticket) = ticket {
        command.env("PCC_TICKET", ticket);
    }
    start(command)
}

/// Starts a far side that allows this.
pub fn serve(allow: &[String], more: &[&str]) -> Pcc {
    let allow = allow.iter().flat_map(|allow| ["--allow", allow]);
    proxy(
        &["serve", "--json", "--listen", "127.0.0.1:0"]
            .into_iter()
            .chain(allow)
            .chain(more.iter().copied())
            .collect::<Vec<_>>(),
        None,
    )
}

/// A near side with a SOCKS5 proxy, an HTTP proxy and a forward.
pub struct Near {
    pub pcc: Pcc,
    pub socks: SocketAddr,
    pub http: SocketAddr,
    pub forward: SocketAddr,
}

/// Starts one.
pub fn connect(ticket: &str, forward: SocketAddr, more: &[&str]) -> Near {
    let forward = format!("127.0.0.1:0={forward}");
    let local = ["connect", "--json", "--socks", "127.0.0.1:0", "--http", "127.0.0.1:0", "--forward", &forward];
    let pcc = proxy(&local.into_iter().chain(more.iter().copied()).collect::<Vec<_>>(), Some(ticket));
    let (socks, http, forward) = (listening(&pcc, "socks"), listening(&pcc, "http"), listening(&pcc, "forward"));
    Near { pcc, socks, http, forward }
}

/// Where a near side listens for what is spoken there.
pub fn listening(pcc: &Pcc, kind: &str) -> SocketAddr {
    let find = || pcc.events("listening").into_iter().find(|event| event["kind"] == kind);
    pcc.until(kind, find)["address"].as_str().expect("an address").parse().expect("an address")
}

/// The memory of a process, in bytes.
pub fn memory(pcc: &Pcc) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", pcc.id())).expect("status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("VmRSS");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024
}

/// Both sides, with a forward to this target, which is allowed.
pub fn both(target: SocketAddr) -> (Pcc, Near) {
    let far = serve(&[target.to_string()], &[]);
    let near = connect(&far.ticket(), target, &[]);
    (far, near)
}

/// A TCP connection whose reads and writes end at some time.
pub fn dial(address: SocketAddr) -> TcpStream {
    patient(TcpStream::connect(address).expect("connect"))
}

fn patient(stream: TcpStream) -> TcpStream {
    stream.set_read_timeout(Some(PATIENCE)).expect("timeout");
    stream.set_write_timeout(Some(PATIENCE)).expect("timeout");
    stream
}

/// A target that handles each connection in this way, in a thread.
pub fn target(handle: impl Fn(TcpStream) + Clone + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("listen");
    let address = listener.local_addr().expect("address");
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let handle = handle.clone();
            thread::spawn(move || handle(patient(stream)));
        }
    });
    address
}

/// A target that sends back what comes, as it comes.
pub fn echo() -> SocketAddr {
    target(|mut stream| {
        let mut copy = stream.try_clone().expect("clone");
        let _ = std::io::copy(&mut stream, &mut copy);
        let _ = stream.shutdown(Shutdown::Write);
    })
}

/// Bytes that depend on the seed.
pub fn data(len: usize, seed: u64) -> Vec<u8> {
    let mut data = vec![0; len];
    fastrand::Rng::with_seed(seed).fill(&mut data);
    data
}

/// Sends all of it, says that it was all, and returns what comes back.
pub fn exchange(mut stream: TcpStream, sent: Vec<u8>) -> Vec<u8> {
    let mut writer = stream.try_clone().expect("clone");
    let writing = thread::spawn(move || {
        writer.write_all(&sent).expect("write");
        writer.shutdown(Shutdown::Write).expect("shutdown");
    });
    let mut back = Vec::new();
    stream.read_to_end(&mut back).expect("read");
    writing.join().expect("written");
    back
}

/// What a SOCKS5 proxy says.
pub struct Reply {
    pub code: u8,
    pub bound: SocketAddr,
}

/// Asks a SOCKS5 proxy for a command: its reply, and the connection.
pub fn socks(proxy: SocketAddr, command: u8, host: &str, port: u16) -> (Reply, TcpStream) {
    let mut stream = dial(proxy);
    stream.write_all(&[5, 1, 0]).expect("write");
    let mut chosen = [0; 2];
    stream.read_exact(&mut chosen).expect("read");
    assert_eq!(chosen, [5, 0]);
    let mut request = vec![5, command, 0, 3, host.len() as u8];
    request.extend_from_slice(host.as_bytes());
    request.extend_from_slice(&port.to_be_bytes());
    stream.write_all(&request).expect("write");
    let mut reply = [0; 10];
    stream.read_exact(&mut reply).expect("a reply");
    assert_eq!((reply[0], reply[3]), (5, 1));
    let (ip, port) = ([reply[4], reply[5], reply[6], reply[7]], u16::from_be_bytes([reply[8], reply[9]]));
    (Reply { code: reply[1], bound: SocketAddr::from((ip, port)) }, stream)
}

/// Sends a head to an HTTP proxy: its status code, and all else that comes up to the end of the head.
pub fn http(proxy: SocketAddr, head: &str) -> (u16, TcpStream) {
    let mut stream = dial(proxy);
    stream.write_all(head.as_bytes()).expect("write");
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("an answer");
        answer.extend(byte);
    }
    let answer = String::from_utf8(answer).expect("text");
    let code = answer.split(' ').nth(1).and_then(|code| code.parse().ok());
    (code.unwrap_or_else(|| panic!("{answer}")), stream)
}
