//! Runs the `pcc` binary, and lends a path whose traffic can be counted.

use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// Nothing here takes that long, on however busy a machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Names the folder that has the sender's key.
pub const CONFIG: &str = "XDG_CONFIG_HOME";

/// A running `pcc`; killed when it goes out of scope.
pub struct Pcc {
    child: Child,
    lines: Arc<Mutex<Vec<String>>>,
    stderr: Arc<Mutex<String>>,
}

/// Starts `pcc` with these arguments.
pub fn pcc(arguments: &[&str]) -> Pcc {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pcc"));
    command.args(arguments);
    start(command)
}

/// Starts a command that is, or becomes, `pcc`.
pub fn start(command: Command) -> Pcc {
    start_reading(command, Stdio::null())
}

/// The same with a standard input.
pub fn start_reading(mut command: Command, input: impl Into<Stdio>) -> Pcc {
    command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
    if !command.get_envs().any(|(name, _)| name == CONFIG) {
        // Sender keys of tests are nothing for the user's folder.
        command.env(CONFIG, env!("CARGO_TARGET_TMPDIR"));
    }
    let mut child = command.spawn().expect("pcc starts");
    let (lines, stderr) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(String::new())));
    let (out, kept) = (child.stdout.take().expect("stdout"), lines.clone());
    thread::spawn(move || {
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            kept.lock().expect("lines").push(line);
        }
    });
    let (mut err, kept) = (child.stderr.take().expect("stderr"), stderr.clone());
    thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(n @ 1..) = err.read(&mut buffer) {
            kept.lock().expect("stderr").push_str(&String::from_utf8_lossy(&buffer[..n]));
        }
    });
    Pcc { child, lines, stderr }
}

impl Pcc {
    /// What it wrote to standard output so far.
    pub fn lines(&self) -> Vec<String> {
        self.lines.lock().expect("lines").clone()
    }

    /// What it wrote to standard error so far.
    pub fn stderr(&self) -> String {
        self.stderr.lock().expect("stderr").clone()
    }

    /// The ticket, of a receiver without `--json` or with.
    pub fn ticket(&self) -> String {
        let find = || {
            self.lines().iter().find_map(|line| {
                let start = line.find("pcc1")?;
                Some(line[start..].chars().take_while(char::is_ascii_alphanumeric).collect())
            })
        };
        self.until("the ticket", find)
    }

    /// The JSON events of this name so far.
    pub fn events(&self, name: &str) -> Vec<serde_json::Value> {
        let parsed = self.lines().into_iter().map(|l| serde_json::from_str::<serde_json::Value>(&l).expect(&l));
        parsed.filter(|event| event["event"] == name).collect()
    }

    /// Waits for the JSON event of this name.
    pub fn event(&self, name: &str) -> serde_json::Value {
        self.until(name, || self.events(name).into_iter().next())
    }

    /// Waits until so many bytes are verified and stored.
    pub fn stored(&self, bytes: u64) {
        self.until("progress", || {
            self.events("progress").iter().any(|e| e["stored"].as_u64() >= Some(bytes)).then_some(())
        });
    }

