//! What can go wrong between two sides that share a ticket, and the exit code of each.

use crate::exit::INTERRUPTED;
use std::fmt;
use std::io;
use std::process::ExitCode;

/// Makes [`Kind`] of its variants, their codes and their names, so that none can be forgotten where all are needed.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $code:expr, $name:literal;)*) => {
        /// The kind of a failure: it decides the exit code, and is what one side tells the other when it closes the connection.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Kind {
            $($(#[$doc])* $kind = $code,)*
        }

        impl Kind {
            /// All of them.
            pub const ALL: &[Kind] = &[$(Kind::$kind),*];

            /// The name in `--json` output.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Kind::$kind => $name,)*
                }
            }
        }
    };
}

kinds! {
    /// Anything without a code of its own.
    Other = 1, "other";
    /// The ticket cannot be read.
    BadTicket = 3, "bad-ticket";
    /// The ticket does not open this receiver.
    WrongTicket = 4, "wrong-ticket";
    /// The two sides speak different versions.
    Version = 5, "version";
    /// The other side cannot be reached (any more).
    LostPeer = 6, "lost-peer";
    /// A file is there already.
    Exists = 7, "exists";
    /// A name or link that is not allowed.
    BadName = 8, "bad-name";
    /// A disk is full, nearly always the receiver's.
    DiskFull = 9, "disk-full";
    /// The operating system doesn't permit it.
    Permission = 10, "permission";
    /// The source is missing or unreadable, or changed between two attempts.
    Source = 11, "source";
    /// Data did not match its hash.
    Corrupt = 12, "corrupt";
    /// A newer connection of the same transfer took over.
    Replaced = 13, "replaced";
    /// The other side is connected, and nothing moves.
    Stalled = 14, "stalled";
    /// All but some files is there.
    Incomplete = 15, "incomplete";
    /// The server is not the one that it should be.
    Untrusted = 16, "untrusted";
    /// Stopped by the user.
    Interrupted = INTERRUPTED, "interrupted";
}

impl Kind {
    /// The exit code, which is also the code on the wire.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The kind with this code on the wire.
    pub fn from_code(code: u64) -> Kind {
        Self::ALL.iter().copied().find(|kind| u64::from(kind.code()) == code).unwrap_or(Kind::Other)
    }
}

/// A failure: its kind, and what happened, where, and what would be right.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// The kind of failure, which decides the exit code.
    pub kind: Kind,
    /// What failed and why, in one line for people.
    pub message: String,
}

/// The result of everything here.
pub type Result<T, E = Failure> = std::result::Result<T, E>;

impl Failure {
    /// A failure of this kind.
    pub fn new(kind: Kind, message: impl fmt::Display) -> Self {
        Self { kind, message: message.to_string() }
    }

    /// The failure that an operation on a file of this side ended with: "cannot write x: No space left on device".
    pub fn io(doing: impl fmt::Display, error: &io::Error) -> Self {
        let kind = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => Kind::DiskFull,
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Kind::Permission,
            io::ErrorKind::AlreadyExists => Kind::Exists,
            _ => Kind::Other,
        };
        Self::new(kind, format!("cannot {doing}: {error}"))
    }

    /// So many files are there, and all is done but for so many, which were named before; so many of them can never be sent.
    pub fn incomplete(there: usize, files: usize, never: usize) -> Self {
        let missing = if files == 1 { "one file".to_owned() } else { format!("{files} files") };
        let again = "send what is missing again, with a new ticket unless the receiver has --keep";
        let advice = match never {
            0 => again.to_owned(),
            never if never == files => "what cannot be sent can be left out with --exclude".to_owned(),
            never => format!("{again}; but {never} of it cannot be sent: leave that out with --exclude"),
        };
        let what = match there {
            0 => format!("no file is there: {missing} did not arrive"),
            _ => format!("all is there but {missing}"),
        };
        Self::new(Kind::Incomplete, format!("{what}, named above; {advice}"))
    }

    /// The user has stopped this side.
    pub fn interrupted() -> Self {
        Self::new(Kind::Interrupted, "interrupted; run the same command again to go on")
    }

    /// The exit code.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.kind.code())
    }
}

/// Turns an [`io::Error`] into a [`Failure`] that says what was being done.
pub trait Context<T> {
    /// Names the operation, as in "cannot {doing}: ...".
    fn doing<D: fmt::Display>(self, doing: impl FnOnce() -> D) -> Result<T>;
}

impl<T> Context<T> for io::Result<T> {
    fn doing<D: fmt::Display>(self, doing: impl FnOnce() -> D) -> Result<T> {
        self.map_err(|error| Failure::io(doing(), &error))
    }
}

impl<T> Context<T> for rustix::io::Result<T> {
    fn doing<D: fmt::Display>(self, doing: impl FnOnce() -> D) -> Result<T> {
        self.map_err(|error| Failure::io(doing(), &error.into()))
    }
}

/// So many characters of a text are shown.
const SHOWN: usize = 1000;

/// Text from the network as it may be shown: no control characters, no more than a line, and "…" where it is cut.
pub fn printable(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let mut chars = text.chars();
    let mut shown: String = chars.by_ref().take(SHOWN).flat_map(escape).collect();
    if chars.next().is_some() {
        shown.push('…');
    }
    shown
}

fn escape(c: char) -> impl Iterator<Item = char> {
    // Bidirectional overrides could make a name look like another one.
    let hostile = c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let escaped = hostile.then(|| c.escape_unicode());
    escaped.into_iter().flatten().chain((!hostile).then_some(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_distinct_and_found_again() {
        for &kind in Kind::ALL {
            assert_eq!(Kind::from_code(kind.code().into()), kind);
        }
        assert_eq!(Kind::from_code(77), Kind::Other);
    }

    #[test]
    fn what_can_never_be_sent_is_not_to_be_sent_again() {
        let message = |files, never| Failure::incomplete(1, files, never).message;
        assert!(message(1, 0).contains("one file") && message(1, 0).contains("send what is missing again"));
        assert!(message(2, 2).contains("--exclude") && !message(2, 2).contains("again"), "{}", message(2, 2));
        assert!(message(3, 2).contains("missing again") && message(3, 2).contains("2 of it"), "{}", message(3, 2));
    }

    #[test]
    fn it_is_not_said_that_all_is_there_if_nothing_is() {
        let message = |there| Failure::incomplete(there, 1, 0).message;
        assert!(
            message(0).starts_with("no file is there: one file did not arrive, named above; send"),
            "{}",
            message(0)
        );
        assert!(message(1).starts_with("all is there but one file, named above; send"), "{}", message(1));
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        assert_eq!(printable(b"a\x1b[2Jb\n"), "a\\u{1b}[2Jb\\u{a}");
        assert_eq!(printable("fi\u{202e}exe".as_bytes()), "fi\\u{202e}exe");
    }

    #[test]
    fn a_text_that_is_cut_shows_it() {
        let text = "ü".repeat(SHOWN);
        assert_eq!(printable(text.as_bytes()), text);
        assert_eq!(printable(format!("{text}x").as_bytes()), format!("{text}…"));
    }
}
