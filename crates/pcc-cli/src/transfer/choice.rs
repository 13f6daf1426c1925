//! Whose files are taken: a ticket can be learnt by somebody who should not have it.

use super::event::Event;
use super::progress::Reporter;
use super::protocol::Answer;
use super::session::Peer;
use crate::failure::{Failure, Kind, Result};
use crate::peer::credentials::SenderId;
use crate::peer::endpoint::shown;
use crate::peer::identity::code;
use crate::peer::wire;
use std::io::BufRead;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::timeout;

/// The word for [`Allowed::Anyone`].
const ANYONE: &str = "anyone";
/// Senders that wait to be confirmed.
const MAX_WAITING: usize = 8;
/// No sender that means well makes the receiver wait for a few bytes.
const TELLING: Duration = Duration::from_millis(100);

/// Which of those that prove to hold the ticket may send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Welcome {
    /// The one whose code the user types.
    Confirmed,
    /// One of these.
    Only(Vec<SenderId>),
    /// The first.
    Anyone,
}

/// Who may send, as it is on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Allowed {
    Anyone,
    Sender(SenderId),
}

/// The senders that are allowed; `None` if anyone is.
pub fn senders(allowed: Vec<Allowed>) -> Option<Vec<SenderId>> {
    let sender = |allowed| match allowed {
        Allowed::Anyone => None,
        Allowed::Sender(sender) => Some(sender),
    };
    allowed.into_iter().map(sender).collect()
}

/// Reads an [`Allowed`].
pub fn parse(text: &str) -> Result<Allowed, String> {
    match text {
        ANYONE => Ok(Allowed::Anyone),
        id => id.parse().map(Allowed::Sender).map_err(|why| format!("{why}; or say {ANYONE}")),
    }
}

/// That only some may send, and this is none of them.
pub fn unwelcome(welcome: &[SenderId], sender: SenderId) -> Failure {
    let welcome: Vec<_> = welcome.iter().map(SenderId::to_string).collect();
    let message = format!(
        "this receiver takes what {} sends, but this sender is {sender}; see pcc recv --from",
        welcome.join(" or ")
    );
    Failure::new(Kind::WrongTicket, message)
}

struct Candidate {
    address: SocketAddr,
    peer: Peer,
    code: String,
}

/// Senders that hold the ticket and wait until the user types the code of one of them.
#[derive(Default)]
pub struct Candidates {
    waiting: Vec<Candidate>,
    typed: Option<mpsc::UnboundedReceiver<String>>,
}

impl Candidates {
    /// Asks the user about one more. An error means that it is turned away.
    pub async fn add(&mut self, address: SocketAddr, mut peer: Peer, reporter: &Reporter) -> Result<()> {
        self.waiting.retain(|other| other.peer.connection.close_reason().is_none() && other.peer.sender != peer.sender);
        let added = if self.waiting.len() < MAX_WAITING {
            let told = timeout(TELLING, wire::send(&mut peer.send, &Answer::Confirm)).await;
            told.unwrap_or_else(|_| Err(Failure::new(Kind::LostPeer, "the sender does not take an answer")))
        } else {
            Err(Failure::new(Kind::WrongTicket, "too many others hold this ticket; get a new one from pcc recv"))
        };
        match added.and_then(|()| code(&peer.connection)) {
            Ok(code) => {
                self.waiting.push(Candidate { address, peer, code });
                self.typed.get_or_insert_with(lines);
                reporter.event(&Event::Ask { peer: shown(address) });
                Ok(())
            }
            Err(failure) => {
                wire::close(&peer.connection, &failure);
                Err(failure)
            }
        }
    }

    /// Waits until the user has typed the code of a sender; the others are turned away.
    pub async fn chosen(&mut self, reporter: &Reporter) -> Result<(SocketAddr, Peer)> {
        let Some(typed) = &mut self.typed else { return std::future::pending().await };
        loop {
            let line = typed.recv().await.ok_or_else(|| {
                Failure::new(Kind::Other, "standard input has ended, so that no sender can be confirmed; see --from")
            })?;
            self.waiting.retain(|candidate| candidate.peer.connection.close_reason().is_none());
            let typed = digits(&line);
            if let Some(at) = self.waiting.iter().position(|candidate| digits(&candidate.code) == typed) {
                let chosen = self.waiting.swap_remove(at);
                let failure = Failure::new(Kind::WrongTicket, "the user of pcc recv chose another sender");
                self.waiting.drain(..).for_each(|other| wire::close(&other.peer.connection, &failure));
                return Ok((chosen.address, chosen.peer));
            }
            if typed.is_empty() && !line.trim().is_empty() {
                let message = "this is no code: it consists of the digits that pcc send shows";
                reporter.event(&Event::Note { message });
            }
            if !typed.is_empty() {
                let message = "no sender that is connected shows this code. If it is the one that your sender shows now, \
                    somebody else may be in its place: press Ctrl-C, and run pcc recv again for a new ticket";
                reporter.event(&Event::Note { message });
            }
        }
    }
}

fn digits(text: &str) -> String {
    text.chars().filter(char::is_ascii_digit).collect()
}

/// Lines from standard input. The thread lives as long as the command.
fn lines() -> mpsc::UnboundedReceiver<String> {
    let (send, lines) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_welcome_can_be_written() {
        assert_eq!(parse("anyone"), Ok(Allowed::Anyone));
        let id = SenderId([3; 32]);
        assert_eq!(parse(&id.to_string()), Ok(Allowed::Sender(id)));
        assert!(parse("me").unwrap_err().contains("anyone"));
    }
}
