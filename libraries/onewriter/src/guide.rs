//! How to move an application from another library, and how to test, migrate and serve with this one.
//!
//! # From r2d2 or deadpool with rusqlite
//!
//! A pool of connections that all write becomes one handle, which is cloned freely.
//!
//! | before | now |
//! |---|---|
//! | `pool.get()?.execute(sql, params![a, b])` | `db.execute(sql, (a, b))` |
//! | `conn.transaction()?; …; tx.commit()` | `db.write(\|tx\| …)`: committed if it returns `Ok` |
//! | `tx.savepoint()?` | the same, with [`Tx::savepoint`](crate::Tx::savepoint) |
//! | `pool.get()?.query_row(…)` | `db.query_row(…)` |
//! | `object.interact(\|conn\| …).await??` (deadpool) | `db.write_async(\|tx\| …).await?`, `db.read_async(\|c\| …).await?` |
//! | a loop that retries `SQLITE_BUSY` | nothing: writers wait in the queue, in order |
//! | `busy_timeout`, `journal_mode`, `synchronous` | [`Options`](crate::Options); other PRAGMAs in `on_writer`, `on_reader` |
//! | a pool timeout | [`Options::timeout`](crate::Options::timeout) |
//!
//! Parameters must be tuples or arrays, since they may go to another thread; in closures `params!` works as before.
//!
//! # From tokio-rusqlite or async-sqlite
//!
//! `conn.call(|conn| …).await` is `db.write_async(|tx| …).await` or `db.read_async(|c| …).await`, and reads no longer
//! wait for writes. A transaction of one's own inside of it goes: each closure is one. `conn.close().await` is
//! `db.close_async().await`.
//!
//! # From sqlx
//!
//! `pool.begin()` with awaits between the statements has no counterpart: a transaction that is open while a task waits
//! keeps every other writer waiting. Collect what the statements need first, and run them in one closure. `query!` checks
//! SQL when the program is compiled; here a test that runs each statement on [`Options::temporary`](crate::Options::temporary)
//! does. sqlx and rusqlite may want different versions of `libsqlite3-sys`, of which a program can have only one:
//! `cargo tree -i libsqlite3-sys` tells. Two copies of SQLite in one process must never open the same file.
//!
//! # Migrations
//!
//! ```
//! use onewriter::{Error, Options};
//!
//! const STEPS: [&str; 2] = [
//!     "CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT NOT NULL)",
//!     "ALTER TABLE note ADD COLUMN made INTEGER NOT NULL DEFAULT 0",
//! ];
//!
//! let db = Options::temporary()?.open()?;
//! db.exclusive(|connection| {
//!     let tx = connection.transaction()?;
//!     let done: u32 = tx.query_row("PRAGMA user_version", [], |row| row.get(0))?;
//!     for (version, step) in (1_u32..).zip(STEPS).skip(done as usize) {
//!         tx.execute_batch(step)?;
//!         tx.pragma_update(None, "user_version", version)?;
//!     }
//!     Ok::<_, Error>(tx.commit()?)
//! })?;
//! # Ok::<_, Error>(())
//! ```
//!
//! The connection is a plain one, so the crates for migrations take it as well.
//!
//! # Tests
//!
//! [`Options::temporary`](crate::Options::temporary) is a database of its own for each test, without syncs, and removed
//! with its last handle.
//!
//! # Services
//!
//! Keep a clone of the handle in the state of the router, and call the asynchronous methods. Give requests a limit
//! ([`Database::with_timeout`](crate::Database::with_timeout)), and the database some too: `max_queue`, `max_read`,
//! `max_log`. At the end of the process, after the last request, call
//! [`close_async`](crate::Database::close_async). Two processes may have the file open while one replaces the other.
//!
//! # Speed
//!
//! - What writes share is bound by their SQL, in one thread: prepare with `prepare_cached`, and keep closures short.
//! - One statement by [`execute`](crate::Database::execute), and closures that may run again by
//!   [`write_repeatable`](crate::Database::write_repeatable), need no savepoint.
//! - `RETURNING`, `IN (1, 2)` and some sorts open a temporary table at each execution. A `SELECT` and an `UPDATE` in one
//!   closure are as atomic as `UPDATE … RETURNING`, and in hot closures faster. See also
//!   [`allocate_pages_singly`](crate::allocate_pages_singly).
//! - [`Durability::Normal`](crate::Durability::Normal) syncs only at checkpoints. Compare like with like: the default here
//!   is `FULL`, that of several other libraries is not.
