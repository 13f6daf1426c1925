//! The command lines of outside programs.

use crate::traffic::TrafficFlow;
use rustix::fs::{Access, access};
use std::path::Path;
use std::time::Duration;

/// A program and its arguments, in which `{server}`, `{client}` and `{seconds}` are still to be replaced.
#[derive(Clone, Debug)]
pub(super) struct CommandLine {
    words: Vec<String>,
}

impl CommandLine {
    /// Splits a command line as a shell splits words and quotes. Nothing else of a shell is there: who wants it names it (`sh -c "..."`).
    pub fn parse(text: &str) -> Result<CommandLine, String> {
        let words = shlex::split(text).ok_or_else(|| format!("a quote in `{text}` has no end"))?;
        if words.is_empty() { Err("there is no program in it".to_owned()) } else { Ok(CommandLine { words }) }
    }

    /// The program, if it isn't there.
    pub fn missing(&self) -> Option<&str> {
        self.words.first().map(String::as_str).filter(|program| !exists(program))
    }

    /// The words for a flow of a run that lasts for `duration`.
    pub fn words(&self, flow: &TrafficFlow, duration: Duration) -> Vec<String> {
        let seconds = flow.stop.unwrap_or(duration).min(duration).saturating_sub(flow.start).as_secs_f64();
        let [server, client, seconds] = [flow.receiver.to_string(), flow.sender.to_string(), seconds.to_string()];
        let fill = |word: &String| {
            word.replace("{server}", &server).replace("{client}", &client).replace("{seconds}", &seconds)
        };
        self.words.iter().map(fill).collect()
    }
}

/// Whether there is a program, as shells look for it.
fn exists(program: &str) -> bool {
    let executable = |path: &Path| path.is_file() && access(path, Access::EXEC_OK).is_ok();
    if program.contains('/') {
        return executable(Path::new(program));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| executable(&folder.join(program)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcc_lab::sim::App;
    use std::net::Ipv4Addr;

    #[test]
    fn words_are_split_before_they_are_filled() {
        let flow = TrafficFlow {
            app: App::Bulk,
            start: Duration::from_secs(2),
            stop: None,
            sender: Ipv4Addr::new(10, 0, 0, 1),
            receiver: Ipv4Addr::new(10, 0, 1, 1),
            seed: 1,
        };
        let command = CommandLine::parse("sh -c 'nc {server} 5001 | wc' \"\" -t{seconds} {client}").unwrap();
        let seconds = Duration::from_secs(10);
        let wanted = ["sh", "-c", "nc 10.0.1.1 5001 | wc", "", "-t8", "10.0.0.1"];
        assert_eq!(command.words(&flow, seconds), wanted);
        let flow = TrafficFlow { stop: Some(Duration::from_millis(3500)), ..flow };
        assert_eq!(command.words(&flow, seconds)[4], "-t1.5");
    }

    #[test]
    fn what_can_not_be_run_is_refused() {
        for (text, reason) in
            [("sh -c 'exit", "a quote in `sh -c 'exit` has no end"), (" ", "there is no program in it")]
        {
            assert_eq!(CommandLine::parse(text).unwrap_err(), reason);
        }
        for (text, missing) in [
            ("udt-peer-of-nobody send", Some("udt-peer-of-nobody")),
            ("/etc/passwd", Some("/etc/passwd")),
            ("sh -c :", None),
        ] {
            assert_eq!(CommandLine::parse(text).unwrap().missing(), missing);
        }
    }
}
