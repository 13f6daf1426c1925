//! Whatever a server answers, it makes sense, or is refused.
//!
//! Run and fuzzed as `serve::fuzz`.

use super::response::{self, Meaning};
use super::url::Url;
use bolero::check;
use http::header::{CONTENT_LENGTH, CONTENT_RANGE, ETAG, LOCATION};
use http::{HeaderMap, HeaderName, HeaderValue, Response};

#[test]
fn responses() {
    let url = Url::parse("https://example.org/a/b").unwrap();
    check!().with_type().for_each(|(status, from, value): &(u16, Option<u64>, Vec<u8>)| {
        let Ok(value) = HeaderValue::from_bytes(value) else { return };
        let mut response = Response::builder().status(200 + status % 400);
        for name in [CONTENT_LENGTH, CONTENT_RANGE, ETAG, LOCATION] {
            response = response.header(name, value.clone());
        }
        match response::read(&response.body(()).unwrap(), &url, from.map(|from| (from, "\"1\""))) {
            Meaning::Rest { size } => assert!(from.is_some_and(|from| from < size)),
            Meaning::Elsewhere(url) => {
                let is_name = url.file_name().is_none_or(|name| !name.as_encoded_bytes().contains(&b'/'));
                assert!(!url.host().is_empty() && is_name, "{url}");
            }
            _ => {}
        }
        let name = HeaderName::from_static("repr-digest");
        let _ = response::digest(&HeaderMap::from_iter([(name, value)]));
    });
}
