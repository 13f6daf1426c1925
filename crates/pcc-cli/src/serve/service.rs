//! Takes a request of any version of HTTP, and hands out its response.

use super::answer::{Answer, answer, overloaded};
use super::body::Body;
use super::digests::Digests;
use super::limits::{Activity, MAX_REQUESTS};
use super::report::{Record, Reporter};
use super::site::Site;
use http::header::{ALT_SVC, DATE};
use http::request::Parts;
use http::{HeaderValue, Response, StatusCode, Version};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::SystemTime;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

/// What all connections share.
pub struct Service {
    site: Site,
    digests: Arc<Digests>,
    requests: Arc<Semaphore>,
    reporter: Arc<Reporter>,
    /// Where HTTP/3 is (RFC 7838 3).
    alt_svc: HeaderValue,
}

impl Service {
    /// Serves this folder, and tells clients of HTTP/1.1 and 2 that HTTP/3 is at this port.
    pub fn new(site: Site, port: u16, reporter: Arc<Reporter>) -> Service {
        let alt_svc = HeaderValue::from_str(&format!("h3=\":{port}\"; ma=86400"));
        Service {
            site,
            digests: Arc::new(Digests::new()),
            requests: Arc::new(Semaphore::new(MAX_REQUESTS)),
            reporter,
            alt_svc: alt_svc.unwrap_or(HeaderValue::from_static("clear")),
        }
    }

    /// Answers a request of this client.
    pub async fn serve(self: &Arc<Self>, peer: IpAddr, request: Parts, activity: &Activity) -> Response<Body> {
        activity.touch();
        let mut record = Record::new(peer, &request, self.reporter.clone());
        let version = request.version;
        let place = self.requests.clone().try_acquire_owned().ok();
        let Answer { status, mut fields, content } = match &place {
            Some(_) => {
                let service = self.clone();
                // It reads the disk.
                let answered = spawn_blocking(move || answer(&service.site, &service.digests, &request)).await;
                answered.unwrap_or_else(|_| overloaded())
            }
            None => overloaded(),
        };
        record.answered(status);
        if version < Version::HTTP_3 {
            fields.insert(ALT_SVC, self.alt_svc.clone());
        }
        // RFC 9110 6.6.1.
        if let Ok(date) = HeaderValue::from_str(&httpdate::fmt_http_date(SystemTime::now())) {
            fields.insert(DATE, date);
        }
        let mut response = Response::new(Body::new(content, record, activity.clone(), place));
        *response.status_mut() = status;
        *response.headers_mut() = fields;
        response
    }

    /// Takes note of a request of this client that could not be read, and was answered with this status.
    pub fn unreadable(&self, peer: IpAddr, version: Version, status: StatusCode) {
        Record::unreadable(peer, version, status, self.reporter.clone());
    }
}