    /// Waits for something about it.
    pub fn until<T>(&self, what: &str, mut found: impl FnMut() -> Option<T>) -> T {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(found) = found() {
                return found;
            }
            assert!(Instant::now() < deadline, "no {what}; {:?} {}", self.lines(), self.stderr());
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Kills it with SIGKILL.
    pub fn kill(mut self) {
        self.child.kill().expect("kill");
        self.child.wait().expect("wait");
    }

    /// Sends SIGINT, as Ctrl-C does.
    pub fn interrupt(&self) {
        self.signal(Signal::INT);
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("signal");
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether it still runs.
    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("wait").is_none()
    }

    /// Waits for its end.
    pub fn wait(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().expect("wait") {
                // The readers of its output are a moment behind.
                thread::sleep(Duration::from_millis(50));
                return status;
            }
            assert!(Instant::now() < deadline, "still running; {:?} {}", self.lines(), self.stderr());
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits for its end and checks the exit code.
    #[track_caller]
    pub fn exits(&mut self, code: i32) {
        let status = self.wait();
        assert_eq!(status.code(), Some(code), "{status}; {:?} {}", self.lines(), self.stderr());
    }
}

impl Drop for Pcc {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What starts a receiver on loopback.
pub fn receiver_command(dir: &Path, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pcc"));
    command.arg("recv").arg(dir).args(["--listen", "127.0.0.1:0"]).args(more);
    command
}

/// Starts a receiver on loopback that takes whoever has the ticket.
pub fn receiver(dir: &Path, more: &[&str]) -> Pcc {
    start(receiver_command(dir, &[&["--from", "anyone"], more].concat()))
}

/// What starts a sender, but for the ticket.
pub fn sender_command(paths: &[&Path], more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pcc"));
    command.arg("send").args(more).args(paths);
    command
}

/// Starts a sender.
pub fn sender(paths: &[&Path], ticket: &str, more: &[&str]) -> Pcc {
    let mut command = sender_command(paths, more);
    command.env("PCC_TICKET", ticket);
    start(command)
}

/// A terminal: the end of the user, and that of a program.
pub fn terminal() -> (OwnedFd, OwnedFd) {
    let user = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
    grantpt(&user).and_then(|()| unlockpt(&user)).expect("a terminal");
    let name = ptsname(&user, Vec::new()).expect("its name");
    let flags = OFlags::RDWR | OFlags::NOCTTY;
    let program = rustix::fs::open(name, flags, rustix::fs::Mode::empty()).expect("its other end");
    (user, program)
}

/// Types a line.
pub fn type_line(user: &OwnedFd, line: &str) {
    let line = format!("{line}\n");
    assert_eq!(rustix::io::write(user, line.as_bytes()), Ok(line.len()));
}

/// What is in a ticket: the hash of the certificate, the secret, the addresses.
pub type Ticket = ([u8; 32], [u8; 32], Vec<SocketAddr>);

/// Takes a ticket apart, lets it be changed, and puts it together again.
pub fn forge(ticket: &str, change: impl FnOnce(&mut Ticket)) -> String {
    let base32 = data_encoding::BASE32_NOPAD;
    let bytes = base32.decode(ticket["pcc1".len()..].to_uppercase().as_bytes()).expect("base32");
    let mut content: Ticket = postcard::from_bytes(&bytes[..bytes.len() - 4]).expect("a ticket");
    change(&mut content);
    let mut bytes = postcard::to_stdvec(&content).expect("a ticket");
    let sum = blake3::hash(&bytes);
    bytes.extend_from_slice(&sum.as_bytes()[..4]);
    format!("pcc1{}", base32.encode(&bytes).to_lowercase())
}

/// A file with content that depends on the seed.
pub fn write_file(path: &Path, size: usize, seed: u64) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut data = vec![0; size];
    rng.fill(&mut data);
    std::fs::write(path, data).expect("write");
}

/// Every file, folder and link below a folder, with what must be the same on both sides.
pub fn tree(root: &Path) -> Vec<(PathBuf, String)> {
    use std::os::unix::fs::PermissionsExt;
    let describe = |path: &Path| {
        let metadata = path.symlink_metadata().expect("metadata");
        if metadata.is_symlink() {
            return format!("-> {}", path.read_link().expect("link").display());
        }
        let time = metadata.modified().expect("time");
        let mode = metadata.permissions().mode() & 0o7777;
        if metadata.is_dir() {
            return format!("folder {mode:o} {time:?}");
        }
        let hash = blake3::hash(&std::fs::read(path).expect("read"));
        format!("{hash} {mode:o} {time:?}")
    };
    let found =
        walkdir::WalkDir::new(root).sort_by_file_name().into_iter().map(|entry| entry.expect("entry").into_path());
    found.map(|path| (path.strip_prefix(root).expect("below").to_owned(), describe(&path))).collect()
}

/// The names in a folder.
pub fn names(dir: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    let mut names: Vec<_> = entries.map(|e| e.expect("entry").file_name().into_string().expect("UTF-8")).collect();
    names.sort();
    names
}

/// A UDP relay in front of a receiver that counts what comes from the sender.
pub struct Relay {
    /// Where it listens.
    pub address: SocketAddr,
    bytes: Arc<AtomicU64>,
}

impl Relay {
    /// Starts one; it runs as long as the test.
    pub fn start(to: SocketAddr) -> Self {
        let front = Arc::new(UdpSocket::bind("127.0.0.1:0").expect("bind"));
        let back = Arc::new(UdpSocket::bind("127.0.0.1:0").expect("bind"));
        let address = front.local_addr().expect("address");
        let bytes = Arc::new(AtomicU64::new(0));
        let client = Arc::new(Mutex::new(None));
        let (front_in, back_out, counter, current) = (front.clone(), back.clone(), bytes.clone(), client.clone());
        thread::spawn(move || {
            let mut buffer = [0; 65536];
            loop {
                let Ok((n, from)) = front_in.recv_from(&mut buffer) else { continue };
                counter.fetch_add(n as u64, Ordering::Relaxed);
                *current.lock().expect("client") = Some(from);
                let _ = back_out.send_to(&buffer[..n], to);
            }
        });
        thread::spawn(move || {
            let mut buffer = [0; 65536];
            loop {
                let Ok((n, _)) = back.recv_from(&mut buffer) else { continue };
                if let Some(client) = *client.lock().expect("client") {
                    let _ = front.send_to(&buffer[..n], client);
                }
            }
        });
        Self { address, bytes }
    }

    /// Bytes that came from the sender.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}
