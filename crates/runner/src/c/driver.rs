//! Declarations of `c/driver.c`, which documents the contract of each function.

use std::ffi::{c_char, c_int};

use rusqlite::ffi;

/// The type `Connection` of driver.c.
#[repr(C)]
pub struct RawConnection {
    _opaque: [u8; 0],
}

/// The type `Value` of driver.c.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Value {
    pub kind: c_int,
    pub is_volatile: c_int,
    pub length: usize,
    pub content: Content,
}

/// The union inside `Value`.
#[derive(Clone, Copy)]
#[repr(C)]
pub union Content {
    pub integer: i64,
    pub real: f64,
    pub bytes: *const u8,
}

/// The type `Rows` of driver.c.
#[repr(C)]
pub struct Rows {
    pub values: *mut Value,
    pub count: usize,
    pub columns: c_int,
}

unsafe extern "C" {
    pub fn litelab_c_open(name: *const c_char, connection: *mut *mut RawConnection) -> c_int;
    pub fn litelab_c_close(connection: *mut RawConnection);
    pub fn litelab_c_message(connection: *const RawConnection) -> *const c_char;
    pub fn litelab_c_prepare(
        connection: *mut RawConnection,
        sql: *const c_char,
        often: c_int,
        statement: *mut *mut ffi::sqlite3_stmt,
    ) -> c_int;
    pub fn litelab_c_exec(connection: *mut RawConnection, sql: *const c_char) -> c_int;
    pub fn litelab_c_prepare_brackets(connection: *mut RawConnection) -> c_int;
    pub fn litelab_c_begin(connection: *mut RawConnection, kind: c_int) -> c_int;
    pub fn litelab_c_commit(connection: *mut RawConnection) -> c_int;
    pub fn litelab_c_rollback(connection: *mut RawConnection) -> c_int;
    pub fn litelab_c_execute(statement: *mut ffi::sqlite3_stmt, values: *const Value, count: c_int) -> c_int;
    pub fn litelab_c_step(statement: *mut ffi::sqlite3_stmt) -> c_int;
    pub fn litelab_c_reset(statement: *mut ffi::sqlite3_stmt) -> c_int;
    pub fn litelab_c_run(
        connection: *mut RawConnection,
        statement: *mut ffi::sqlite3_stmt,
        values: *const Value,
        count: c_int,
        changed: *mut i64,
    ) -> c_int;
    pub fn litelab_c_read(statement: *mut ffi::sqlite3_stmt, row: *mut Value, columns: c_int) -> c_int;
    pub fn litelab_c_fetch_all(statement: *mut ffi::sqlite3_stmt, rows: *mut Rows) -> c_int;
    pub fn litelab_c_free_rows(rows: *mut Rows);
}
