//! What programs and libraries contain: copies of SQLite, modules of Go, the language.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::proc_file;

/// Largest program or library that is searched, in bytes.
const LARGEST_IMAGE: u64 = 512 << 20;
/// Number of bytes of it that are read at a time. A watch that runs as a service has little memory.
const WINDOW: usize = 4 << 20;
/// Number of bytes that are searched again with the next ones, a multiple of 16: more than a list of modules has.
const OVERLAP: usize = 1 << 20;
/// Start of the section `.go.buildinfo` (`debug/buildinfo` of Go).
const GO: &[u8] = b"\xff Go buildinf:";
/// Path of Rust's standard library in its own panic messages.
const RUST: &[u8] = b"/rustc/";
/// Length of the part of a source id that tells releases apart: date, time, and eight digits of the hash.
const SAME: usize = 28;
/// Length of a source id at the most: date, time, and the digits of a SHA-3 hash.
const LONGEST: usize = 20 + 64;

/// A copy of SQLite in a program or library, by the text of its source id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SqliteSource {
    /// File name of the program or library.
    pub image: String,
    /// Date, time and hash of the source (<https://sqlite.org/c3ref/c_source_id.html>).
    pub source_id: String,
}

/// A module in a program in Go.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct GoModule {
    /// Path: `modernc.org/sqlite`.
    pub path: String,
    /// Version: `v1.61.1`.
    pub version: String,
}

/// Programs and libraries, each file read once.
#[derive(Debug, Default)]
pub(crate) struct Images(BTreeMap<Key, Image>);

/// Device, inode and time of the last change (s, ns): one path is another file in each container, and after an update.
type Key = (u64, u64, i64, i64);

/// Key of a regular file; opening any other could wait without end.
fn key(path: &Path) -> Option<Key> {
    let about = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    Some((about.dev(), about.ino(), about.mtime(), about.mtime_nsec()))
}

/// What a program or library contains.
#[derive(Debug, Default)]
struct Image {
    source_ids: Vec<String>,
    modules: Vec<GoModule>,
    language: Option<&'static str>,
}

impl Images {
    /// Copies of SQLite and modules of the process in `directory`.
    pub(crate) fn of(&mut self, directory: &Path) -> (Vec<SqliteSource>, Vec<GoModule>) {
        let program = std::fs::read_link(directory.join("exe")).ok();
        let mut paths = executables(&proc_file(directory.join("maps")).unwrap_or_default());
        paths.extend(program.iter().filter(|program| !paths.contains(program)).cloned().collect::<Vec<_>>());
        let (mut found, mut modules) = (Vec::new(), Vec::new());
        for path in paths {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let name = name.trim_end_matches(" (deleted)").to_owned();
            let inside = if program.as_ref() == Some(&path) {
                // The link opens the program also after its file was replaced.
                directory.join("exe")
            } else {
                // The path is that of the process's own root, which differs in a container.
                directory.join("root").join(path.strip_prefix("/").unwrap_or(&path))
            };
            let Some(key) = key(&inside) else { continue };
            let image = self.0.entry(key).or_insert_with(|| Image::of(&inside));
            let copies = image.source_ids.iter();
            found.extend(copies.map(|id| SqliteSource { image: name.clone(), source_id: id.clone() }));
            modules.extend(image.modules.iter().cloned());
        }
        found.sort();
        found.dedup();
        (found, modules)
    }

    /// Language of the program of the process in `directory`, which was read before: `go` or `rust`.
    pub(crate) fn language(&self, directory: &Path) -> Option<&'static str> {
        self.0.get(&key(&directory.join("exe"))?)?.language
    }
}

impl Image {
    /// Reads a file; one that cannot be read contains nothing.
    fn of(path: &Path) -> Self {
        File::open(path).and_then(Self::read).unwrap_or_default()
    }

    fn read(file: impl Read) -> io::Result<Self> {
        let mut file = file.take(LARGEST_IMAGE);
        let (mut image, mut is_rust, mut is_go) = (Self::default(), false, false);
        let mut window = Vec::with_capacity(OVERLAP + WINDOW);
        loop {
            let is_last = file.by_ref().take(WINDOW as u64).read_to_end(&mut window)? < WINDOW;
            image.source_ids.extend(source_ids(&window, is_last));
            if image.modules.is_empty() {
                image.modules = modules(&window).unwrap_or_default();
            }
            is_rust |= memchr::memmem::find(&window, RUST).is_some();
            is_go |= memchr::memmem::find(&window, GO).is_some();
            if is_last {
                break;
            }
            window.drain(..window.len().saturating_sub(OVERLAP));
        }
        image.source_ids.sort();
        // FTS5 has the id of its own source, which differs in the last digits where a distribution has changed the core.
        image.source_ids.dedup_by(|one, other| one[..SAME] == other[..SAME]);
        image.language = if is_rust { Some("rust") } else { is_go.then_some("go") };
        Ok(image)
    }
}

