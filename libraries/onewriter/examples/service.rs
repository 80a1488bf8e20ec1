//! A service with axum: notes of many clients, written with shared commits.
//!
//! `cargo run --example service -- FILE [PORT]` prints its address. `POST /notes/KEY` with a body stores it once,
//! `GET /notes/KEY` returns it, `GET /report` is a long read, `GET /counters` has the state of the database. SIGTERM ends
//! the service after the requests that it has accepted.

use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use onewriter::rusqlite::OptionalExtension;
use onewriter::{Checkpoints, Database, Error, Options};
use serde::Serialize;
use tokio::signal::unix::{SignalKind, signal};

/// Longest time that a write waits for its turn.
const PATIENCE: Duration = Duration::from_secs(5);

/// An error as a response, by whether the client may try again.
struct Failed(Error);

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

impl IntoResponse for Failed {
    fn into_response(self) -> Response {
        let status = match &self.0 {
            error if error.is_constraint() => StatusCode::CONFLICT,
            Error::Closed | Error::Timeout | Error::QueueFull | Error::LogFull { .. } | Error::Begin(_) => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        (status, self.0.to_string()).into_response()
    }
}

/// Answered when the note is on the disk.
async fn put(State(db): State<Database>, Path(key): Path<String>, text: String) -> Result<StatusCode, Failed> {
    db.execute_async("INSERT INTO note(key, text) VALUES (?1, ?2)", (key, text)).await?;
    Ok(StatusCode::CREATED)
}

async fn find(State(db): State<Database>, Path(key): Path<String>) -> Result<Response, Failed> {
    let select = "SELECT text FROM note WHERE key = ?1";
    let text = db.read_async(move |c| c.prepare_cached(select)?.query_row([key], |row| row.get(0)).optional()).await?;
    let text: Option<String> = text;
    Ok(text.map_or_else(|| StatusCode::NOT_FOUND.into_response(), IntoResponse::into_response))
}

/// A read that keeps its snapshot for a second.
async fn report(State(db): State<Database>) -> Result<String, Failed> {
    let counted = db.read_async(|c| {
        let count = || {
            c.query_row("SELECT count(*), total(length(text)) FROM note", [], |row| {
                Ok(format!("{} notes, {} characters\n", row.get::<_, i64>(0)?, row.get::<_, f64>(1)?))
            })
        };
        let before = count()?;
        std::thread::sleep(Duration::from_secs(1));
        debug_assert_eq!(before, count()?);
        Ok(before)
    });
    Ok(counted.await?)
}

#[derive(Serialize)]
struct Shown {
    writes: u64,
    commits: u64,
    wal_frames: u64,
    truncated: u64,
    blocked: u64,
    longest_commit_us: u64,
    wait_p999_us: u64,
}

async fn counters(State(db): State<Database>) -> Json<Shown> {
    let counters = db.counters();
    Json(Shown {
        writes: counters.writes,
        commits: counters.commits,
        wal_frames: counters.wal_frames,
        truncated: counters.truncated,
        blocked: counters.blocked,
        longest_commit_us: u64::try_from(counters.longest_commit.as_micros()).unwrap_or(u64::MAX),
        wait_p999_us: counters.waits.quantile(0.999) / 1_000,
    })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("usage: service FILE [PORT]")?;
    let port: u16 = arguments.next().map_or(Ok(0), |port| port.parse())?;
    // Another program, such as Litestream, runs the checkpoints if this is set.
    let external = std::env::var_os("EXTERNAL_CHECKPOINTS").is_some();
    let checkpoints = if external { Checkpoints::external() } else { Checkpoints::default() };
    let db = Options::new(file).timeout(PATIENCE).checkpoints(checkpoints).open()?;
    db.write_async(|tx| tx.execute_batch("CREATE TABLE IF NOT EXISTS note(key TEXT PRIMARY KEY, text TEXT)")).await?;

    let routes = Router::new()
        .route("/notes/{key}", post(put).get(find))
        .route("/report", get(report))
        .route("/counters", get(counters))
        .with_state(db.clone());
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    println!("{}", listener.local_addr()?);
    let mut ends = signal(SignalKind::terminate())?;
    axum::serve(listener, routes).with_graceful_shutdown(async move { _ = ends.recv().await }).await?;
    db.close_async().await?;
    Ok(())
}
