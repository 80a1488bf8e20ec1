package main

import (
	"errors"
	"maps"
	"slices"

	"modernc.org/sqlite"
)

// modernc is SQLite's C code translated to Go. By default it does not wait for a lock.
var modernc = Driver{
	Name:   "modernc",
	Module: "modernc.org/sqlite",
	Open: func(database *Database, connection *Connection) (Client, error) {
		return openSQL(&sqlite.Driver{}, moderncKeys, database, patientFromTheStart(connection))
	},
	OpenDSN: byName("sqlite"),
	Code: func(err error) (string, bool) {
		var said *sqlite.Error
		if errors.As(err, &said) {
			return codeName(said.Code()), true
		}
		return "", false
	},
}

// moderncKeys are the DSN keys listed in the documentation of its Driver.Open.
const moderncKeys = "_auto_vacuum _busy_timeout _defensive _dqs _error_rc _fk _foreign_keys _inttotime _journal " +
	"_journal_mode _pragma _query_only _sync _synchronous _texttotime _time_format _time_integer_format _timeout " +
	"_timezone _txlock _vacuum"

// patientFromTheStart makes the settings before the busy timeout wait for a lock, as with the drivers that have a
// timeout by default. Several processes that switch a database to WAL need this, and in an application's DSN the
// timeout comes first too. The settings then determine the timeout for the trial. Without a busy timeout among them,
// the options remain unchanged.
func patientFromTheStart(connection *Connection) *Connection {
	patient := *connection
	_, given := connection.Options["_busy_timeout"]
	if !given && slices.ContainsFunc(connection.Settings, func(s Setting) bool { return s.Name == "busy_timeout" }) {
		patient.Options = map[string]any{"_busy_timeout": 5000}
		maps.Copy(patient.Options, connection.Options)
	}
	return &patient
}