/// Files with code in the text of a `/proc/PID/maps` file, each once.
fn executables(maps: &str) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for line in maps.lines() {
        // `7f…-7f… r-xp 00000000 08:02 1234  /usr/lib/libsqlite3.so.0`
        let executable = line.split_whitespace().nth(1).is_some_and(|permissions| permissions.contains('x'));
        let path = line.find('/').map(|at| PathBuf::from(&line[at..]));
        if let Some(path) = path.filter(|_| executable)
            && !paths.contains(&path)
        {
            paths.push(path);
        }
    }
    paths
}

/// Modules in the build information of a program in Go (`debug/buildinfo`); `None` in any other file.
fn modules(bytes: &[u8]) -> Option<Vec<GoModule>> {
    /// Length of the header, at whose 15th byte bit 1 tells that the texts follow it.
    const HEADER: usize = 32;
    const INLINE: u8 = 2;
    // The linker aligns the section; elsewhere the text is that of a program that looks for it.
    let header = &bytes[memchr::memmem::find_iter(bytes, GO).find(|at| at % 16 == 0)?..];
    let texts = header.get(HEADER..).filter(|_| header[GO.len() + 1] & INLINE != 0)?;
    let (_version, rest) = text(texts)?;
    let (list, _) = text(rest)?;
    let module = |line: &str| {
        let mut words = line.strip_prefix("dep\t")?.split('\t');
        Some(GoModule { path: words.next()?.to_owned(), version: words.next()?.to_owned() })
    };
    // A mark of 16 bytes stands before and after the list, not in UTF-8.
    Some(String::from_utf8_lossy(list).lines().filter_map(module).collect())
}

/// A text behind its length (an unsigned varint of `encoding/binary`), and what follows it.
fn text(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut length = 0usize;
    for (at, byte) in bytes.iter().enumerate().take(4) {
        length |= usize::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return bytes[at + 1..].split_at_checked(length);
        }
    }
    None
}

/// SQLite source ids in a part of a file. One that could end behind it is left to the next part.
fn source_ids(bytes: &[u8], is_last: bool) -> impl Iterator<Item = String> {
    let end = if is_last { bytes.len() } else { bytes.len().saturating_sub(LONGEST) };
    memchr::memmem::find_iter(bytes, b"20")
        .take_while(move |at| *at < end)
        .filter_map(move |at| source_id(&bytes[at..]))
}

