package main

import (
	"errors"

	"modernc.org/sqlite"
)

// modernc is SQLite's C code translated to Go. It does not wait for a lock unless it is told to.
var modernc = Driver{
	Name:   "modernc",
	Module: "modernc.org/sqlite",
	Open: func(database *Database, connection *Connection) (Client, error) {
		return openSQL(&sqlite.Driver{}, moderncKeys, database, connection)
	},
	Code: func(err error) (int, bool) {
		var said *sqlite.Error
		if errors.As(err, &said) {
			return said.Code(), true
		}
		return 0, false
	},
}

// moderncKeys are those of its DSN, as the documentation of its Driver.Open lists them.
const moderncKeys = "_auto_vacuum _busy_timeout _defensive _dqs _error_rc _fk _foreign_keys _inttotime _journal " +
	"_journal_mode _pragma _query_only _sync _synchronous _texttotime _time_format _time_integer_format _timeout " +
	"_timezone _txlock _vacuum"
