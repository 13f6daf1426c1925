//! What waits for the disk, and flow control that heeds it: no more may come than there is room for.

use noq::{Connection, VarInt};
use pcc_quic::windows::{self, Windows};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How much may wait for the disk and be on its way, both together; in bytes.
pub const ROOM: u64 = windows::CAP;

/// What came and is not written yet, in bytes.
#[derive(Clone, Debug, Default)]
pub struct Backlog(Arc<AtomicU64>);

impl Backlog {
    /// So many bytes came.
    pub fn came(&self, bytes: usize) {
        self.0.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// So many of them are written.
    pub fn written(&self, bytes: usize) {
        self.0.fetch_sub(bytes as u64, Ordering::Relaxed);
    }

    /// How many wait.
    pub fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Lets the receive window of a connection follow its path, but leaves it no more than what of this room nothing waits in for the
/// disk. So the sender waits for a disk that is slower than the path, while all that comes is read at once. Until the
/// connection is closed.
pub fn follow(connection: &Connection, backlog: Backlog, room: u64) -> impl Future<Output = ()> + Send + 'static {
    let mut window = windows::START;
    windows::follow_path_with(connection, Windows::new(room), move |connection, size| {
        let wanted = size.min(room.saturating_sub(backlog.bytes()));
        if wanted != window {
            window = wanted;
            connection.set_receive_window(VarInt::from_u64(window).unwrap_or(VarInt::MAX));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::get::writer::{Writer, empty};
    use noq::{ClientConfig, Endpoint, ServerConfig};
    use pcc_quic::Transport;
    use std::fs::File;
    use std::io::Read;
    use std::os::fd::OwnedFd;
    use std::sync::Arc;
    use std::time::Duration;
    use tokio::time::{sleep, timeout};

    const PATIENCE: Duration = Duration::from_secs(60);
    const SMALL_ROOM: u64 = 8 << 20;
    /// More than noq lets wait: some 2000 packets.
    const SIZE: usize = 24 << 20;

    /// Both ends of a connection over loopback, and what keeps them.
    async fn ends() -> (Connection, Connection, [Endpoint; 2]) {
        let key = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let certificate = key.cert.der().clone();
        let private = noq::rustls::pki_types::PrivatePkcs8KeyDer::from(key.signing_key.serialize_der());
        let mut roots = noq::rustls::RootCertStore::empty();
        roots.add(certificate.clone()).unwrap();
        let mut server = ServerConfig::with_single_cert(vec![certificate], private.into()).unwrap();
        server.transport_config(Arc::new(Transport::default().config()));
        let mut transport = Transport::default().config();
        transport.stream_receive_window(VarInt::from_u64(SMALL_ROOM).unwrap());
        let mut client = ClientConfig::with_root_certificates(Arc::new(roots)).unwrap();
        client.transport_config(Arc::new(transport));
        let local = "127.0.0.1:0".parse().unwrap();
        let (server, near) = (Endpoint::server(server, local).unwrap(), Endpoint::client(local).unwrap());
        let connecting = near.connect_with(client, server.local_addr().unwrap(), "localhost").unwrap();
        let accept = async { server.accept().await.unwrap().await.unwrap() };
        let (connected, accepted) = tokio::join!(async { connecting.await.unwrap() }, accept);
        (connected, accepted, [server, near])
    }

    #[tokio::test]
    async fn a_slow_disk_holds_the_sender_and_breaks_nothing() {
        let (near, far, _endpoints) = ends().await;
        let sending = tokio::spawn(async move {
            let mut stream = far.open_uni().await.unwrap();
            stream.write_all(&vec![7; SIZE]).await.unwrap();
            stream.finish().unwrap();
            far.closed().await
        });
        let (mut disk, written) = std::io::pipe().unwrap();
        let backlog = Backlog::default();
        tokio::spawn(follow(&near, backlog.clone(), SMALL_ROOM));
        let mut writer = Writer::start(File::from(OwnedFd::from(written)), empty(), backlog.clone());
        let mut stream = near.accept_uni().await.unwrap().into_unordered();
        let connection = near.clone();
        let receiving = tokio::spawn(async move {
            while let Some(chunk) = stream.read_chunk(64 << 10).await.unwrap() {
                writer.write(&chunk.bytes);
            }
            drop(connection);
            writer.finish().await.unwrap()
        });
        // Nothing is written, until no more comes.
        let mut before = u64::MAX;
        let filled = async {
            while backlog.bytes() != before || before < SMALL_ROOM / 2 {
                before = backlog.bytes();
                sleep(Duration::from_millis(500)).await;
            }
        };
        timeout(PATIENCE, filled).await.expect("it fills up");
        assert!(near.close_reason().is_none(), "{:?}", near.close_reason());
        assert!(before < SIZE as u64 * 3 / 4, "{before}");
        // The disk comes back, and all of it arrives.
        let reading = std::thread::spawn(move || {
            let mut all = Vec::new();
            disk.read_to_end(&mut all).unwrap();
            all
        });
        timeout(PATIENCE, receiving).await.expect("it hangs").unwrap();
        near.close(VarInt::from_u32(0), b"");
        timeout(PATIENCE, sending).await.unwrap().unwrap();
        assert!(reading.join().unwrap() == vec![7; SIZE]);
    }
}
