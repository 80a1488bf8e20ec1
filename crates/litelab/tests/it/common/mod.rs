//! Runs the command in a given folder, with the runners of this checkout.

#![allow(dead_code, reason = "each test binary uses its part")]
#[cfg(feature = "servers")]
pub mod servers;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

pub fn litelab(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_litelab"));
    command.args(arguments).current_dir(folder).env("NO_COLOR", "1").stdin(Stdio::null());
    command
}

pub fn run(folder: &Path, arguments: &[&str]) -> Output {
    litelab(folder, arguments).output().unwrap()
}

/// The only line of standard error of a command that must end with code 2.
pub fn refused(folder: &Path, arguments: &[&str]) -> String {
    failed(folder, arguments, 2)
}

/// The only line of standard error of a command that must end with `code`.
pub fn failed(folder: &Path, arguments: &[&str], code: i32) -> String {
    let output = run(folder, arguments);
    let text = said(&output);
    assert_eq!((output.status.code(), text.lines().count()), (Some(code), 1), "{arguments:?}: {text}");
    let line = text.trim_end().strip_prefix("error: ");
    line.unwrap_or_else(|| panic!("{arguments:?}: {text}")).to_owned()
}

/// A new folder with these files, which the account of a server may enter.
pub fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::Builder::new().permissions(PermissionsExt::from_mode(0o755)).tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

/// A copy of the program in this folder. A copy made by this process could not be executed while another thread forks.
pub fn installed(folder: &Path) -> std::path::PathBuf {
    let copy = folder.join("litelab");
    assert!(Command::new("cp").arg(env!("CARGO_BIN_EXE_litelab")).arg(&copy).status().unwrap().success());
    copy
}

/// Standard error of a command.
pub fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Standard output and standard error of a command.
pub fn both(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap() + &said(output)
}

/// The words of a text in one line, because the width of a terminal may break it.
pub fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Names of what is in a folder, sorted; none if the folder is missing.
pub fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Writes the study `s.toml`, whose only scenario has these lines, and its workload `w.toml`.
pub fn study(folder: &Path, scenario: &str, workload: &str) {
    let head = "name = \"s\"\ntitle = \"s\"\n[[scenario]]\nname = \"s\"\nworkload = \"w.toml\"\n";
    std::fs::write(folder.join("s.toml"), format!("{head}{scenario}\n")).unwrap();
    std::fs::write(folder.join("w.toml"), format!("name = \"w\"\n{workload}\n")).unwrap();
}

/// Standard output of a command that must end with `code`.
pub fn ends(output: &Output, code: i32) -> String {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{err}\n{out}");
    out.into_owned()
}

/// Waits for an event that must happen; panics after 120 s.
pub fn until(what: &str, mut happens: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !happens() {
        assert!(begun.elapsed() < Duration::from_secs(120), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until the run file holds `wanted` rounds.
pub fn rounds(file: &Path, wanted: i64) {
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    until("rounds are stored", || {
        rusqlite::Connection::open_with_flags(file, flags)
            .and_then(|c| c.query_row("SELECT count(*) FROM round", [], |row| row.get::<_, i64>(0)))
            .is_ok_and(|count| count >= wanted)
    });
}

/// Sends a signal; a process may already have ended.
pub fn send(signal: &str, pids: &[u32]) {
    for pid in pids {
        let _ended = Command::new("kill").args([signal, &pid.to_string()]).status().unwrap();
    }
}
