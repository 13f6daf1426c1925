//! `pcc proxy status` and `pcc proxy weight`.

use crate::common::{Pcc, start_reading};
use crate::support::{connect, dial, echo, proxy, serve};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};

/// What `pcc proxy status --json` says.
fn status(folder: &Path) -> Vec<Value> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pcc"));
    let output = command.args(["proxy", "status", "--json", "--control"]).arg(folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// `pcc proxy weight`: its exit code, and what it says.
fn set_weight(folder: &Path, id: &str, weight: &str) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pcc"));
    let output = command.args(["proxy", "weight", id, weight, "--control"]).arg(folder).output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

fn named<'a>(statuses: &'a [Value], id: &str) -> &'a Value {
    statuses.iter().find(|status| status["id"] == id).unwrap_or_else(|| panic!("no {id} in {statuses:?}"))
}

/// The name of the connection of this number that a side has had.
fn id(pcc: &Pcc, number: usize) -> String {
    let connected = pcc.until("a connection", || pcc.events("connected").get(number).cloned());
    connected["id"].as_str().unwrap().to_owned()
}

#[test]
fn connections_are_shown_and_get_other_weights() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("control");
    let control = ["--control", folder.to_str().unwrap()];
    let echo = echo();
    let mut far = serve(&[echo.to_string()], &[&control[..], &["--weight", "0.7"]].concat());
    let one = connect(&far.ticket(), echo, &control);
    let other =
        connect(&far.ticket(), echo, &[&control[..], &["--controller", "cubic", "--max-rate", "50mbit"]].concat());
    let ids = [id(&far, 0), id(&far, 1), id(&one.pcc, 0), id(&other.pcc, 0)];
    let mut open = dial(one.forward);
    open.write_all(&[1; 100_000]).unwrap();
    open.read_exact(&mut [0; 100_000]).unwrap();

    let statuses = status(&folder);
    assert_eq!(statuses.len(), 4);
    let near = named(&statuses, &ids[2]);
    assert_eq!((near["tunnels"].as_u64(), near["flows"].as_u64()), (Some(1), Some(0)));
    assert!(near["sent_bytes"].as_u64() > Some(100_000) && near["received_bytes"].as_u64() > Some(100_000), "{near}");
    assert!(near["rtt_ms"].as_f64() > Some(0.0) && near["rate_mbps"].is_number(), "{near}");
    assert_eq!((near["controller"].as_str(), near["weight"].as_f64()), (Some("queue-target"), Some(1.0)));
    let cubic = named(&statuses, &ids[3]);
    assert_eq!((cubic["controller"].as_str(), cubic["weight"].as_f64()), (Some("cubic"), None));

    // Each connection has a weight of its own.
    assert_eq!(set_weight(&folder, &ids[0], "0.3"), (0, String::new()));
    assert_eq!(set_weight(&folder, &ids[2], "2"), (0, String::new()));
    let statuses = status(&folder);
    let weights = ids.each_ref().map(|id| named(&statuses, id)["weight"].as_f64());
    assert_eq!(weights, [Some(0.3), Some(0.7), Some(2.0), None]);

    let process = ids[0].split_once('.').unwrap().0;
    for (id, weight, code, why) in [
        (ids[3].as_str(), "2", 1, "cubic knows no weights"),
        (&format!("{process}.99"), "2", 1, "there is no connection"),
        ("4194305.1", "2", 1, "no pcc proxy runs as process 4194305"),
        ("../x.1", "2", 2, "as pcc proxy status shows it"),
        (&ids[0], "0", 2, "from 0.01 to 100"),
    ] {
        let (got, said) = set_weight(&folder, id, weight);
        assert!(got == code && said.contains(why), "{id}: {got} {said}");
    }
    let table = Command::new(env!("CARGO_BIN_EXE_pcc")).args(["proxy", "status", "--control"]).arg(&folder).output();
    let table = String::from_utf8(table.unwrap().stdout).unwrap();
    assert!(table.starts_with("ID ") && table.lines().count() == 5 && table.contains(" 0.3 "), "{table}");

    // A side that ends takes its socket with it, and what one that was killed has left goes.
    drop(open);
    far.interrupt();
    far.exits(0);
    assert!(!folder.join(process).exists());
    let killed = folder.join(one.pcc.id().to_string());
    assert!(killed.exists());
    one.pcc.kill();
    assert!(status(&folder).iter().all(|status| status["id"] != *ids[2]));
    assert!(!killed.exists());
}

#[test]
fn only_its_user_can_ask_and_nonsense_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("control");
    let far = serve(&[], &["--control", folder.to_str().unwrap()]);
    let socket = folder.join(far.id().to_string());
    far.ticket();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&folder), mode(&socket)), (0o700, 0o600));
    for nonsense in [&b""[..], b"{}", b"[[[[", &[b'['; 100_000], b"{\"weight\":{\"id\":\"1.1\",\"weight\":1e999}}"] {
        let mut stream = UnixStream::connect(&socket).unwrap();
        // It hangs up on what is too long.
        let _ = stream.write_all(nonsense);
        let _ = stream.shutdown(Shutdown::Write);
        let mut reply = String::new();
        if stream.read_to_string(&mut reply).is_ok() {
            assert!(reply.contains("refused"), "{reply}");
        }
    }
    assert!(status(&folder).is_empty());
    assert_eq!(far.events("error").len(), 0);
}

#[test]
fn what_controllers_cannot_do_is_said() {
    let too_many = ["--advertise", "192.0.2.1:4433"].repeat(13);
    for (options, why) in [
        (&["--controller", "cubic", "--weight", "2"][..], "cubic knows no weights"),
        (&["--controller", "cubic", "--background"], "cannot be used with"),
        (&["--weight", "0"], "from 0.01 to 100"),
        (&["--weight", "-1"], "from 0.01 to 100"),
        (&["--max-rate", "much"], "--max-rate"),
        (&["--advertise", "192.0.2.1"], "\"192.0.2.1\" is no ADDRESS:PORT"),
        (&too_many, "a ticket has room for 12 addresses"),
        (&["--control", "/dev/null/x"], "/dev/null/x"),
    ] {
        let mut far = proxy(&[&["serve", "--listen", "127.0.0.1:0"], options].concat(), None);
        far.exits(if why.starts_with('/') { 1 } else { 2 });
        assert!(far.stderr().contains(why), "{options:?}: {}", far.stderr());
    }
    for command in [&["status"][..], &["weight", "1.1", "0.5"]] {
        let mut told = proxy(&[command, &["--control", "/nowhere"]].concat(), None);
        told.exits(1);
        assert!(told.stderr().contains("/nowhere is no folder"), "{}", told.stderr());
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_pcc"));
    command.args(["proxy", "status"]).env_remove("XDG_RUNTIME_DIR");
    let mut status = start_reading(command, Stdio::null());
    status.exits(2);
    assert!(status.stderr().contains("--control"), "{}", status.stderr());
}
