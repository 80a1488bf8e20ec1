//! `litelab watch` on databases that this test uses: this process is the one that the command sees.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::Value;

use crate::common::{ends, folder, litelab, refused, run, send, until};

/// A database with a reader that pins the log and a writer that holds its lock.
fn busy(path: &Path) -> [Connection; 2] {
    let [writer, reader] = [(); 2].map(|()| Connection::open(path).unwrap());
    writer
        .execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t(x); INSERT INTO t VALUES (1)",
        )
        .unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM t").unwrap();
    writer.execute_batch("INSERT INTO t VALUES (zeroblob(100000)); BEGIN IMMEDIATE").unwrap();
    [writer, reader]
}

fn shown(folder: &Path, arguments: &[&str]) -> Value {
    let output = run(folder, arguments);
    serde_json::from_str(&ends(&output, 0)).unwrap()
}

#[test]
fn once_names_the_holders_of_a_lock_and_of_a_snapshot() {
    let folder = folder(&[]);
    let [writer, _reader] = busy(&folder.path().join("app.db"));
    let view = shown(folder.path(), &["watch", "app.db", "--once", "--json", "--interval", "20ms"]);
    let database = &view["databases"][0];
    let pid = std::process::id();
    assert_eq!((&database["mode"], &database["path"]), (&"wal".into(), &"app.db".into()));
    assert_eq!((&database["locks"][0]["lock"], &database["locks"][0]["pid"]), (&"write".into(), &pid.into()));
    let pinned = database["readers"][0]["pins_bytes"].as_u64().unwrap();
    assert!(pinned > 100_000 && Some(pinned) <= database["backlog_bytes"].as_u64(), "{database}");
    assert!(database["totals"]["looks"].as_u64().unwrap() > 5, "{database}");
    assert_eq!(view["processes"][0]["language"], "rust");
    // SQLite's own numbers.
    let (log, copied): (i64, i64) =
        writer.query_row("PRAGMA wal_checkpoint", [], |row| Ok((row.get(1)?, row.get(2)?))).unwrap_or((-1, -1));
    if log >= 0 {
        assert_eq!((database["frames"].as_i64(), copied <= log), (Some(log), true));
    }
    let text = ends(&run(folder.path(), &["watch", "app.db", "--once"]), 0);
    assert!(text.contains(&format!("{pid} ")) && text.contains("snapshot pins") && text.contains("write"), "{text}");
}

#[test]
fn several_databases_missing_ones_and_other_files() {
    let folder = folder(&[("text.db", "no database")]);
    let _open = busy(&folder.path().join("a.db"));
    let view = shown(folder.path(), &["watch", "a.db", "none.db", "text.db", "--once", "--json"]);
    let modes: Vec<&Value> = (0..3).map(|at| &view["databases"][at]["mode"]).collect();
    assert_eq!(modes, ["wal", "unknown", "unknown"]);
    assert!(refused(folder.path(), &["watch", "."]).contains("a folder"));
    assert!(refused(folder.path(), &["watch", "a.db", "./a.db", "--once"]).contains("named twice"));
    assert!(refused(folder.path(), &["watch", "/dev/null", "--once"]).contains("no regular file"));
    let itself = ["watch", "a.db", "new.db", "--record", "new.db"];
    assert!(refused(folder.path(), &itself).contains("the recording itself"));
    assert!(refused(folder.path(), &["watch", "a.db", "--interval", "1ms"]).contains("5ms to 60s"));
}

