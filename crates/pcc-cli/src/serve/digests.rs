//! `Repr-Digest` (RFC 9530): the SHA-256 of whole files, by which a client can check what it put together from parts.
//!
//! A file has to be read for it. So it is sent for small files; for others when it is known, or when the client asks for it:
//! it is then worked out while the file is on its way, and sent behind it.

use crate::same_file::Identity;
use data_encoding::BASE64;
use http::{HeaderMap, HeaderName, HeaderValue};
use ring::digest::{Context, SHA256};
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{Semaphore, oneshot};
use tokio::task::spawn_blocking;

/// The field of a response.
pub const REPR_DIGEST: HeaderName = HeaderName::from_static("repr-digest");
const WANT_REPR_DIGEST: HeaderName = HeaderName::from_static("want-repr-digest");

/// Files up to this size in bytes are read for every request.
const SMALL: u64 = 256 << 10;
/// Digests that are kept.
const MAX_KNOWN: usize = 4096;
/// Files that are read at once for their digests.
const MAX_READING: usize = 2;
/// What is read at once, in bytes.
const PIECE: usize = 256 << 10;

/// The digests of the files that are served.
pub struct Digests {
    known: Mutex<HashMap<Identity, HeaderValue>>,
    reading: Semaphore,
}

/// A digest that is being worked out; nothing if it can't be.
pub type Pending = oneshot::Receiver<HeaderValue>;

impl Digests {
    /// None is known yet.
    pub fn new() -> Digests {
        Digests { known: Mutex::default(), reading: Semaphore::new(MAX_READING) }
    }

    /// The digest of this file if it is known, or can be at once. It reads the file.
    pub fn at_once(&self, file: &File, identity: Identity, size: u64) -> Option<HeaderValue> {
        self.known(&identity).or_else(|| {
            let read = (size <= SMALL).then(|| hash(file, identity, || false))?;
            read.ok().flatten().inspect(|digest| self.keep(identity, digest))
        })
    }

    /// Works out the digest of this file; inside a tokio runtime. It ends early when nobody waits for it any more.
    pub fn begin(self: Arc<Self>, file: Arc<File>, identity: Identity) -> Pending {
        let (tell, pending) = oneshot::channel();
        tokio::spawn(async move {
            // Nobody closes it.
            let _place = self.reading.acquire().await;
            let digests = self.clone();
            let work = move || {
                let done =
                    digests.known(&identity).or_else(|| hash(&file, identity, || tell.is_closed()).ok().flatten());
                if let Some(digest) = done {
                    digests.keep(identity, &digest);
                    // Nobody waits any more.
                    let _ = tell.send(digest);
                }
            };
            // A panic there is one here.
            let _ = spawn_blocking(work).await;
        });
        pending
    }

    fn known(&self, identity: &Identity) -> Option<HeaderValue> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get(identity).cloned()
    }

    fn keep(&self, identity: Identity, digest: &HeaderValue) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_KNOWN {
            known.clear();
        }
        known.insert(identity, digest.clone());
    }
}

/// Whether a client asks for SHA-256 (RFC 9530 4): as `sha-256=N`, where 0 means no.
pub fn is_wanted(fields: &HeaderMap) -> bool {
    let values = fields.get_all(WANT_REPR_DIGEST).iter().filter_map(|value| value.to_str().ok());
    let mut members = values.flat_map(|value| value.split(',')).filter_map(|member| member.trim().split_once('='));
    members.any(|(name, weight)| {
        name == "sha-256" && weight.trim_start_matches('0').starts_with(|c: char| c.is_ascii_digit())
    })
}

/// The digest of a file as in the field; `None` if it is no longer this file, or nobody waits for it.
fn hash(file: &File, identity: Identity, is_in_vain: impl Fn() -> bool) -> io::Result<Option<HeaderValue>> {
    let mut context = Context::new(&SHA256);
    let mut piece = vec![0; PIECE];
    let mut at = 0;
    loop {
        match file.read_at(&mut piece, at)? {
            0 => break,
            _ if is_in_vain() => return Ok(None),
            read => {
                context.update(&piece[..read]);
                at += read as u64;
            }
        }
    }
    if !identity.is(file)? {
        return Ok(None);
    }
    // RFC 9530 2: a dictionary of byte sequences (RFC 9651 3.3.5).
    Ok(HeaderValue::from_str(&format!("sha-256=:{}:", BASE64.encode(context.finish().as_ref()))).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn small_files_have_one_at_once() {
        let mut file = tempfile::tempfile().unwrap();
        // RFC 9530 B.1.
        file.write_all(b"{\"hello\": \"world\"}\n").unwrap();
        let identity = Identity::of(&file.metadata().unwrap());
        let digest = Digests::new().at_once(&file, identity, 19).unwrap();
        assert_eq!(digest, "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:");
        assert_eq!(Digests::new().at_once(&file, identity, SMALL + 1), None);
    }

    #[tokio::test]
    async fn a_file_that_was_read_once_is_known() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&vec![7; 2 * PIECE + 5]).unwrap();
        let (size, identity) = (2 * PIECE as u64 + 5, Identity::of(&file.metadata().unwrap()));
        let digests = Arc::new(Digests::new());
        assert_eq!(digests.at_once(&file, identity, size), None);
        let digest = digests.clone().begin(Arc::new(file.try_clone().unwrap()), identity).await.unwrap();
        assert_eq!(digests.at_once(&file, identity, size), Some(digest));
        // Of a file that changed there is none.
        file.write_all(b"x").unwrap();
        let other = tempfile::tempfile().unwrap();
        assert!(Arc::new(Digests::new()).begin(Arc::new(other), identity).await.is_err());
    }

    #[test]
    fn clients_say_what_they_want() {
        let wanted = |value: &str| is_wanted(&HeaderMap::from_iter([(WANT_REPR_DIGEST, value.parse().unwrap())]));
        assert!(wanted("sha-256=1") && wanted("sha-512=3, sha-256=10"));
        assert!(
            !wanted("sha-256=0")
                && !wanted("sha-512=3")
                && !wanted("sha-256")
                && !wanted("")
                && !is_wanted(&HeaderMap::new())
        );
    }
}
