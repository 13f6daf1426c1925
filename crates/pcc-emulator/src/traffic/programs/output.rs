//! What outside programs print.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

/// Of what is printed about errors the last lines are kept, ...
const LINES: usize = 3;
/// ... and this much of each.
const LINE_BYTES: u64 = 300;

/// Reads what a program prints, on threads of its own.
#[derive(Debug, Default)]
pub(super) struct Output {
    heard: Arc<(Mutex<Heard>, Condvar)>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Heard {
    anything: bool,
    received: Option<u64>,
    errors: VecDeque<String>,
}

/// The two streams that a program prints to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    Standard,
    Error,
}

impl Output {
    /// Listens to one of its streams, on a thread until the stream ends.
    pub fn listen(&mut self, stream: Stream, pipe: impl Read + Send + 'static) -> std::io::Result<()> {
        let heard = self.heard.clone();
        let listen = move || {
            let mut pipe = BufReader::new(pipe);
            let mut line = Vec::new();
            while let Ok(1..) = (&mut pipe).take(LINE_BYTES).read_until(b'\n', &mut line) {
                let text = String::from_utf8_lossy(&line);
                lock(&heard.0).note(stream, text.trim_end());
                heard.1.notify_all();
                line.clear();
            }
        };
        self.threads.push(std::thread::Builder::new().name("output".to_owned()).spawn(listen)?);
        Ok(())
    }

    /// Waits until the program has printed something, up to `deadline`.
    pub fn wait(&self, deadline: Instant) {
        let (heard, changed) = &*self.heard;
        let time = deadline.saturating_duration_since(Instant::now());
        drop(changed.wait_timeout_while(lock(heard), time, |heard| !heard.anything));
    }

    /// When the program has ended: N of its last line `received N bytes`, and the last lines that it printed about errors.
    pub fn finish(self) -> (Option<u64>, String) {
        for thread in self.threads {
            // A listener that panicked has heard what it has.
            let _ = thread.join();
        }
        let mut heard = lock(&self.heard.0);
        (heard.received, heard.errors.make_contiguous().join("; "))
    }
}

impl Heard {
    fn note(&mut self, stream: Stream, line: &str) {
        self.anything = true;
        match stream {
            Stream::Standard => self.received = received(line).or(self.received),
            Stream::Error if !line.is_empty() => {
                self.errors.push_back(line.to_owned());
                if self.errors.len() > LINES {
                    self.errors.pop_front();
                }
            }
            Stream::Error => {}
        }
    }
}

/// The number of a line `received N bytes`.
fn received(line: &str) -> Option<u64> {
    line.trim().strip_prefix("received ")?.strip_suffix(" bytes")?.parse().ok()
}

fn lock(heard: &Mutex<Heard>) -> MutexGuard<'_, Heard> {
    heard.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_count_and_the_last_lines_stay() {
        let mut output = Output::default();
        output.listen(Stream::Standard, &b"hello\nreceived 5 bytes\nreceived 12 bytes\nreceived x bytes"[..]).unwrap();
        output.listen(Stream::Error, &b"one\ntwo\n\nthree\nfour \xff\n"[..]).unwrap();
        assert_eq!(output.finish(), (Some(12), "two; three; four \u{fffd}".to_owned()));
    }

    #[test]
    fn an_endless_line_takes_no_endless_memory() {
        let mut output = Output::default();
        output.listen(Stream::Error, std::io::repeat(b'a').take(1_000_000)).unwrap();
        let (_, errors) = output.finish();
        assert!(errors.len() <= LINES * (LINE_BYTES as usize + 2), "{}", errors.len());
    }
}
