//! How connections end: by one direction, by a reset, with a side of the proxy.

use crate::common::{PATIENCE, Pcc, start, start_reading, terminal};
use crate::support::{both, connect, data, dial, echo, exchange, proxy, serve, target};
use rustix::net::sockopt::set_socket_linger;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// Closes a connection with a reset.
fn reset(stream: TcpStream) {
    set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
}

/// That a connection ends with a reset, whatever came before.
fn is_reset(mut stream: TcpStream) {
    let error = std::io::copy(&mut stream, &mut std::io::sink()).expect_err("no reset but an end");
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

#[test]
fn each_direction_ends_by_itself() {
    let (tell, heard) = mpsc::channel();
    // It says all that it has to say, and then listens.
    let target = target(move |mut stream| {
        stream.write_all(&data(500_000, 2)).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut got = Vec::new();
        stream.read_to_end(&mut got).unwrap();
        tell.send(got).unwrap();
    });
    let (_far, near) = both(target);
    let mut stream = dial(near.forward);
    let mut got = Vec::new();
    stream.read_to_end(&mut got).unwrap();
    assert!(got == data(500_000, 2));
    stream.write_all(&data(700_000, 3)).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    assert!(heard.recv_timeout(PATIENCE).unwrap() == data(700_000, 3));
    // The other way round.
    let (_far, near) = both(echo());
    assert!(exchange(dial(near.forward), data(2_000_000, 4)) == data(2_000_000, 4));
}

#[test]
fn resets_go_through() {
    let (tell, heard) = mpsc::channel();
    let target = target(move |mut stream| {
        let mut byte = [0];
        match stream.read_exact(&mut byte) {
            Ok(()) if byte == *b"r" => reset(stream),
            // Never reads on: the reset must come through all that is waiting.
            Ok(()) => {
                let ended = std::iter::repeat_with(|| {
                    std::thread::sleep(Duration::from_millis(20));
                    rustix::net::sockopt::socket_error(&stream)
                });
                let found = ended.take(3000).find_map(|error| error.ok()?.err());
                tell.send(found).unwrap();
            }
            Err(_) => {}
        }
    });
    let (_far, near) = both(target);
    let mut stream = dial(near.forward);
    stream.write_all(b"r").unwrap();
    is_reset(stream);

    let mut stream = dial(near.forward);
    // More than all buffers on the way hold, so that nobody reads on when the reset comes.
    stream.set_write_timeout(Some(Duration::from_secs(2))).unwrap();
    stream.write_all(b"w").unwrap();
    while stream.write(&[0; 65536]).is_ok() {}
    reset(stream);
    assert_eq!(heard.recv_timeout(PATIENCE).unwrap(), Some(rustix::io::Errno::CONNRESET));
    let find = || near.pcc.events("closed").into_iter().filter(|event| event["end"] == "reset").nth(1);
    near.pcc.until("both resets", find);
}

#[test]
fn a_forward_that_leads_nowhere_resets_those_who_take_it() {
    let far = serve(&[], &[]);
    let near = connect(&far.ticket(), echo(), &[]);
    is_reset(dial(near.forward));
    assert!(near.pcc.event("denied")["reason"].as_str().unwrap().contains("--allow"));
    assert!(near.pcc.events("closed").is_empty());
}

/// A far side that keeps its ticket and its address, and what starts it again.
fn lasting(echo: SocketAddr) -> (Pcc, impl Fn() -> Pcc) {
    let dir = tempfile::tempdir().unwrap();
    let identity = dir.path().join("identity").to_str().unwrap().to_owned();
    let far = serve(&[echo.to_string()], &["--identity", &identity]);
    let listen = far.event("ticket")["addresses"][0].as_str().unwrap().to_owned();
    let again = move || {
        assert!(dir.path().exists());
        proxy(&["serve", "--json", "--listen", &listen, "--allow", &echo.to_string(), "--identity", &identity], None)
    };
    (far, again)
}

#[test]
fn after_a_restart_of_the_far_side_it_goes_on() {
    let echo = echo();
    let (far, start_again) = lasting(echo);
    let ticket = far.ticket();
    let near = connect(&ticket, echo, &[]);
    let mut old = dial(near.forward);
    old.write_all(b"x").unwrap();
    old.read_exact(&mut [0]).unwrap();
    far.kill();
    let again = start_again();
    assert_eq!(again.ticket(), ticket, "the ticket stays good");
    is_reset(old);
    near.pcc.event("lost");
    assert_eq!(exchange(dial(near.forward), data(100_000, 5)), data(100_000, 5));
}

#[test]
fn the_far_side_may_start_later() {
    let echo = echo();
    let (far, start_again) = lasting(echo);
    let ticket = far.ticket();
    far.kill();
    let near = connect(&ticket, echo, &[]);
    assert!(near.pcc.event("retry")["retry_ms"].as_u64() > Some(0));
    let _far = start_again();
    near.pcc.event("connected");
    assert_eq!(exchange(dial(near.forward), data(100_000, 5)), data(100_000, 5));
}

#[test]
fn when_the_far_side_is_gone_connections_end() {
    let echo = echo();
    let far = serve(&[echo.to_string()], &[]);
    let near = connect(&far.ticket(), echo, &["--timeout", "10"]);
    let mut old = dial(near.forward);
    old.write_all(b"x").unwrap();
    old.read_exact(&mut [0]).unwrap();
    far.kill();
    // New ones wait a while for it to come back, and end then.
    let new = dial(near.forward);
    is_reset(old);
    is_reset(new);
}

#[test]
fn when_the_near_side_is_gone_connections_end() {
    let (tell, heard) = mpsc::channel();
    let target = target(move |mut stream| {
        stream.write_all(b"x").unwrap();
        tell.send(stream.read(&mut [0]).map_err(|error| error.kind())).unwrap();
    });
    let far = serve(&[target.to_string()], &["--timeout", "10"]);
    let near = connect(&far.ticket(), target, &[]);
    let mut stream = dial(near.forward);
    stream.read_exact(&mut [0]).unwrap();
    near.pcc.kill();
    assert_eq!(heard.recv_timeout(PATIENCE).unwrap(), Err(ErrorKind::ConnectionReset));
}

#[test]
fn what_is_open_may_finish() {
    let (mut far, mut near) = both(echo());
    let mut open = dial(near.forward);
    open.write_all(b"x").unwrap();
    open.read_exact(&mut [0]).unwrap();
    near.pcc.signal(Signal::TERM);
    assert_eq!(near.pcc.event("draining")["open"], 1);
    assert_eq!(TcpStream::connect(near.forward).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    assert!(exchange(open, data(1_000_000, 6)) == data(1_000_000, 6));
    near.pcc.exits(0);
    far.event("lost");
    far.interrupt();
    far.exits(0);
}

#[test]
fn a_second_signal_cuts_off_what_is_open() {
    let (mut far, near) = both(echo());
    let mut open = dial(near.forward);
    open.write_all(b"x").unwrap();
    open.read_exact(&mut [0]).unwrap();
    far.interrupt();
    far.event("draining");
    far.interrupt();
    far.exits(130);
    is_reset(open);
}

#[test]
fn a_hangup_cuts_no_connection() {
    let echo = echo();
    let (mut far, mut near) = both(echo);
    let mut open = dial(near.forward);
    let mut talk = |text: &[u8; 4]| {
        open.write_all(text).unwrap();
        let mut back = [0; 4];
        open.read_exact(&mut back).unwrap();
        assert_eq!(back, *text);
    };
    talk(b"once");
    far.signal(Signal::HUP);
    near.pcc.signal(Signal::HUP);
    std::thread::sleep(Duration::from_millis(200));
    talk(b"more");
    assert!(far.is_running() && near.pcc.is_running());
    assert!(far.events("draining").is_empty() && near.pcc.events("draining").is_empty());
}

#[test]
fn it_ends_with_the_terminal_that_it_was_started_at() {
    let (user, program) = terminal();
    let mut command = Command::new(env!("CARGO_BIN_EXE_pcc"));
    command.args(["proxy", "serve", "--json", "--listen", "127.0.0.1:0"]);
    let mut far = start_reading(command, program);
    far.ticket();
    far.signal(Signal::HUP);
    std::thread::sleep(Duration::from_millis(200));
    assert!(far.is_running());
    drop(user);
    far.signal(Signal::HUP);
    far.exits(0);
}

#[test]
fn a_ticket_in_a_file_is_nowhere_else() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ticket");
    for json in [&["--json"][..], &[]] {
        let arguments = ["serve", "--listen", "127.0.0.1:0", "--ticket-out", file.to_str().unwrap()];
        let far = proxy(&[&arguments[..], json].concat(), None);
        far.until("the ticket", || {
            let said = far.lines().concat() + &far.stderr();
            said.contains(file.to_str().unwrap()).then_some(())
        });
        let ticket = std::fs::read_to_string(&file).unwrap();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let near = proxy(&["connect", "--json", "--socks", "127.0.0.1:0"], Some(&ticket));
        near.event("connected");
        for said in [far.lines().concat(), far.stderr()] {
            assert!(!said.contains("pcc1"), "{said}");
        }
    }
    let none = folder.path().join("none/ticket");
    let mut refused = proxy(&["serve", "--listen", "127.0.0.1:0", "--ticket-out", none.to_str().unwrap()], None);
    refused.exits(1);
    let said = refused.stderr();
    assert!(said.contains(&format!("cannot write the ticket into {}", none.display())), "{said}");
}

#[test]
fn a_pipe_says_nothing_when_it_is_hung_up() {
    let (tell, heard) = mpsc::channel();
    let target = target(move |mut stream| tell.send(stream.read_exact(&mut [0])).unwrap());
    let far = serve(&[target.to_string()], &[]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_pcc"));
    command.args(["proxy", "pipe", "127.0.0.1", &target.port().to_string()]).env("PCC_TICKET", far.ticket());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"x").unwrap();
    heard.recv_timeout(PATIENCE).unwrap().unwrap();
    kill_process(Pid::from_child(&child), Signal::HUP).unwrap();
    let ended = child.wait_with_output().unwrap();
    assert_eq!((ended.status.code(), String::from_utf8_lossy(&ended.stderr).as_ref()), (Some(0), ""));
    drop(input);
}

#[test]
fn a_pipe_ends_with_its_connection() {
    let echo = echo();
    let far = serve(&[echo.to_string()], &[]);
    let pipe = |target: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pcc"));
        let (host, port) = target.rsplit_once(':').unwrap();
        command.args(["proxy", "pipe", host, port]).env("PCC_TICKET", far.ticket());
        command
    };
    let mut child = pipe(&echo.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let sent = data(400_000, 7);
    let copy = sent.clone();
    let writing = std::thread::spawn(move || input.write_all(&copy).unwrap());
    let mut got = Vec::new();
    output.read_to_end(&mut got).unwrap();
    writing.join().unwrap();
    assert!(got == sent);
    assert!(child.wait().unwrap().success());

    // What comes is passed on at once, also if it is no line.
    let mut child = pipe(&echo.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let (tell, heard) = mpsc::channel();
    let talking = std::thread::spawn(move || {
        for said in [&b"a"[..], b"b\nc", &[7; 5000]] {
            input.write_all(said).unwrap();
            let mut back = vec![0; said.len()];
            output.read_exact(&mut back).unwrap();
            assert_eq!(back, said);
        }
        tell.send(()).unwrap();
    });
    heard.recv_timeout(PATIENCE).expect("it keeps some of it");
    talking.join().unwrap();
    assert!(child.wait().unwrap().success());

    // A target that ends first: whoever reads sees the end, although standard input is still open.
    let short = target(|mut stream| stream.write_all(b"hello").unwrap());
    let far = serve(&[short.to_string()], &[]);
    let mut command = pipe(&short.to_string());
    command.env("PCC_TICKET", far.ticket());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut got = String::new();
    child.stdout.take().unwrap().read_to_string(&mut got).unwrap();
    assert_eq!(got, "hello");
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());

    let mut refused = start_reading(pipe("127.0.0.1:1"), Stdio::null());
    refused.exits(1);
    assert!(refused.stderr().contains("127.0.0.1:1: this target is not allowed"), "{}", refused.stderr());
}

#[test]
fn a_new_ticket_that_nobody_can_read_ends_the_far_side() {
    for output in [">&-", ">/dev/null", "--json >&-"] {
        let mut command = Command::new("sh");
        let serve = format!("exec \"$0\" proxy serve --listen 127.0.0.1:0 {output}");
        command.args(["-c", &serve, env!("CARGO_BIN_EXE_pcc")]);
        let mut far = start(command);
        far.exits(1);
        assert!(far.stderr().contains("standard output is closed or /dev/null"), "{output}: {}", far.stderr());
    }
}
