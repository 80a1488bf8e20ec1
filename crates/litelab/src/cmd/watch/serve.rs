//! Metrics over HTTP, for Prometheus.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use litelab_record::recording::{Event, View};
use litelab_watch::metrics::{self, CONTENT_TYPE, Counts};
use tiny_http::{Header, Method, Request, Response};

use crate::exit::BadInput;

/// What is served.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    pub view: Arc<View>,
    pub active: Vec<Event>,
    pub counts: Counts,
}

/// A listening server. Its thread ends with the process.
pub struct Server {
    address: SocketAddr,
    newest: Arc<Mutex<Snapshot>>,
}

impl Server {
    /// Listens at an address.
    pub fn start(address: SocketAddr) -> Result<Self> {
        let refused = |e: &dyn std::fmt::Display| BadInput(format!("--listen {address}: {e}"));
        let http = tiny_http::Server::http(address).map_err(|e| refused(&e))?;
        let bound = http.server_addr().to_ip().unwrap_or(address);
        let newest = Arc::new(Mutex::new(Snapshot::default()));
        let shared = Arc::clone(&newest);
        let serve = move || {
            let mut http = Some(http);
            loop {
                // Ends when a connection cannot be accepted, as without free descriptors; then the port is opened again.
                for request in http.iter().flat_map(tiny_http::Server::incoming_requests) {
                    let snapshot = shared.lock().unwrap_or_else(PoisonError::into_inner).clone();
                    // A client that goes away is no error.
                    let _gone = respond(request, &snapshot);
                }
                drop(http.take());
                std::thread::sleep(Duration::from_secs(1));
                http = tiny_http::Server::http(bound).ok();
            }
        };
        std::thread::Builder::new().name("litelab-metrics".into()).spawn(serve).map_err(|e| refused(&e))?;
        Ok(Self { address: bound, newest })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn publish(&self, snapshot: Snapshot) {
        *self.newest.lock().unwrap_or_else(PoisonError::into_inner) = snapshot;
    }
}

fn respond(request: Request, snapshot: &Snapshot) -> std::io::Result<()> {
    let path = request.url().split('?').next().unwrap_or_default();
    match (request.method(), path) {
        (Method::Get, "/metrics") => {
            let text = metrics::exposition(&snapshot.view, snapshot.active.iter(), &snapshot.counts);
            let text = text.map_err(std::io::Error::other)?;
            request.respond(with(Response::from_string(text), CONTENT_TYPE))
        }
        (Method::Get, "/") => {
            let page = "litelab watch: metrics for Prometheus are at /metrics\n";
            request.respond(with(Response::from_string(page), "text/plain; charset=utf-8"))
        }
        (Method::Get, _) => request.respond(Response::from_string("not found\n").with_status_code(404)),
        _ => request.respond(Response::from_string("GET only\n").with_status_code(405)),
    }
}

fn with<R: std::io::Read>(response: Response<R>, kind: &str) -> Response<R> {
    match Header::from_bytes("Content-Type", kind) {
        Ok(header) => response.with_header(header),
        Err(()) => response,
    }
}
