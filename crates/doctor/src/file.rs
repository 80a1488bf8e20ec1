//! Facts about the database file and the files beside it, read as bytes.

use std::fs::Metadata;
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::time::SystemTime;

use litelab_observe::{
    DatabaseHeader, DatabaseHeaderError, FRAME_HEADER, FileSizes, JOURNAL_MAGIC, WalIndex, has_journal, open_regular,
    sidecar,
};
use rustix::fs::{Access, access};

use crate::defect;
use crate::facts::File;

/// Largest number of names in [`File::query_named`].
const MOST_NAMES: usize = 5;

/// Reads the facts. A missing permission is a fact too, so that this never fails.
#[must_use]
pub fn look(path: &Path) -> File {
    let mut file = File {
        name: path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned(),
        state: "database",
        ..File::default()
    };
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) => {
            file.state = if error.kind() == io::ErrorKind::PermissionDenied { "unreadable" } else { "missing" };
            return file;
        }
    };
    if metadata.is_dir() || !metadata.is_file() {
        let kind = metadata.file_type();
        let special = kind.is_fifo() || kind.is_socket() || kind.is_char_device() || kind.is_block_device();
        file.state = if special { "special" } else { "folder" };
        return file;
    }
    attributes(&mut file, path, &metadata);
    // SQLite keeps log and journal beside the target of a link.
    let real = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    file.state = content(&mut file, &real);
    beside(&mut file, &real);
    file
}

/// Size, permissions and links.
fn attributes(file: &mut File, path: &Path, metadata: &Metadata) {
    file.bytes = metadata.len();
    file.mode = Some(format!("{:o}", metadata.mode() & 0o7777));
    file.world_writable = metadata.mode() & 0o002 != 0;
    file.links = metadata.nlink();
    let ahead = metadata.modified().ok().and_then(|changed| changed.duration_since(SystemTime::now()).ok());
    file.ahead_seconds = ahead.unwrap_or_default().as_secs();
    file.symlink = std::fs::symlink_metadata(path).is_ok_and(|link| link.is_symlink());
    file.readable = access(path, Access::READ_OK).is_ok();
    file.writable = access(path, Access::WRITE_OK).is_ok();
    let folder = path.canonicalize().ok().and_then(|path| path.parent().map(Path::to_path_buf));
    file.folder_writable = folder.is_none_or(|folder| access(&folder, Access::WRITE_OK | Access::EXEC_OK).is_ok());
}

/// Whether the file has the attribute `C` of chattr(1); false where there are no such attributes.
#[cfg(target_os = "linux")]
fn is_in_place(open: &std::fs::File) -> bool {
    rustix::fs::ioctl_getflags(open).is_ok_and(|flags| flags.contains(rustix::fs::IFlags::NOCOW))
}

#[cfg(not(target_os = "linux"))]
fn is_in_place(_: &std::fs::File) -> bool {
    false
}

/// Fields of the header; returns the state.
fn content(file: &mut File, path: &Path) -> &'static str {
    let mut start = Vec::with_capacity(DatabaseHeader::BYTES);
    let read = open_regular(path).and_then(|open| {
        file.in_place = is_in_place(&open);
        open.take(DatabaseHeader::BYTES as u64).read_to_end(&mut start)
    });
    match read {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return "missing",
        Err(_) => return "unreadable",
    }
    let header = match DatabaseHeader::parse(&start) {
        Ok(header) => header,
        Err(DatabaseHeaderError::Short(0)) => return "empty",
        Err(DatabaseHeaderError::Short(_)) if start.starts_with(b"SQLite format 3\0") => return "truncated",
        Err(DatabaseHeaderError::Short(_) | DatabaseHeaderError::Magic) => return "foreign",
        Err(DatabaseHeaderError::PageSize(_)) => return "damaged",
    };
    let at = |offset: usize| -> u32 {
        start.get(offset..offset + 4).and_then(|four| four.try_into().ok()).map_or(0, u32::from_be_bytes)
    };
    file.wal = Some(header.wal);
    file.page_size = Some(header.page_size);
    file.pages = Some(header.pages);
    // The size in the header is valid only if it was written together with the change counter (file format, 1.3.8), and of
    // the file as it is only if neither a log nor a journal changes it.
    let valid = header.pages > 0 && at(24) == at(92);
    if valid && FileSizes::of(path).wal.unwrap_or_default() == 0 && !has_journal(path) {
        file.missing_bytes = Some((u64::from(header.pages) * u64::from(header.page_size)).saturating_sub(file.bytes));
    }
    if header.pages > 0 {
        file.free_share = Some(f64::from(header.free_pages) / f64::from(header.pages));
    }
    file.free_bytes = Some(u64::from(header.free_pages) * u64::from(header.page_size));
    file.auto_vacuum = Some(match (at(52), at(64)) {
        (0, _) => "none",
        (_, 0) => "full",
        _ => "incremental",
    });
    file.encoding = match at(56) {
        1 => Some("UTF-8"),
        2 => Some("UTF-16le"),
        3 => Some("UTF-16be"),
        _ => None,
    };
    file.user_version = Some(at(60).cast_signed());
    file.application_id = Some(at(68).cast_signed());
    file.written_by = (header.written_by > 0).then(|| version(header.written_by));
    file.writer_defects = file.written_by.as_deref().map(defect::of_sqlite).unwrap_or_default();
    "database"
}

/// `3054001` as `3.54.1`.
fn version(number: u32) -> String {
    format!("{}.{}.{}", number / 1_000_000, number / 1000 % 1000, number % 1000)
}

