//! A file system of SQLite whose sync is replaced; the rest is the default one's.

#![expect(unsafe_code, reason = "SQLite's interface of file systems is in C")]

use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::{mem, ptr};

use rusqlite::{Connection, ffi};

/// Name of the file system in the parameter `vfs` of a URI.
pub const NAME: &str = "sync";

/// Called before each sync. An error code is returned in place of it.
static BEFORE: OnceLock<fn() -> Result<(), c_int>> = OnceLock::new();
/// Addresses of methods of the default file system, and of their copies with another `xSync`: files with locks and
/// files without have different ones, and the same `xSync`.
static METHODS: Mutex<Vec<(usize, usize)>> = Mutex::new(Vec::new());
static SYNC: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
static OPEN: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

type Sync = unsafe extern "C" fn(*mut ffi::sqlite3_file, c_int) -> c_int;

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, flags: c_int) -> c_int {
    if let Some(Err(code)) = BEFORE.get().map(|before| before()) {
        return code;
    }
    // SAFETY: `open` has stored the function before SQLite can call this one.
    unsafe { mem::transmute::<*mut c_void, Sync>(SYNC.load(Relaxed))(file, flags) }
}

type Open =
    unsafe extern "C" fn(*mut ffi::sqlite3_vfs, *const c_char, *mut ffi::sqlite3_file, c_int, *mut c_int) -> c_int;

/// Opens a file of the default file system, and replaces its methods.
unsafe extern "C" fn open(
    vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    // SAFETY: `register` has stored the function before SQLite can call this one, and the arguments are SQLite's.
    unsafe {
        let real = mem::transmute::<*mut c_void, Open>(OPEN.load(Relaxed));
        let code = real(vfs, name, file, flags, out);
        let inner = (*file).pMethods;
        if code == ffi::SQLITE_OK && !inner.is_null() {
            let mut known = METHODS.lock().unwrap_or_else(PoisonError::into_inner);
            let found = known.iter().find(|(of, _)| *of == inner.addr()).map(|(_, copy)| *copy);
            let copy = found.unwrap_or_else(|| {
                let mut methods = *inner;
                let real: Sync = mem::transmute_copy(&methods.xSync);
                SYNC.store(real as *mut c_void, Relaxed);
                methods.xSync = Some(sync);
                let copy = (&raw const *Box::leak(Box::new(methods))).expose_provenance();
                known.push((inner.addr(), copy));
                copy
            });
            (*file).pMethods = ptr::with_exposed_provenance(copy);
        }
        code
    }
}

/// Registers the file system, the first time with the function that is called before each sync.
pub fn register(before: fn() -> Result<(), c_int>) {
    BEFORE.get_or_init(|| {
        // SQLite initializes itself when a connection is opened.
        drop(Connection::open_in_memory());
        // SAFETY: the default file system exists, and its copy lives as long as the process.
        unsafe {
            let mut vfs = *ffi::sqlite3_vfs_find(ptr::null());
            OPEN.store(mem::transmute_copy(&vfs.xOpen), Relaxed);
            vfs.xOpen = mem::transmute_copy(&Some(open as Open));
            vfs.zName = c"sync".as_ptr();
            assert_eq!(ffi::sqlite3_vfs_register(Box::leak(Box::new(vfs)), 0), ffi::SQLITE_OK);
        }
        before
    });
}
