//! What a server's head says about what comes.

use super::url::Url;
use data_encoding::BASE64;
use http::header::{CONTENT_LENGTH, CONTENT_RANGE, ETAG, LOCATION};
use http::{HeaderMap, HeaderName, Response, StatusCode};

const REPR_DIGEST: HeaderName = HeaderName::from_static("repr-digest");

/// What a response means for a download.
#[derive(Debug, PartialEq, Eq)]
pub enum Meaning {
    /// All of the file, of so many bytes if the server says so; the entity tag, if it is a strong one.
    Whole { size: Option<u64>, etag: Option<String> },
    /// What is missing of the file, up to this size.
    Rest { size: u64 },
    /// The file is elsewhere.
    Elsewhere(Url),
    /// What is there can't be completed; it has to begin anew.
    Anew,
    /// The server can't now.
    Later(StatusCode),
    /// There is nothing to download.
    Refused(StatusCode),
    /// It makes no sense.
    Nonsense(&'static str),
}

/// Reads the head of a response to a request for `url`, or for what of it is behind the first bytes, of which there are so
/// many of the version with this entity tag.
pub fn read(response: &Response<()>, url: &Url, have: Option<(u64, &str)>) -> Meaning {
    let fields = response.headers();
    let text = |name: HeaderName| fields.get(name).and_then(|value| value.to_str().ok());
    match response.status() {
        StatusCode::OK => {
            let size = text(CONTENT_LENGTH).map(|length| length.parse().map_err(drop));
            // RFC 9110 8.8.3: weak ones say nothing of single bytes.
            let etag = text(ETAG).filter(|tag| tag.starts_with('"')).map(str::to_owned);
            match size.transpose() {
                Ok(size) => Meaning::Whole { size, etag },
                Err(()) => Meaning::Nonsense("a length that is none"),
            }
        }
        StatusCode::PARTIAL_CONTENT => match (text(CONTENT_RANGE).and_then(range), have) {
            (Some((first, last, size)), Some((from, etag))) if first == from && last.checked_add(1) == Some(size) => {
                // RFC 9110 15.3.7.3: parts of two versions make no file.
                if text(ETAG).is_none_or(|tag| tag == etag) { Meaning::Rest { size } } else { Meaning::Anew }
            }
            _ => Meaning::Nonsense("another part than it was asked for"),
        },
        StatusCode::RANGE_NOT_SATISFIABLE if have.is_some() => Meaning::Anew,
        status if status.is_redirection() && status != StatusCode::NOT_MODIFIED => {
            match text(LOCATION).map(|location| url.join(location)) {
                Some(Ok(url)) => Meaning::Elsewhere(url),
                _ => Meaning::Nonsense("a redirection that leads to no https:// URL"),
            }
        }
        StatusCode::TOO_MANY_REQUESTS
        | StatusCode::BAD_GATEWAY
        | StatusCode::SERVICE_UNAVAILABLE
        | StatusCode::GATEWAY_TIMEOUT => Meaning::Later(response.status()),
        status => Meaning::Refused(status),
    }
}

/// `bytes FIRST-LAST/SIZE` (RFC 9110 14.4).
fn range(field: &str) -> Option<(u64, u64, u64)> {
    let (range, size) = field.strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    Some((first.parse().ok()?, last.parse().ok()?, size.parse().ok()?))
}

/// The SHA-256 of the whole file, if there is one among these fields (RFC 9530 3).
pub fn digest(fields: &HeaderMap) -> Option<[u8; 32]> {
    let values = fields.get_all(REPR_DIGEST).iter().filter_map(|value| value.to_str().ok());
    let mut members = values.flat_map(|value| value.split(',')).filter_map(|member| member.trim().split_once('='));
    let (_, value) = members.find(|(name, _)| *name == "sha-256")?;
    let encoded = value.strip_prefix(':')?.split(':').next()?;
    BASE64.decode(encoded.as_bytes()).ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a response means if so many bytes are there of version "1".
    fn meaning(status: u16, fields: &[(HeaderName, &str)], from: Option<u64>) -> Meaning {
        let mut response = Response::builder().status(status);
        for (name, value) in fields {
            response = response.header(name, *value);
        }
        let have = from.map(|from| (from, "\"1\""));
        read(&response.body(()).unwrap(), &Url::parse("https://a/b").unwrap(), have)
    }

    #[test]
    fn a_whole_file() {
        let etag = Some("\"1\"".to_owned());
        assert_eq!(
            meaning(200, &[(CONTENT_LENGTH, "5"), (ETAG, "\"1\"")], Some(3)),
            Meaning::Whole { size: Some(5), etag }
        );
        assert_eq!(meaning(200, &[(ETAG, "W/\"1\"")], None), Meaning::Whole { size: None, etag: None });
        assert!(matches!(meaning(200, &[(CONTENT_LENGTH, "-5")], None), Meaning::Nonsense(_)));
    }

    #[test]
    fn the_rest_of_a_file() {
        assert_eq!(meaning(206, &[(CONTENT_RANGE, "bytes 3-9/10")], Some(3)), Meaning::Rest { size: 10 });
        let part = (CONTENT_RANGE, "bytes 3-9/10");
        assert_eq!(meaning(206, &[part.clone(), (ETAG, "\"1\"")], Some(3)), Meaning::Rest { size: 10 });
        assert_eq!(meaning(206, &[part, (ETAG, "\"2\"")], Some(3)), Meaning::Anew, "of another version");
        for odd in ["bytes 0-9/10", "bytes 3-8/10", "bytes 3-9/*", "bytes 3-18446744073709551615/0", "lines 3-9/10", ""]
        {
            assert!(matches!(meaning(206, &[(CONTENT_RANGE, odd)], Some(3)), Meaning::Nonsense(_)), "{odd}");
        }
        assert!(matches!(meaning(206, &[(CONTENT_RANGE, "bytes 0-9/10")], None), Meaning::Nonsense(_)));
        assert_eq!(meaning(416, &[], Some(3)), Meaning::Anew);
    }

    #[test]
    fn no_file() {
        assert_eq!(meaning(308, &[(LOCATION, "/c/")], None), Meaning::Elsewhere(Url::parse("https://a/c/").unwrap()));
        assert!(matches!(meaning(302, &[(LOCATION, "http://a/c")], None), Meaning::Nonsense(_)));
        assert_eq!(meaning(304, &[], None), Meaning::Refused(StatusCode::NOT_MODIFIED));
        assert_eq!(meaning(404, &[], None), Meaning::Refused(StatusCode::NOT_FOUND));
        assert_eq!(meaning(503, &[], None), Meaning::Later(StatusCode::SERVICE_UNAVAILABLE));
    }

    #[test]
    fn digests_are_found() {
        let fields = |value: &str| HeaderMap::from_iter([(REPR_DIGEST, value.parse().unwrap())]);
        // RFC 9530 B.1.
        let found = digest(&fields("md5=:AA==:, sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:")).unwrap();
        assert_eq!(found[..3], [0x44, 0xaf, 0xf4]);
        for odd in ["sha-256=:AA==:", "sha-256=x", "sha-512=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:", ""] {
            assert_eq!(digest(&fields(odd)), None, "{odd}");
        }
    }
}
