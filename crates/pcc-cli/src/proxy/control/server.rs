//! The side of the running command.

use super::{PATIENCE, Reply, Request, folder};
use crate::failure::{Context, Failure, Kind, Result};
use crate::proxy::session::Sessions;
use std::fs::{DirBuilder, Permissions, remove_file, set_permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::net::UnixStream as Blocking;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// The longest request, in bytes.
const MAX_REQUEST: u64 = 1024;
/// How long to wait when no connection can be taken.
const PAUSE: Duration = Duration::from_millis(100);

/// Answers requests until it is dropped.
pub struct Control {
    socket: PathBuf,
    task: JoinHandle<()>,
}

impl Control {
    /// Listens in the folder that the user names, else in that of this session if there is one.
    ///
    /// # Errors
    ///
    /// When there can be no socket.
    pub fn open(named: Option<&Path>, sessions: Arc<Sessions>) -> Result<Option<Control>> {
        let Some(folder) = folder(named) else { return Ok(None) };
        let socket = folder.join(std::process::id().to_string());
        let listener = listen(&folder, &socket).doing(|| format!("listen on {}", socket.display()))?;
        Ok(Some(Control { socket, task: tokio::spawn(serve(listener, sessions)) }))
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.task.abort();
        // It may have been removed already.
        let _ = remove_file(&self.socket);
    }
}

fn listen(folder: &Path, socket: &Path) -> io::Result<UnixListener> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    // Left by an earlier process with the same number.
    if matches!(Blocking::connect(socket), Err(error) if error.kind() == ErrorKind::ConnectionRefused) {
        remove_file(socket)?;
    }
    let listener = UnixListener::bind(socket)?;
    set_permissions(socket, Permissions::from_mode(0o600))?;
    Ok(listener)
}

async fn serve(listener: UnixListener, sessions: Arc<Sessions>) {
    loop {
        match listener.accept().await {
            // One after the other: none has anything to wait for. One that fails is its own business.
            Ok((stream, _)) => drop(timeout(PATIENCE, answer(stream, &sessions)).await),
            Err(_) => sleep(PAUSE).await,
        }
    }
}

async fn answer(mut stream: UnixStream, sessions: &Sessions) -> Result<()> {
    let asking = stream.peer_cred().doing(|| "see who asks")?.uid();
    // The folder may be one that others can enter.
    if asking != rustix::process::geteuid().as_raw() && asking != 0 {
        return Ok(());
    }
    let mut request = Vec::new();
    (&mut stream).take(MAX_REQUEST).read_to_end(&mut request).await.doing(|| "hear a request")?;
    let reply = match serde_json::from_slice(&request) {
        Ok(Request::Status) => Reply::Status(sessions.statuses()),
        Ok(Request::Weight { id, weight }) => match sessions.set_weight(&id, weight) {
            Ok(()) => Reply::Done,
            Err(why) => Reply::Refused(why),
        },
        Err(wrong) => Reply::Refused(format!("this is no request: {wrong}")),
    };
    let reply = serde_json::to_vec(&reply).map_err(|e| Failure::new(Kind::Other, e))?;
    stream.write_all(&reply).await.doing(|| "reply")
}
