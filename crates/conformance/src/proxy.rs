//! A TCP proxy between a runner and its server that can cut, freeze or refuse connections.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::error::Result;
use crate::server::Url;

/// Interval at which each thread checks whether it must end.
const POLL: Duration = Duration::from_millis(5);

/// Forwards connections to a server. Its threads end when it is dropped.
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    server: (String, u16),
    closed: AtomicBool,
    links: Mutex<Vec<Link>>,
}

/// Both sockets of a forwarded connection, and whether its bytes are discarded.
#[derive(Clone)]
struct Link {
    ends: Arc<[TcpStream; 2]>,
    frozen: Arc<AtomicBool>,
}

impl Proxy {
    /// Starts a proxy for the first host of a URL.
    pub fn before(url: &str) -> Result<Self> {
        let server = Url::parse(url)?.hosts.swap_remove(0);
        let listener = TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared { server, closed: AtomicBool::new(false), links: Mutex::default() });
        let of_thread = Arc::clone(&shared);
        std::thread::spawn(move || of_thread.listen(&listener));
        Ok(Self { address, shared })
    }

    /// The same URL with the proxy's address.
    pub fn url(&self, url: &str) -> String {
        elsewhere(url, self.address)
    }

    /// Closes all connections. New connections are still accepted.
    pub fn cut(&self) {
        self.shared.links().drain(..).for_each(|link| link.end());
    }

    /// Discards all further bytes on the existing connections. New connections are forwarded.
    pub fn freeze(&self) {
        self.shared.links().iter().for_each(|link| link.frozen.store(true, Ordering::Relaxed));
    }

    /// Closes all connections and the listening socket: new connections are refused.
    pub fn close(&self) {
        self.shared.closed.store(true, Ordering::Relaxed);
        // The thread that owns the listener ends within this time.
        std::thread::sleep(10 * POLL);
        self.cut();
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::Relaxed);
        self.cut();
    }
}

impl Shared {
    fn links(&self) -> std::sync::MutexGuard<'_, Vec<Link>> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn listen(&self, listener: &TcpListener) {
        while !self.closed.load(Ordering::Relaxed) {
            match listener.accept() {
                Ok((client, _)) => {
                    // A connection that cannot be forwarded is closed.
                    let _refused = self.pass(client);
                }
                Err(_) => std::thread::sleep(POLL),
            }
        }
    }

    fn pass(&self, client: TcpStream) -> std::io::Result<()> {
        let (host, port) = &self.server;
        let server = TcpStream::connect((host.as_str(), *port))?;
        for stream in [&client, &server] {
            stream.set_nonblocking(false)?;
            stream.set_nodelay(true)?;
        }
        let link = Link { ends: Arc::new([client, server]), frozen: Arc::default() };
        // Registered before the first byte, so that a check that has received an answer can already cut the connection.
        self.links().push(link.clone());
        for from in [0, 1] {
            let link = link.clone();
            std::thread::spawn(move || link.copy(from));
        }
        Ok(())
    }
}

impl Link {
    fn copy(&self, from: usize) {
        let (mut source, mut target) = (&self.ends[from], &self.ends[1 - from]);
        let mut block = [0; 1 << 14];
        loop {
            match source.read(&mut block) {
                Ok(0) => break,
                Ok(_) if self.frozen.load(Ordering::Relaxed) => {}
                Ok(n) if target.write_all(&block[..n]).is_ok() => {}
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                _ => break,
            }
        }
        self.end();
    }

    fn end(&self) {
        for stream in self.ends.iter() {
            let _ended_before = stream.shutdown(Shutdown::Both);
        }
    }
}

/// The same URL with another address.
pub fn elsewhere(url: &str, address: SocketAddr) -> String {
    let start = url.find("://").map_or(0, |at| at + 3);
    let end = url[start..].find(['/', '?']).map_or(url.len(), |at| start + at);
    let host = url[start..end].rfind('@').map_or(start, |at| start + at + 1);
    format!("{}{address}{}", &url[..host], &url[end..])
}

#[cfg(all(test, feature = "servers"))]
#[allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]
mod tests {
    use super::*;

    /// A server that answers each byte `b` with `b + 1`.
    fn echo() -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                std::thread::spawn(move || {
                    let mut byte = [0];
                    while stream.read_exact(&mut byte).is_ok() && stream.write_all(&[byte[0] + 1]).is_ok() {}
                });
            }
        });
        format!("mysql://me:secret@{address}/db?a=b")
    }

    fn ask(stream: &mut TcpStream, byte: u8) -> Option<u8> {
        let mut answer = [0];
        stream.write_all(&[byte]).and_then(|()| stream.read_exact(&mut answer)).ok().map(|()| answer[0])
    }

    #[test]
    fn it_passes_on_cuts_keeps_back_and_ends() {
        let url = echo();
        let proxy = Proxy::before(&url).unwrap();
        assert_eq!(proxy.url(&url), format!("mysql://me:secret@{}/db?a=b", proxy.address));
        let connect = || TcpStream::connect(proxy.address).unwrap();
        let mut first = connect();
        assert_eq!((ask(&mut first, 1), ask(&mut first, 2)), (Some(2), Some(3)));
        proxy.cut();
        assert_eq!(ask(&mut first, 3), None);
        let mut second = connect();
        assert_eq!(ask(&mut second, 4), Some(5));
        proxy.freeze();
        second.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        assert_eq!(ask(&mut second, 5), None);
        let mut third = connect();
        assert_eq!(ask(&mut third, 6), Some(7));
        proxy.close();
        assert_eq!(ask(&mut third, 7), None);
        assert!(TcpStream::connect(proxy.address).is_err());
    }
}
