//! Where to download from.

use http::Uri;
use http::uri::{Authority, PathAndQuery, Scheme};
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use std::ffi::OsString;
use std::fmt;
use std::net::Ipv6Addr;
use std::os::unix::ffi::OsStringExt;

/// What people write in URLs that must not be there (RFC 3986 2).
const UNWRITTEN: &AsciiSet =
    &CONTROLS.add(b' ').add(b'"').add(b'<').add(b'>').add(b'\\').add(b'^').add(b'`').add(b'{').add(b'|').add(b'}');
/// Where HTTP/3 is without another port (RFC 9110 4.2.2).
const PORT: u16 = 443;

/// The name of a file whose URL is a folder's.
const INDEX: &str = "index.html";
/// The longest name, in bytes, of a file that has others beside it while it comes.
const MAX_NAME: usize = 255 - ".part.json".len();

/// A URL of HTTPS, with a host and a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    uri: Uri,
}

impl Url {
    /// Reads a URL. What comes behind `#` is not for the server.
    pub fn parse(text: &str) -> Result<Url, String> {
        let text = text.split('#').next().unwrap_or_default();
        let uri: Uri = utf8_percent_encode(text, UNWRITTEN)
            .to_string()
            .parse()
            .map_err(|error| format!("this is no URL such as https://example.org/file: {error}"))?;
        let mut parts = uri.into_parts();
        if parts.scheme != Some(Scheme::HTTPS) {
            return Err("only https:// is possible, for HTTP/3".to_owned());
        }
        let authority: &Authority = parts.authority.as_ref().ok_or("there is no host in it")?;
        if authority.as_str().contains('@') {
            return Err("names and passwords in URLs are not supported".to_owned());
        }
        if authority.host().is_empty() {
            return Err("there is no host in it".to_owned());
        }
        let in_brackets = authority.host().strip_prefix('[').map(|rest| rest.trim_end_matches(']'));
        if in_brackets.is_some_and(|address| address.parse::<Ipv6Addr>().is_err()) {
            return Err("what is in brackets is no IPv6 address".to_owned());
        }
        if authority.port().is_none() && authority.as_str().len() > authority.host().len() {
            return Err("the port is none".to_owned());
        }
        parts.path_and_query.get_or_insert(PathAndQuery::from_static("/"));
        Ok(Url { uri: Uri::from_parts(parts).map_err(|error| format!("{error}"))? })
    }

    /// Where a redirection leads (RFC 9110 10.2.2): a reference that is resolved by RFC 3986 5.2.
    pub fn join(&self, location: &str) -> Result<Url, String> {
        let location = location.split('#').next().unwrap_or_default();
        if has_scheme(location) {
            return Url::parse(location);
        }
        if location.starts_with("//") {
            return Url::parse(&format!("https:{location}"));
        }
        let (path, query) = location.split_once('?').map_or((location, None), |(path, query)| (path, Some(query)));
        let (path, query) = match path {
            "" => (self.uri.path().to_owned(), query.or(self.uri.query())),
            path if path.starts_with('/') => (without_dots(path), query),
            path => {
                let folder = self.uri.path().rsplit_once('/').map_or("", |(folder, _)| folder);
                (without_dots(&format!("{folder}/{path}")), query)
            }
        };
        let host = self.uri.authority().map_or("", |authority| authority.as_str());
        let query = query.map_or(String::new(), |query| format!("?{query}"));
        Url::parse(&format!("https://{host}{path}{query}"))
    }

    /// The URL as h3 takes it.
    pub fn uri(&self) -> &Uri {
        &self.uri
    }

    /// The name or address of the server, an IPv6 address without brackets.
    pub fn host(&self) -> &str {
        self.uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']')
    }

    /// The server's port.
    pub fn port(&self) -> u16 {
        self.uri.port_u16().unwrap_or(PORT)
    }

    /// The name for the file: the last one of the path, byte by byte; that of a page if the path is a folder's. None if a file here
    /// can't have it.
    pub fn file_name(&self) -> Option<OsString> {
        let last = self.uri.path().rsplit('/').next().unwrap_or_default();
        if last.is_empty() {
            return Some(INDEX.into());
        }
        let name: Vec<u8> = percent_decode_str(last).collect();
        let is_odd = |byte: &u8| *byte == b'/' || byte.is_ascii_control();
        let is_name = !matches!(&name[..], b"." | b"..") && name.len() <= MAX_NAME && !name.iter().any(is_odd);
        is_name.then(|| OsString::from_vec(name))
    }
}

/// Whether a reference begins with a scheme (RFC 3986 3.1).
fn has_scheme(reference: &str) -> bool {
    let scheme = reference.split_once(':').map_or("", |(scheme, _)| scheme);
    scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}

