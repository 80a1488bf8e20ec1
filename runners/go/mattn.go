package main

import (
	"errors"

	"github.com/mattn/go-sqlite3"
)

// mattn is SQLite's own C code through cgo. It runs `PRAGMA synchronous = NORMAL` on every open, whatever the journal
// mode, and waits up to 5 s for a lock.
var mattn = Driver{
	Name:   "mattn",
	Module: "github.com/mattn/go-sqlite3",
	Open: func(database *Database, connection *Connection) (Client, error) {
		return openSQL(&sqlite3.SQLiteDriver{}, mattnKeys, database, connection)
	},
	OpenDSN: byName("sqlite3"),
	Code: func(err error) (string, bool) {
		var said sqlite3.Error
		if errors.As(err, &said) {
			return codeName(int(said.ExtendedCode)), true
		}
		return "", false
	},
}

// mattnKeys are the DSN keys listed in its README.
const mattnKeys = "_auth _auth_crypt _auth_pass _auth_salt _auth_user _auto_vacuum _busy_timeout _cache_size " +
	"_case_sensitive_like _cslike _defer_fk _defer_foreign_keys _fk _foreign_keys _ignore_check_constraints _journal " +
	"_journal_mode _loc _locking _locking_mode _mutex _query_only _recursive_triggers _rt _secure_delete " +
	"_stmt_cache_size _sync _synchronous _timeout _txlock _vacuum _writable_schema"
