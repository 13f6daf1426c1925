//! Where to download from.

use http::Uri;
use http::uri::{Authority, PathAndQuery, Scheme};
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use std::fmt;
use std::net::Ipv6Addr;

/// What people write in URLs that must not be there (RFC 3986 2).
const UNWRITTEN: &AsciiSet =
    &CONTROLS.add(b' ').add(b'"').add(b'<').add(b'>').add(b'\\').add(b'^').add(b'`').add(b'{').add(b'|').add(b'}');
/// Where HTTP/3 is without another port (RFC 9110 4.2.2).
const PORT: u16 = 443;

/// The name of a file whose URL has none.
const INDEX: &str = "index.html";

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

    /// Where a redirection leads (RFC 9110 10.2.2): a URL, or what there is of one behind this one's host.
    pub fn join(&self, location: &str) -> Result<Url, String> {
        let host = self.uri.authority().map_or("", |authority| authority.as_str());
        match location {
            _ if location.contains("://") => Url::parse(location),
            _ if location.starts_with("//") => Url::parse(&format!("https:{location}")),
            _ if location.starts_with('/') => Url::parse(&format!("https://{host}{location}")),
            _ => {
                let folder = self.uri.path().rsplit_once('/').map_or("", |(folder, _)| folder);
                Url::parse(&format!("https://{host}{folder}/{location}"))
            }
        }
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

    /// The name for the file: the last one of the path.
    pub fn file_name(&self) -> String {
        let last = self.uri.path().rsplit('/').next().unwrap_or_default();
        let name = percent_decode_str(last).decode_utf8_lossy();
        let is_name =
            !matches!(&*name, "" | "." | "..") && !name.contains(['/', '\0']) && !name.contains(char::is_control);
        if is_name { name.into_owned() } else { INDEX.to_owned() }
    }
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
        assert_eq!((iso.host(), iso.port(), iso.file_name()), ("example.org", 443, "big one.iso".to_owned()));
        assert_eq!(iso.to_string(), "https://example.org/images/big%20one.iso?x=1");
        let local = url("https://[::1]:4433");
        assert_eq!((local.host(), local.port(), local.file_name()), ("::1", 4433, "index.html".to_owned()));
        assert_eq!(local.to_string(), "https://[::1]:4433/");
        assert_eq!(url("https://a/für mich").file_name(), "für mich");
        for odd in ["https://a/..", "https://a/%2e%2e", "https://a/x%2f..%2fy", "https://a/%00", "https://a/%0a"] {
            assert_eq!(url(odd).file_name(), "index.html", "{odd}");
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
        assert!(from.join("http://e/f").is_err());
    }
}
