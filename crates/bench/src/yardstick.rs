//! Calls of the C loops (`c/bulk.c`).

use anyhow::{Result, ensure};
use std::ffi::{CString, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

unsafe extern "C" {
    fn bench_c_generate(path: *const c_char, rows: i64, batch: c_int, seed: u64) -> c_int;
    fn bench_c_verify(path: *const c_char, rows: *mut i64, mismatches: *mut i64) -> c_int;
}

/// litelab's hash for the C side, so that both sides hash with the same code.
///
/// # Safety
///
/// `message` points to 8 readable bytes, `digest` to 32 writable ones.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
unsafe extern "C" fn bench_sha256_of_8(message: *const u8, digest: *mut u8) {
    // SAFETY: required of the caller; arrays of bytes have no alignment.
    unsafe { *digest.cast::<[u8; 32]>() = litelab_bulk::sha256_of_8(&*message.cast::<[u8; 8]>()) }
}

/// Creates the database of `litelab generate sqlite3perf` with its default settings.
pub fn generate(path: &Path, rows: u64, batch: u64, seed: u64) -> Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: the path ends with a NUL and outlives the call, which keeps no pointer.
    let code = unsafe { bench_c_generate(path.as_ptr(), rows.try_into()?, batch.try_into()?, seed) };
    ensure!(code == 0, "the C loop failed with SQLite's code {code}");
    Ok(())
}

/// Returns the number of rows read and of rows that are wrong.
pub fn verify(path: &Path) -> Result<(u64, u64)> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    let (mut rows, mut mismatches) = (0, 0);
    // SAFETY: as above; both integers outlive the call.
    let code = unsafe { bench_c_verify(path.as_ptr(), &raw mut rows, &raw mut mismatches) };
    ensure!(code == 0, "the C loop failed with SQLite's code {code}");
    Ok((rows.try_into()?, mismatches.try_into()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bulk::{NEVER, options};
    use litelab_bulk::{GenerateOptions, VerifyOptions};

    /// The yardstick is valid only if it does the same work.
    #[test]
    fn both_sides_make_the_same_rows_and_find_the_same_faults() {
        let folder = tempfile::tempdir().expect("a folder");
        let (ours, theirs) = (folder.path().join("ours.db"), folder.path().join("theirs.db"));
        let options = GenerateOptions { seed: 42, batch: 300, ..options(&ours, 10_001).expect("options") };
        litelab_bulk::generate(&options, &mut |_| {}, &NEVER).expect("made");
        generate(&theirs, 10_001, 300, 42).expect("made");
        assert!(crate::bulk::same_content(&ours, &theirs).expect("compared"));
        assert_eq!(verify(&ours).expect("verified"), (10_001, 0));

        let damage = "UPDATE bench SET hash = replace(hash, '0', '1') WHERE ID = 10000;
                      UPDATE bench SET rand = NULL WHERE ID = 5; UPDATE bench SET rand = 'x' WHERE ID = 6";
        rusqlite::Connection::open(&theirs).and_then(|conn| conn.execute_batch(damage)).expect("damaged");
        assert_eq!(verify(&theirs).expect("read"), (10_001, 3));
        let seen = litelab_bulk::verify(&VerifyOptions::new(&theirs), &mut |_| {}, &NEVER).expect("read");
        assert_eq!((seen.rows, seen.mismatch_count), (10_001, 3));
        assert!(!crate::bulk::same_content(&ours, &theirs).expect("compared"));
    }
}