#[test]
fn a_recording_is_played_reported_and_shown() {
    let folder = folder(&[]);
    let connections = busy(&folder.path().join("app.db"));
    let mut watch = litelab(folder.path(), &["watch", "app.db", "--record", "incident.db", "--interval", "20ms"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // The event comes after a second, its end with that of the transaction.
    let mut out = watch.stdout.take().unwrap();
    let mut text = String::new();
    let mut read_until = |text: &mut String, what: &str| {
        let mut byte = [0];
        while !text.contains(what) {
            assert_eq!(out.read(&mut byte).unwrap(), 1, "{text}");
            text.push(char::from(byte[0]));
        }
    };
    read_until(&mut text, "has held the write lock");
    connections[0].execute_batch("ROLLBACK").unwrap();
    read_until(&mut text, "over after");
    send("-INT", &[watch.id()]);
    assert_eq!(watch.wait().unwrap().code(), Some(0));
    drop(connections);

    let played = ends(&run(folder.path(), &["watch", "incident.db"]), 0);
    assert!(played.contains("has held the write lock") && played.contains("over after"), "{played}");
    assert!(played.contains("snapshot pins"), "{played}");
    ends(&run(folder.path(), &["report", "incident.db"]), 0);
    let page = std::fs::read_to_string(folder.path().join("incident.html")).unwrap();
    assert!(page.contains("has held the write lock") && page.contains("<svg"), "no timeline");
    let shown = ends(&run(folder.path(), &["show", "incident.db"]), 0);
    assert!(shown.contains("long-write") || shown.contains("has held the write lock"), "{shown}");
    assert!(refused(folder.path(), &["watch", "app.db", "--record", "incident.db"]).contains("exists"));
    // Options that would have no effect.
    for arguments in [
        &["watch", "incident.db", "--json"][..],
        &["watch", "incident.db", "--exec", "true"],
        &["show", "incident.db", "--all"],
        &["report", "incident.db", "--splice", "page.md"],
    ] {
        assert!(refused(folder.path(), arguments).contains("recording"), "{arguments:?}");
    }
}

/// Recordings of real programs, made by `scripts/stress/real`.
#[test]
fn recordings_of_real_programs_name_the_culprit() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let folder = folder(&[]);
    for (name, words) in [
        ("watch-litestream.db", &["litestream replicate", "Litestream's own read lock"][..]),
        ("watch-datasette.db", &["LL514", "datasette", "pins", "cursors"]),
        ("watch-rows.db", &["LL514", "report app.db", "pins", "`defer rows.Close()`"]),
    ] {
        std::fs::copy(data.join(name), folder.path().join(name)).unwrap();
        let text = ends(&run(folder.path(), &["watch", name]), 0);
        assert!(words.iter().all(|word| text.contains(word)), "{name}: {text}");
    }
    let explained = ends(&run(folder.path(), &["doctor", "--explain", "LL514"]), 0);
    assert!(explained.contains("oldest snapshot"), "{explained}");
}

fn nonzero(value: u16) -> std::num::NonZeroU16 {
    value.try_into().unwrap()
}

/// The command in a pseudo-terminal.
struct Terminal {
    child: Child,
    keys: File,
    screen: Arc<Mutex<vt100::Parser>>,
}

impl Terminal {
    fn start(folder: &Path, arguments: &[&str], rows: u16, columns: u16) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let path = ptsname(&ours, Vec::new()).unwrap();
        let theirs = File::options().read(true).write(true).open(path.to_str().unwrap()).unwrap();
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&theirs, size).unwrap();
        let stdio = || Stdio::from(OwnedFd::from(theirs.try_clone().unwrap()));
        // A session of its own, so that the size is that of this terminal.
        let child = Command::new("setsid")
            .args(["--ctty", "--wait", env!("CARGO_BIN_EXE_litelab")])
            .args(arguments)
            .current_dir(folder)
            .env("TERM", "xterm-256color")
            .env_remove("NO_COLOR")
            .stdin(stdio())
            .stdout(stdio())
            .stderr(stdio())
            .spawn()
            .unwrap();
        let screen = Arc::new(Mutex::new(vt100::Parser::new(nonzero(rows), nonzero(columns), 0)));
        let keys = File::from(ours);
        let (mut output, shared) = (keys.try_clone().unwrap(), Arc::clone(&screen));
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // The read fails when the last process has closed the terminal.
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                shared.lock().unwrap().process(&bytes[..count]);
            }
        });
        Self { child, keys, screen }
    }

    fn text(&self) -> String {
        self.screen.lock().unwrap().screen().contents()
    }

    /// Waits until the screen holds this text.
    fn until(&self, what: &str) -> String {
        let begin = Instant::now();
        loop {
            let text = self.text();
            if text.contains(what) {
                return text;
            }
            assert!(begin.elapsed() < Duration::from_secs(60), "no {what:?}:\n{text}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn key(&mut self, key: &str) {
        self.keys.write_all(key.as_bytes()).unwrap();
    }
}

#[test]
fn a_recording_plays_on_the_screen() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/watch-rows.db");
    let folder = folder(&[]);
    std::fs::copy(data, folder.path().join("rows.db")).unwrap();
    let mut terminal = Terminal::start(folder.path(), &["watch", "rows.db"], 24, 80);
    terminal.until("1 of ");
    for _ in 0..6 {
        terminal.key("+");
    }
    terminal.until("64×");
    let text = terminal.until("LL514");
    assert!(text.contains("report app.db"), "{text}");
    terminal.key("\x1b[5~");
    terminal.key("q");
    assert_eq!(terminal.child.wait().unwrap().code(), Some(0));
}

#[test]
fn the_screen_fits_small_and_large_terminals() {
    for (rows, columns) in [(24, 80), (60, 200)] {
        let folder = folder(&[]);
        let connections = busy(&folder.path().join("app.db"));
        let mut terminal = Terminal::start(folder.path(), &["watch", "app.db", "other.db"], rows, columns);
        terminal.until("has held the write lock");
        let pid = format!("{} ", std::process::id());
        for part in ["litelab watch", "app.db", "commits", "backlog", "write", &pid, "pins", "fix", "q end"] {
            terminal.until(part);
        }
        let text = terminal.text();
        assert!(text.lines().all(|line| line.chars().count() <= usize::from(columns)), "{text}");
        assert_eq!(text.lines().count(), usize::from(rows), "{text}");
        terminal.key("p");
        terminal.until("paused");
        terminal.key("s");
        terminal.until("s sort: backlog");
        terminal.key("\x1b[B");
        terminal.until("> other.db");
        terminal.key("q");
        assert_eq!(terminal.child.wait().unwrap().code(), Some(0));
        // The terminal is restored, once its last bytes have arrived.
        until("the first screen again", || !terminal.screen.lock().unwrap().screen().alternate_screen());
        drop(connections);
    }
}
