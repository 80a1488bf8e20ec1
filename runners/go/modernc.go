package main

import (
	"errors"
	"maps"
	"slices"

	"modernc.org/sqlite"
)

// modernc is SQLite's C code translated to Go. It does not wait for a lock unless it is told to.
var modernc = Driver{
	Name:   "modernc",
	Module: "modernc.org/sqlite",
	Open: func(database *Database, connection *Connection) (Client, error) {
		return openSQL(&sqlite.Driver{}, moderncKeys, database, patientFromTheStart(connection))
	},
	Code: func(err error) (string, bool) {
		var said *sqlite.Error
		if errors.As(err, &said) {
			return codeName(said.Code()), true
		}
		return "", false
	},
}

// moderncKeys are those of its DSN, as the documentation of its Driver.Open lists them.
const moderncKeys = "_auto_vacuum _busy_timeout _defensive _dqs _error_rc _fk _foreign_keys _inttotime _journal " +
	"_journal_mode _pragma _query_only _sync _synchronous _texttotime _time_format _time_integer_format _timeout " +
	"_timezone _txlock _vacuum"

// patientFromTheStart lets the settings before the busy timeout wait for a lock, as they do on the drivers that have a
// timeout by themselves: several processes that switch a database to WAL need it, and in an application's DSN the
// timeout comes first, too. What the settings then are is what stays; without a busy timeout among them so does none.
func patientFromTheStart(connection *Connection) *Connection {
	patient := *connection
	_, given := connection.Options["_busy_timeout"]
	if !given && slices.ContainsFunc(connection.Settings, func(s Setting) bool { return s.Name == "busy_timeout" }) {
		patient.Options = map[string]any{"_busy_timeout": 5000}
		maps.Copy(patient.Options, connection.Options)
	}
	return &patient
}
