//! What a process is: its name, language and copies of SQLite.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::image::{Images, SqliteSource};
use crate::proc_file;

/// A program that has a database open.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Name of the program or script.
    pub name: String,
    /// Command line, its words separated by spaces.
    pub command: String,
    /// `python`, `node`, `go`, `rust` and others, by the name or content of the program; `None` if it is not known.
    pub language: Option<String>,
    /// Copies of SQLite in the program and its libraries; empty until they were read, and without permission for that.
    pub sqlite: Vec<SqliteSource>,
    /// Whether the process is in another mount namespace, as in another container.
    pub other_namespace: bool,
}

/// Interpreters, by the beginning of their name.
const INTERPRETERS: [(&str, &str); 9] = [
    ("python", "python"),
    ("uwsgi", "python"),
    ("gunicorn", "python"),
    ("node", "node"),
    ("bun", "node"),
    ("deno", "node"),
    ("ruby", "ruby"),
    ("php", "php"),
    ("java", "java"),
];

/// What the files of a process contain.
#[derive(Debug, Default)]
pub(super) struct Contents {
    pub(super) sqlite: Vec<SqliteSource>,
    pub(super) language: Option<&'static str>,
}

impl Contents {
    /// Reads the program and the libraries of the process in a directory of `/proc`.
    pub(super) fn of(directory: &Path, images: &mut Images) -> Self {
        let (sqlite, _) = images.of(directory);
        Self { sqlite, language: images.language(directory) }
    }
}

impl Program {
    /// Examines the process in a directory of `/proc`, without the files that it has loaded.
    pub(crate) fn of(directory: &Path) -> Self {
        let mut command = Vec::new();
        // It can be megabytes long, and is in every view of a recording.
        let _absent = File::open(directory.join("cmdline")).and_then(|file| file.take(4096).read_to_end(&mut command));
        let command = String::from_utf8_lossy(&command);
        let namespace = |directory: &Path| std::fs::read_link(directory.join("ns/mnt")).ok();
        let theirs = namespace(directory);
        let executable = std::fs::read_link(directory.join("exe")).unwrap_or_default();
        let comm = proc_file(directory.join("comm")).unwrap_or_default();
        let image = executable.file_name().map(|name| name.to_string_lossy().into_owned());
        let named = image.or_else(|| Some(command.split('\0').next()?.rsplit('/').next()?.to_owned()));
        let interpreter = named.and_then(|name| {
            INTERPRETERS.iter().find(|(begin, _)| name.starts_with(begin)).map(|(_, language)| (*language).to_owned())
        });
        Program {
            name: name(comm.trim(), &command, &executable),
            command: command.replace('\0', " ").trim().to_owned(),
            language: interpreter,
            sqlite: Vec::new(),
            other_namespace: theirs.is_some() && theirs != namespace(Path::new("/proc/self")),
        }
    }

    /// Adds what its files contain.
    pub(super) fn add(&mut self, contents: Contents) {
        self.sqlite = contents.sqlite;
        self.language = self.language.take().or_else(|| contents.language.map(str::to_owned));
    }
}

/// Name of a process: that of its first thread (`comm`, cut after 15 characters), if it is also that of the program or
/// script in the command line; otherwise a runtime has set it, as Node's `MainThread`, and the program's file counts.
fn name(comm: &str, command: &str, program: &Path) -> String {
    let mut words = command.split('\0').take(2).map(|word| word.rsplit('/').next().unwrap_or_default());
    let file = program.file_name().map(|name| name.to_string_lossy().trim_end_matches(" (deleted)").to_owned());
    match file {
        Some(file) if !file.starts_with(comm) && !words.any(|word| word.starts_with(comm)) => file,
        _ => comm.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_the_name_of_its_program_or_script() {
        let node = Path::new("/opt/bin/node");
        assert_eq!(name("MainThread", "node\0app.mjs\0", node), "node");
        assert_eq!(name("node", "/opt/bin/node\0app.mjs\0", node), "node");
        let python = Path::new("/usr/bin/python3.11");
        assert_eq!(name("datasette", "/v/bin/python\0/v/bin/datasette\0serve\0", python), "datasette");
        assert_eq!(name("python3", "python3\0app.py\0", python), "python3");
        assert_eq!(name("app", "", Path::new("")), "app");
    }
}
