//! What `pcc proxy status` and `pcc proxy weight` say to a running `pcc proxy`: one request and one reply, as JSON, over a
//! Unix socket. It has the name of the process, in a folder that only its user can enter.

mod client;
mod server;

pub use client::{set_weight, status};
pub use server::Control;

use super::session::Status;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long either side may take to say something.
const PATIENCE: Duration = Duration::from_secs(5);

/// What can be asked for.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Request {
    /// What all connections do.
    Status,
    /// That a connection gets this weight.
    Weight { id: String, weight: f64 },
}

/// What comes of it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Reply {
    Status(Vec<Status>),
    Done,
    Refused(String),
}

/// The folder of the sockets: the one that the user names, else one of this session. None where there is none.
fn folder(named: Option<&Path>) -> Option<PathBuf> {
    let session = || Some(PathBuf::from(std::env::var_os("XDG_RUNTIME_DIR")?)).filter(|path| path.is_absolute());
    named.map(Path::to_path_buf).or_else(|| Some(session()?.join("pcc-proxy")))
}