/// The source id at the start of `bytes`: `2026-03-13 10:38:09` and a hash of 40 (SHA-1) or 64 hexadecimal digits.
fn source_id(bytes: &[u8]) -> Option<String> {
    const DATE: &[u8] = b"dddd-dd-dd dd:dd:dd ";
    let (date, rest) = bytes.split_at_checked(DATE.len())?;
    let fits = |(pattern, byte): (&u8, &u8)| if *pattern == b'd' { byte.is_ascii_digit() } else { pattern == byte };
    if !DATE.iter().zip(date).all(fits) {
        return None;
    }
    let digits = rest.iter().take(64).take_while(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')).count();
    // A build of modified sources ends in `alt1` or the like, in place of the last digits.
    let length = if digits >= 60 { 64 } else { Some(digits).filter(|digits| *digits == 40)? };
    let hash = rest.get(..length)?;
    hash.iter()
        .all(u8::is_ascii_alphanumeric)
        .then(|| String::from_utf8_lossy(&bytes[..DATE.len() + length]).into_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::Index;

    use super::*;
    use crate::testkit::changed_text;

    const MAPS: &str = "7f1c2a000000-7f1c2a021000 r-xp 00000000 08:02 1234    /usr/lib/libsqlite3.so.0.8.6\n\
                        7f1c2a021000-7f1c2a022000 rw-p 00000000 00:00 0 \n\
                        7ffc0-7ffc1 r-xp 00000000 00:00 0    [vdso]\n\
                        55d0-55d1 r-xp 00000000 08:02 77    /opt/app (deleted)\n";

    proptest! {
        #[test]
        fn changed_maps_never_panic(
            edits in proptest::collection::vec((any::<Index>(), prop_oneof![any::<char>(), prop::char::range('\t', '9')]), 0..6),
            cut in any::<Index>(),
        ) {
            let files = executables(&changed_text(MAPS, &edits, cut));
            prop_assert!(files.len() <= 4, "{files:?}");
        }

        #[test]
        fn bytes_of_a_program_never_panic(before in any::<Vec<u8>>(), cut in any::<Index>(), edit in any::<(Index, u8)>()) {
            let mut bytes = [&before[..], b"2026-03-13 10:38:09 737ae4a34738ffa0c3ff7f9bb18df914dd1cad163f28fd6b6e114a344fe6d618"].concat();
            let at = edit.0.index(bytes.len());
            bytes[at] = edit.1;
            bytes.truncate(cut.index(bytes.len() + 1));
            let mut go = build_information(MODULES);
            let at = edit.0.index(go.len());
            go[at] = edit.1;
            go.truncate(cut.index(2 * go.len()));
            prop_assert!(modules(&go).unwrap_or_default().len() <= 3);
            for at in 0..bytes.len() {
                if let Some(id) = source_id(&bytes[at..]) {
                    prop_assert!(id.len() >= SAME, "{id}");
                }
            }
        }
    }

    /// Build information as the linker of Go writes it, with a module in use and one that replaces another.
    fn build_information(list: &str) -> Vec<u8> {
        let mut bytes = b"\x7fELF............".to_vec();
        bytes.extend_from_slice(GO);
        bytes.extend_from_slice(b"\x08\x02");
        bytes.resize(bytes.len() + 16, 0);
        bytes.extend_from_slice(b"\x08go1.26.8");
        let list = [&[0x30; 16][..], list.as_bytes(), &[0xf9; 16]].concat();
        bytes.extend_from_slice(&[(list.len() & 0x7f) as u8 | 0x80, (list.len() >> 7) as u8]);
        bytes.extend_from_slice(&list);
        bytes
    }

    const MODULES: &str = "path\tapp\nmod\tapp\t(devel)\t\ndep\tmodernc.org/sqlite\tv1.54.0\th1:abc=\n\
                           dep\tgithub.com/mattn/go-sqlite3\tv1.14.36\n=>\t./local\t(devel)\t\nbuild\t-compiler=gc\n";

    #[test]
    fn modules_of_a_program_in_go() {
        let found = modules(&build_information(MODULES)).unwrap();
        let found: Vec<_> = found.iter().map(|module| (module.path.as_str(), module.version.as_str())).collect();
        assert_eq!(found, [("modernc.org/sqlite", "v1.54.0"), ("github.com/mattn/go-sqlite3", "v1.14.36")]);
        assert_eq!(modules(b"\x7fELF"), None);
    }

    #[test]
    fn programs_and_libraries_are_those_with_code() {
        let files = executables(MAPS);
        assert_eq!(files, ["/usr/lib/libsqlite3.so.0.8.6", "/opt/app (deleted)"].map(PathBuf::from));
    }

    #[test]
    fn a_source_id_is_found_among_other_bytes() {
        let id = format!("2026-03-13 10:38:09 {}", "0123456789abcdef".repeat(4));
        let text = format!("\0\x01202026-03-13 10:38:0{id}\0 2026-03-13 10:38:09 no hash");
        assert_eq!(source_ids(text.as_bytes(), true).collect::<Vec<_>>(), [id]);
    }

    #[test]
    fn what_lies_across_two_parts_of_a_file_is_found_once_and_whole() {
        let id = format!("2026-03-13 10:38:09 {}", "0123456789abcdef".repeat(4));
        // The parts meet within the date, behind the 40th digit, which would end an older id, and before and behind it.
        for before in [0, 7, 20 + 40, 20 + 63, id.len()] {
            let mut bytes = vec![0; WINDOW - before];
            bytes.extend_from_slice(id.as_bytes());
            // The list of modules is longer than what is left of the second part.
            bytes.resize(2 * WINDOW - 64, 0);
            bytes.extend_from_slice(&build_information(MODULES));
            let image = Image::read(bytes.as_slice()).unwrap();
            assert_eq!((image.source_ids, image.modules.len(), image.language), (vec![id.clone()], 2, Some("go")));
        }
    }
}