/// A path that begins with a slash, without its names `.` and `..` (RFC 3986 5.2.4).
fn without_dots(path: &str) -> String {
    let mut names = Vec::new();
    for name in path.split('/').skip(1) {
        match name {
            "." => {}
            ".." => drop(names.pop()),
            name => names.push(name),
        }
    }
    if path.ends_with("/.") || path.ends_with("/..") {
        names.push("");
    }
    format!("/{}", names.join("/"))
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.uri.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn urls_are_taken_apart() {
        let iso = url("https://example.org/images/big%20one.iso?x=1#part");
        assert_eq!((iso.host(), iso.port(), iso.file_name()), ("example.org", 443, Some("big one.iso".into())));
        assert_eq!(iso.to_string(), "https://example.org/images/big%20one.iso?x=1");
        let local = url("https://[::1]:4433");
        assert_eq!((local.host(), local.port(), local.file_name()), ("::1", 4433, Some("index.html".into())));
        assert_eq!(local.to_string(), "https://[::1]:4433/");
        assert_eq!(url("https://a/für mich").file_name(), Some("für mich".into()));
        assert_eq!(url("https://a/b/?c=d").file_name(), Some("index.html".into()));
        assert_eq!(url("https://a/b%fc").file_name(), Some(OsString::from_vec(b"b\xfc".to_vec())));
        let long = format!("https://a/{}", "x".repeat(250));
        for odd in ["https://a/..", "https://a/%2e%2e", "https://a/x%2f..%2fy", "https://a/%00", "https://a/%0a", &long]
        {
            assert_eq!(url(odd).file_name(), None, "{odd}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        let wrong = |text: &str| Url::parse(text).unwrap_err();
        assert!(wrong("http://example.org/").contains("https://"));
        assert!(wrong("example.org/x").len() > 4);
        assert!(wrong("https://me:secret@example.org/").contains("passwords"));
        assert!(wrong("https:///x").len() > 4 && wrong("https://").contains("no URL"));
        for host in ["[]", "[:]", "[a]"] {
            assert!(wrong(&format!("https://{host}/")).len() > 4, "{host}");
        }
        assert!(wrong("https://a:x/").len() > 4 && wrong("https://a:70000/").len() > 4);
    }

    #[test]
    fn redirections_lead_somewhere() {
        let from = url("https://a:1/b/c?d");
        let to = |location: &str| from.join(location).unwrap().to_string();
        assert_eq!(to("https://e/f"), "https://e/f");
        assert_eq!(to("//e/f"), "https://e/f");
        assert_eq!(to("/f"), "https://a:1/f");
        assert_eq!(to("f/"), "https://a:1/b/f/");
        assert_eq!(to("/login?next=https://e/"), "https://a:1/login?next=https://e/");
        assert_eq!(to("./f:g/h"), "https://a:1/b/f:g/h");
        assert!(from.join("http://e/f").is_err());
    }

    #[test]
    fn references_are_resolved_as_the_rfc_says() {
        // RFC 3986 5.4, but for fragments, which aren't for the server, and other schemes.
        let from = url("https://a/b/c/d;p?q");
        for (reference, resolved) in [
            ("g", "https://a/b/c/g"),
            ("./g", "https://a/b/c/g"),
            ("g/", "https://a/b/c/g/"),
            ("/g", "https://a/g"),
            ("//g", "https://g/"),
            ("?y", "https://a/b/c/d;p?y"),
            ("g?y", "https://a/b/c/g?y"),
            ("#s", "https://a/b/c/d;p?q"),
            ("g#s", "https://a/b/c/g"),
            ("g?y#s", "https://a/b/c/g?y"),
            (";x", "https://a/b/c/;x"),
            ("g;x", "https://a/b/c/g;x"),
            ("g;x?y#s", "https://a/b/c/g;x?y"),
            ("", "https://a/b/c/d;p?q"),
            (".", "https://a/b/c/"),
            ("./", "https://a/b/c/"),
            ("..", "https://a/b/"),
            ("../", "https://a/b/"),
            ("../g", "https://a/b/g"),
            ("../..", "https://a/"),
            ("../../", "https://a/"),
            ("../../g", "https://a/g"),
            ("../../../g", "https://a/g"),
            ("../../../../g", "https://a/g"),
            ("/./g", "https://a/g"),
            ("/../g", "https://a/g"),
            ("g.", "https://a/b/c/g."),
            (".g", "https://a/b/c/.g"),
            ("g..", "https://a/b/c/g.."),
            ("..g", "https://a/b/c/..g"),
            ("./../g", "https://a/b/g"),
            ("./g/.", "https://a/b/c/g/"),
            ("g/./h", "https://a/b/c/g/h"),
            ("g/../h", "https://a/b/c/h"),
            ("g;x=1/./y", "https://a/b/c/g;x=1/y"),
            ("g;x=1/../y", "https://a/b/c/y"),
            ("g?y/./x", "https://a/b/c/g?y/./x"),
            ("g?y/../x", "https://a/b/c/g?y/../x"),
            ("g#s/../x", "https://a/b/c/g"),
        ] {
            assert_eq!(from.join(reference).unwrap().to_string(), resolved, "{reference}");
        }
        for reference in ["g:h", "https:g", "http://a/g"] {
            assert!(from.join(reference).is_err(), "{reference}");
        }
    }
}
