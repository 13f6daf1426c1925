//! Which version of a file a client has: entity tags and dates (RFC 9110 8.8, 13).

use crate::same_file::Identity;
use data_encoding::HEXLOWER;
use http::header::{IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE};
use http::{HeaderMap, HeaderName, Method};
use std::fs::Metadata;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What tells a version of a file from every other.
#[derive(Clone, Debug)]
pub struct Version {
    /// The file and its times.
    pub identity: Identity,
    /// Its size in bytes.
    pub size: u64,
    etag: String,
    modified: SystemTime,
}

/// What comes of the conditions of a request.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// They hold.
    Proceed,
    /// The client has this version: 304.
    NotModified,
    /// The client wants another version: 412.
    Failed,
}

impl Version {
    /// Of the file with this metadata.
    pub fn of(metadata: &Metadata) -> Version {
        let identity = Identity::of(metadata);
        let hash = blake3::hash(&postcard::to_stdvec(&identity).unwrap_or_default());
        let etag = format!("\"{}\"", HEXLOWER.encode(&hash.as_bytes()[..16]));
        // RFC 9110 8.8.2.1: not later than the date of the response.
        let modified = metadata.modified().unwrap_or(UNIX_EPOCH).clamp(UNIX_EPOCH, SystemTime::now());
        Version { identity, size: metadata.len(), etag, modified }
    }

    /// A strong entity tag: of device, inode, size, and the times of modification and change, which can't be set.
    pub fn etag(&self) -> &str {
        &self.etag
    }

    /// For `Last-Modified`.
    pub fn last_modified(&self) -> String {
        httpdate::fmt_http_date(self.modified)
    }

    /// Judges the conditions of a request, in the order of RFC 9110 13.2.2.
    pub fn judge(&self, method: &Method, fields: &HeaderMap) -> Verdict {
        let is_failed = match (tags(fields, IF_MATCH), date(fields, &IF_UNMODIFIED_SINCE)) {
            (Some(tags), _) => !self.is_among(&tags, Comparison::Strong),
            (None, Some(date)) => self.is_newer_than(date),
            (None, None) => false,
        };
        if is_failed {
            return Verdict::Failed;
        }
        let is_known = match (tags(fields, IF_NONE_MATCH), date(fields, &IF_MODIFIED_SINCE)) {
            (Some(tags), _) => self.is_among(&tags, Comparison::Weak),
            (None, Some(date)) => !self.is_newer_than(date),
            (None, None) => false,
        };
        match is_known {
            true if matches!(*method, Method::GET | Method::HEAD) => Verdict::NotModified,
            true => Verdict::Failed,
            false => Verdict::Proceed,
        }
    }

    /// Whether a range of the file is still what the client wants (RFC 9110 13.1.5).
    pub fn has_range(&self, fields: &HeaderMap) -> bool {
        match fields.get(IF_RANGE).map(|field| field.to_str()) {
            None => true,
            // Only by tag: a date can be that of two versions.
            Some(field) => field.is_ok_and(|tag| tag == self.etag),
        }
    }

    fn is_among(&self, tags: &str, comparison: Comparison) -> bool {
        let plain = |tag: &'_ str| match comparison {
            Comparison::Strong => tag == self.etag,
            Comparison::Weak => tag.strip_prefix("W/").unwrap_or(tag) == self.etag,
        };
        // A tag of another server may have a comma in it; its pieces are none of ours.
        tags.split(',').map(str::trim).any(|tag| tag == "*" || plain(tag))
    }

    /// In whole seconds, which is all that dates of HTTP know.
    fn is_newer_than(&self, date: SystemTime) -> bool {
        self.modified >= date + Duration::from_secs(1)
    }
}

/// RFC 9110 8.8.3.2.
#[derive(Clone, Copy)]
enum Comparison {
    Strong,
    Weak,
}

fn tags(fields: &HeaderMap, name: HeaderName) -> Option<String> {
    let mut values = fields.get_all(name).iter().map(|value| value.to_str().unwrap_or_default()).peekable();
    values.peek()?;
    Some(values.collect::<Vec<_>>().join(","))
}

fn date(fields: &HeaderMap, name: &HeaderName) -> Option<SystemTime> {
    httpdate::parse_http_date(fields.get(name)?.to_str().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    fn version() -> (tempfile::NamedTempFile, Version) {
        let file = tempfile::NamedTempFile::new().unwrap();
        let date = UNIX_EPOCH + Duration::from_millis(784_111_777_500);
        file.as_file().set_modified(date).unwrap();
        let version = Version::of(&file.as_file().metadata().unwrap());
        (file, version)
    }

    fn judge(version: &Version, name: HeaderName, value: &str) -> Verdict {
        let fields = HeaderMap::from_iter([(name, value.parse().unwrap())]);
        version.judge(&Method::GET, &fields)
    }

    #[test]
    fn tags_decide_before_dates() {
        let (_file, version) = version();
        let tag = version.etag().to_owned();
        assert_eq!(judge(&version, IF_NONE_MATCH, &tag), Verdict::NotModified);
        assert_eq!(judge(&version, IF_NONE_MATCH, &format!("\"x,y\", W/{tag}")), Verdict::NotModified);
        assert_eq!(judge(&version, IF_NONE_MATCH, "*"), Verdict::NotModified);
        assert_eq!(judge(&version, IF_NONE_MATCH, "\"x\""), Verdict::Proceed);
        assert_eq!(judge(&version, IF_MATCH, &tag), Verdict::Proceed);
        assert_eq!(judge(&version, IF_MATCH, &format!("W/{tag}")), Verdict::Failed);
        let both = [(IF_NONE_MATCH, "\"x\"".to_owned()), (IF_MODIFIED_SINCE, version.last_modified())];
        let fields = HeaderMap::from_iter(both.map(|(name, value)| (name, value.parse().unwrap())));
        assert_eq!(version.judge(&Method::GET, &fields), Verdict::Proceed);
    }

    #[test]
    fn dates_are_of_whole_seconds() {
        let (_file, version) = version();
        assert_eq!(version.last_modified(), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(judge(&version, IF_MODIFIED_SINCE, "Sun, 06 Nov 1994 08:49:37 GMT"), Verdict::NotModified);
        assert_eq!(judge(&version, IF_MODIFIED_SINCE, "Sun, 06 Nov 1994 08:49:36 GMT"), Verdict::Proceed);
        assert_eq!(judge(&version, IF_UNMODIFIED_SINCE, "Sun, 06 Nov 1994 08:49:36 GMT"), Verdict::Failed);
        assert_eq!(judge(&version, IF_MODIFIED_SINCE, "yesterday"), Verdict::Proceed);
    }

    #[test]
    fn a_changed_file_has_another_tag() {
        let (file, before) = version();
        File::options().write(true).open(file.path()).unwrap().set_len(1).unwrap();
        file.as_file().set_modified(UNIX_EPOCH + Duration::from_millis(784_111_777_500)).unwrap();
        let after = Version::of(&file.as_file().metadata().unwrap());
        assert_ne!(before.etag(), after.etag());
        let if_range = HeaderMap::from_iter([(IF_RANGE, before.etag().parse().unwrap())]);
        assert!(before.has_range(&if_range) && !after.has_range(&if_range) && after.has_range(&HeaderMap::new()));
    }
}