/// Whether there is a rollback journal with a header.
pub(crate) fn journal_hot(path: &Path) -> bool {
    let mut magic = [0; 8];
    let journal = open_regular(&sidecar(path, "-journal")).and_then(|mut open| open.read_exact(&mut magic));
    journal.is_ok() && magic == JOURNAL_MAGIC
}

/// Log, wal-index and journal, and files that are named after a query.
fn beside(file: &mut File, path: &Path) {
    let sizes = FileSizes::of(path);
    (file.wal_bytes, file.shm_bytes, file.journal_bytes) = (sizes.wal, sizes.shm, sizes.journal);
    if let Ok(Some(index)) = WalIndex::read(&sidecar(path, "-shm")) {
        file.wal_frames = Some(index.frames);
        let page = index.page_size.or(file.page_size).unwrap_or_default();
        file.backlog_bytes = Some(u64::from(index.backlog()) * (u64::from(page) + FRAME_HEADER));
        file.growth_bytes = Some((u64::from(index.database_pages) * u64::from(page)).saturating_sub(file.bytes));
    }
    file.journal_hot = journal_hot(path);
    let owner = |path: &Path| std::fs::metadata(path).ok().map(|metadata| metadata.uid());
    let mut others = ["-wal", "-shm"].into_iter().filter_map(|suffix| owner(&sidecar(path, suffix)));
    file.owners_differ = owner(path).is_some_and(|own| others.any(|other| other != own));
    let Some(folder) = path.parent() else { return };
    let query = format!("{}?", file.name);
    let names = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let mut named: Vec<String> = names
        .map(|name| name.to_string_lossy().into_owned())
        .filter(|name| name.starts_with(&query) || *name == format!("file:{}", file.name))
        .filter(|name| !["-wal", "-shm", "-journal"].iter().any(|suffix| name.ends_with(suffix)))
        .take(MOST_NAMES)
        .collect();
    named.sort();
    file.query_named = named;
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    #[test]
    fn what_the_header_says_is_what_the_pragmas_say() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.db");
        let connection = Connection::open(&path).unwrap();
        connection
            .execute_batch(
                "PRAGMA auto_vacuum = incremental; PRAGMA user_version = -7; PRAGMA application_id = 5; \
                 CREATE TABLE t(a); INSERT INTO t VALUES (zeroblob(50000)); DELETE FROM t",
            )
            .unwrap();
        let file = look(&path);
        assert_eq!((file.state, file.wal, file.page_size), ("database", Some(false), Some(4096)));
        assert_eq!(
            (file.auto_vacuum, file.user_version, file.application_id),
            (Some("incremental"), Some(-7), Some(5))
        );
        assert_eq!((file.encoding, file.missing_bytes), (Some("UTF-8"), Some(0)));
        assert_eq!(file.written_by.as_deref(), Some(rusqlite::version()));
        assert!(file.free_share.unwrap() > 0.5 && !file.journal_hot, "{file:?}");
        connection.execute_batch("PRAGMA journal_mode = WAL; INSERT INTO t VALUES (1)").unwrap();
        let file = look(&path);
        assert_eq!((file.wal, file.missing_bytes), (Some(true), None));
        assert!(file.wal_bytes.unwrap() > 0 && file.backlog_bytes.unwrap() > 0, "{file:?}");
        // The free pages have room for it.
        assert_eq!(file.growth_bytes, Some(0));
        connection.execute_batch("INSERT INTO t VALUES (zeroblob(200000))").unwrap();
        let pages: u32 = connection.query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
        let grown = look(&path);
        assert_eq!(grown.growth_bytes, Some(u64::from(pages) * 4096 - grown.bytes));
        assert!(grown.growth_bytes > Some(100_000), "{grown:?}");
    }

    #[test]
    fn the_files_of_a_link_lie_beside_its_target() {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (path, link) = (folder.path().join("app.db"), other.path().join("link.db"));
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t(a)").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let file = look(&link);
        assert!(file.symlink && file.wal_bytes.unwrap() > 0 && file.name == "link.db", "{file:?}");
    }

    #[test]
    fn a_time_of_change_may_lie_ahead() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(look(file.path()).ahead_seconds, 0);
        file.as_file().set_modified(SystemTime::now() + std::time::Duration::from_secs(7200)).unwrap();
        assert!((7000..=7200).contains(&look(file.path()).ahead_seconds));
    }

    #[test]
    fn what_is_no_database_has_a_state() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            look(&path).state
        };
        assert_eq!(at("empty", b""), "empty");
        assert_eq!(at("short", b"SQLite format 3\0abc"), "truncated");
        assert_eq!(at("other", &[7; 4096]), "foreign");
        assert_eq!(at("page", &[&b"SQLite format 3\0\x03\x03"[..], &[0; 100]].concat()), "damaged");
        assert_eq!(look(folder.path()).state, "folder");
        assert_eq!(look(&folder.path().join("none")).state, "missing");
        assert_eq!(look(Path::new("/dev/null")).state, "special");
    }

    #[test]
    fn a_cut_file_is_short_of_bytes_and_a_query_may_be_a_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.db");
        Connection::open(&path).unwrap().execute_batch("CREATE TABLE t(a); CREATE TABLE u(a)").unwrap();
        std::fs::write(folder.path().join("app.db?mode=ro"), "").unwrap();
        std::fs::File::options().write(true).open(&path).unwrap().set_len(8192).unwrap();
        let file = look(&path);
        assert_eq!((file.missing_bytes, file.query_named), (Some(4096), vec!["app.db?mode=ro".to_owned()]));
    }
}
