//! A server with a certificate, a client of HTTP/1.1, and paths between.

use crate::common::{PATIENCE, Pcc, pcc};
use noq::rustls::pki_types::pem::PemObject;
use noq::rustls::pki_types::{CertificateDer, ServerName};
use noq::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use pcc_emulator::relay::{Relay, RelayConfig};
use pcc_lab::link::PathConfig;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

/// As it is in files (RFC 7468).
fn pem(what: &str, der: &[u8]) -> String {
    let encoded = data_encoding::BASE64.encode(der);
    let lines: Vec<_> = encoded.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).expect("ASCII")).collect();
    format!("-----BEGIN {what}-----\n{}\n-----END {what}-----\n", lines.join("\n"))
}

/// A folder to serve, and beside it a certificate for `localhost`.
pub struct Site {
    pub dir: TempDir,
}

impl Site {
    /// An empty folder.
    pub fn new() -> Site {
        Site::with(|_| {})
    }

    /// The same with a certificate that is an authority's, as openssl makes them.
    pub fn of_authority() -> Site {
        Site::with(|certificate| certificate.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained))
    }

    fn with(change: impl FnOnce(&mut rcgen::CertificateParams)) -> Site {
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(dir.path().join("root")).expect("a folder");
        let key = rcgen::KeyPair::generate().expect("a key");
        let names = ["localhost", "127.0.0.1"].map(str::to_owned);
        let mut params = rcgen::CertificateParams::new(names).expect("names");
        change(&mut params);
        let certificate = params.self_signed(&key).expect("a certificate");
        std::fs::write(dir.path().join("cert.pem"), pem("CERTIFICATE", certificate.der())).expect("write");
        std::fs::write(dir.path().join("key.pem"), pem("PRIVATE KEY", &key.serialize_der())).expect("write");
        Site { dir }
    }

    /// The path of a file in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join("root").join(name)
    }

    /// Adds a file with content that depends on the seed, and returns it.
    pub fn file(&self, name: &str, size: usize, seed: u64) -> Vec<u8> {
        crate::common::write_file(&self.path(name), size, seed);
        std::fs::read(self.path(name)).expect("read")
    }

    /// The path of something beside the folder.
    pub fn beside(&self, name: &str) -> String {
        self.dir.path().join(name).to_str().expect("UTF-8").to_owned()
    }

    /// Starts a server on this address.
    pub fn serve_on(&self, address: &str, more: &[&str]) -> Server {
        let (root, cert, key) = (self.beside("root"), self.beside("cert.pem"), self.beside("key.pem"));
        let arguments = ["serve", &root, "--json", "--listen", address, "--cert", &cert, "--key", &key];
        Server::new(pcc(&[&arguments[..], more].concat()))
    }

    /// Starts a server on a free port.
    pub fn serve(&self, more: &[&str]) -> Server {
        self.serve_on("127.0.0.1:0", more)
    }

    /// Starts `pcc get` for a name at a port, into a file beside the folder.
    pub fn get(&self, port: u16, name: &str, output: &str, more: &[&str]) -> Pcc {
        let (ca, output, url) =
            (self.beside("cert.pem"), self.beside(output), format!("https://localhost:{port}/{name}"));
        pcc(&[&["get", "--json", "--ca", &ca, "-o", &output, &url], more].concat())
    }
}

/// A server that runs.
pub struct Server {
    pub pcc: Pcc,
    pub address: SocketAddr,
}

impl Server {
    pub fn new(pcc: Pcc) -> Server {
        let url = pcc.event("serving")["urls"][0].as_str().expect("a URL").to_owned();
        let address = url.strip_prefix("https://").and_then(|url| url.strip_suffix('/')).expect("a URL");
        Server { pcc, address: address.parse().expect("an address") }
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Waits for the line of the log about this path.
    pub fn logged(&self, path: &str) -> serde_json::Value {
        let find = || self.pcc.events("request").into_iter().find(|line| line["path"] == path);
        self.pcc.until(path, find)
    }
}

/// A file of this size takes 12 s from a server that is as slow as this: long enough to catch it on its way.
pub const SIZE: usize = 6_000_000;
/// With CUBIC, which doesn't mind acknowledgements that a busy machine brings late.
pub const SLOW: [&str; 4] = ["--max-rate", "4mbit", "--controller", "cubic"];

/// Waits until a download has so many bytes.
pub fn has(get: &Pcc, bytes: u64) {
    get.until("progress", || get.events("progress").iter().any(|e| e["there"].as_u64() >= Some(bytes)).then_some(()));
}

/// A path to a server that loses 2 % of its packets, with a round trip of 20 ms.
pub fn lossy(server: &Server) -> Relay {
    let delay = PathConfig::delay_only(Duration::from_millis(10));
    let reverse = PathConfig { loss: 0.02.into(), ..delay.clone() };
    let config = RelayConfig { receiver: server.address, forward: delay, reverse, seed: 7 };
    Relay::start(&config).expect("a relay")
}

/// A connection of HTTP/1.1 over TLS.
pub type Tls = BufReader<StreamOwned<ClientConnection, TcpStream>>;

/// Connects to a server of this site.
pub fn tls(site: &Site, server: &Server) -> Tls {
    let mut roots = RootCertStore::empty();
    let certificate = CertificateDer::from_pem_file(Path::new(&site.beside("cert.pem"))).expect("a certificate");
    roots.add(certificate).expect("a certificate");
    let provider = Arc::new(noq::rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().expect("TLS");
    let config = builder.with_root_certificates(roots).with_no_client_auth();
    let name = ServerName::try_from("localhost").expect("a name");
    let stream = TcpStream::connect(server.address).expect("connect");
    stream.set_read_timeout(Some(PATIENCE)).expect("timeout");
    stream.set_write_timeout(Some(PATIENCE)).expect("timeout");
    BufReader::new(StreamOwned::new(ClientConnection::new(Arc::new(config), name).expect("TLS"), stream))
}

/// A response of HTTP/1.1.
pub struct Response {
    pub status: u16,
    pub fields: HashMap<String, String>,
    pub body: Vec<u8>,
}

impl Response {
    /// A field; empty if it isn't there.
    pub fn field(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }
}

/// Sends a request without content and reads the response, on a connection that may have had others.
pub fn ask(tls: &mut Tls, method: &str, path: &str, fields: &[(&str, &str)]) -> Response {
    let fields: String = fields.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let head = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\n{fields}\r\n");
    tls.get_mut().write_all(head.as_bytes()).expect("write");
    read(tls, method == "HEAD")
}

/// Reads a response.
pub fn read(tls: &mut Tls, is_head: bool) -> Response {
    let line = |tls: &mut Tls| {
        let mut line = String::new();
        tls.read_line(&mut line).expect("a line");
        line.trim_end().to_owned()
    };
    let first = line(tls);
    let status: u16 =
        first.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_else(|| panic!("{first:?}"));
    let mut fields = HashMap::new();
    loop {
        let line = line(tls);
        let Some((name, value)) = line.split_once(": ") else { break };
        fields.insert(name.to_lowercase(), value.to_owned());
    }
    let has_body = !is_head && status != 304;
    let length =
        fields.get("content-length").filter(|_| has_body).map_or(0, |length| length.parse().expect("a length"));
    let mut body = vec![0; length];
    tls.read_exact(&mut body).expect("the body");
    Response { status, fields, body }
}

/// One request on a connection of its own.
pub fn once(site: &Site, server: &Server, method: &str, path: &str, fields: &[(&str, &str)]) -> Response {
    ask(&mut tls(site, server), method, path, fields)
}
