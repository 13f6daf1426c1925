//! The ticket: all that one side needs to find the other, recognise it and prove that it was invited.

use crate::failure::{Failure, Kind, Result};
use data_encoding::BASE32_NOPAD;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

/// What every ticket begins with.
pub const PREFIX: &str = "pcc1";
const CHECKSUM_LEN: usize = 4;
const MAX_LEN: usize = 2048;

/// More addresses than this make no ticket better.
pub const MAX_ADDRESSES: usize = 12;

/// A ticket; its text form is `pcc1` and base32 with a checksum.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ticket {
    /// BLAKE3 of the certificate of the side that made it.
    pub certificate: [u8; 32],
    /// What the other side must know.
    pub secret: [u8; 32],
    /// Where the one that made it may be reached.
    pub addresses: Vec<SocketAddr>,
}

impl fmt::Display for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = postcard::to_stdvec(self).map_err(|_| fmt::Error)?;
        bytes.extend_from_slice(&checksum(&bytes));
        write!(f, "{PREFIX}{}", BASE32_NOPAD.encode(&bytes).to_ascii_lowercase())
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The secret must not end up in a log.
        f.debug_struct("Ticket").field("addresses", &self.addresses).finish_non_exhaustive()
    }
}

fn checksum(bytes: &[u8]) -> [u8; CHECKSUM_LEN] {
    let mut sum = [0; CHECKSUM_LEN];
    sum.copy_from_slice(&blake3::hash(bytes).as_bytes()[..CHECKSUM_LEN]);
    sum
}

impl FromStr for Ticket {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self> {
        let bad = |why| Failure::new(Kind::BadTicket, format!("this ticket cannot be read: {why}"));
        let text = text.trim().to_ascii_lowercase();
        if text.is_empty() {
            return Err(bad("it is empty; it should be the whole line that the other side printed"));
        }
        if text.len() > MAX_LEN {
            return Err(bad("it is too long"));
        }
        let Some(body) = text.strip_prefix(PREFIX) else {
            let other_version =
                text.strip_prefix("pcc").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
            return Err(match other_version {
                true => Failure::new(
                    Kind::Version,
                    "this ticket comes from another version of pcc; use the same on both sides",
                ),
                false => bad("a ticket starts with \"pcc1\"; copy the whole line that the other side printed"),
            });
        };
        let mistyped = || bad("it was mistyped or cut off; copy the whole line that the other side printed");
        let bytes = BASE32_NOPAD.decode(body.to_ascii_uppercase().as_bytes()).map_err(|_| mistyped())?;
        let (content, sum) = bytes.split_last_chunk::<CHECKSUM_LEN>().ok_or_else(mistyped)?;
        if checksum(content) != *sum {
            return Err(mistyped());
        }
        match postcard::take_from_bytes::<Ticket>(content) {
            Ok((ticket, [])) if (1..=MAX_ADDRESSES).contains(&ticket.addresses.len()) => Ok(ticket),
            _ => Err(bad("its content makes no sense")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticket() -> Ticket {
        let addresses = vec!["192.0.2.1:4433".parse().unwrap(), "[2001:db8::1]:4433".parse().unwrap()];
        Ticket { certificate: [1; 32], secret: [2; 32], addresses }
    }

    #[test]
    fn round_trip_in_any_case() {
        let text = ticket().to_string();
        assert!(text.starts_with("pcc1"));
        assert_eq!(text.parse::<Ticket>().unwrap(), ticket());
        assert_eq!(format!(" {}\n", text.to_uppercase()).parse::<Ticket>().unwrap(), ticket());
    }

    #[test]
    fn every_typo_is_noticed() {
        let text = ticket().to_string();
        for at in 4..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[at] = if bytes[at] == b'a' { b'b' } else { b'a' };
            let failure = String::from_utf8(bytes).unwrap().parse::<Ticket>().unwrap_err();
            assert_eq!(failure.kind, Kind::BadTicket);
            assert!(text[..at].parse::<Ticket>().is_err());
        }
    }

    #[test]
    fn other_versions_are_named() {
        assert_eq!("pcc2abc".parse::<Ticket>().unwrap_err().kind, Kind::Version);
        assert_eq!("hello".parse::<Ticket>().unwrap_err().kind, Kind::BadTicket);
    }

    #[test]
    fn an_empty_one_is_called_empty() {
        let empty = " \n".parse::<Ticket>().unwrap_err();
        assert_eq!((empty.kind, empty.to_string().contains("it is empty")), (Kind::BadTicket, true));
    }

    #[test]
    fn the_secret_is_not_printed() {
        assert!(!format!("{:?}", ticket()).contains("2, 2"));
    }
}
