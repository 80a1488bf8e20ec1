package main

import (
	"slices"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// ncrucesDirect is the SQLite of ncruces through the module's own interface, close to SQLite's C interface and without
// database/sql. By default it does not wait for a lock.
var ncrucesDirect = Driver{
	Name:   "ncruces-direct",
	Module: ncruces.Module,
	Open: func(database *Database, connection *Connection) (Client, error) {
		if database.Kind == "memory" && database.Shared {
			return nil, errNoSharedCache
		}
		// As for modernc, the settings before the busy timeout also wait for a lock.
		var patience time.Duration
		if slices.ContainsFunc(connection.Settings, func(s Setting) bool { return s.Name == "busy_timeout" }) {
			patience = 5 * time.Second
		}
		open := func() (rawConn, error) {
			conn, err := sqlite3.Open(dsn(database, connection.Options))
			if err == nil {
				err = conn.BusyTimeout(patience)
			}
			return directConn{conn}, err
		}
		return &rawClient{open: open, settings: connection.Settings}, refuseUnknown(connection.Options, "_pragma "+uriKeys)
	},
	OpenDSN: func(dsn string, options map[string]any, _ int) (Client, error) {
		open := func() (rawConn, error) {
			conn, err := sqlite3.Open(dsn)
			return directConn{conn}, err
		}
		return &rawClient{open: open}, refuseUnknown(options, "")
	},
	Code: ncruces.Code,
}

type directConn struct{ *sqlite3.Conn }

func (c directConn) autocommit() bool { return c.GetAutocommit() }
func (c directConn) changes() int64   { return c.Changes() }
func (c directConn) close() error     { return c.Close() }

// run does the same as the module's own Conn.BeginImmediate.
func (c directConn) run(sql string, _ bool) error { return c.Exec(sql) }

func (c directConn) prepare(sql string, _ bool) (rawStmt, error) {
	stmt, _, err := c.Prepare(sql)
	if err != nil {
		return nil, err
	}
	return &directStmt{stmt, make([]any, stmt.ColumnCount())}, nil
}

type directStmt struct {
	stmt  *sqlite3.Stmt
	cells []any // the columns of a row
}

func (s *directStmt) parameters() int { return s.stmt.BindCount() }
func (s *directStmt) reset() error    { return s.stmt.Reset() }
func (s *directStmt) close() error    { return s.stmt.Close() }

func (s *directStmt) columns() (names []string) {
	for i := range s.cells {
		names = append(names, s.stmt.ColumnName(i))
	}
	return names
}

func (s *directStmt) bind(slots, yielded []Value) (err error) {
	for i := 0; i < len(slots) && err == nil; i++ {
		switch value := slots[i].bound(yielded); value.Kind {
		case Integer:
			err = s.stmt.BindInt64(i+1, value.Integer)
		case Real:
			err = s.stmt.BindFloat(i+1, value.Real)
		case Text:
			err = s.stmt.BindText(i+1, value.Text)
		default:
			err = s.stmt.BindNull(i + 1)
		}
	}
	return err
}

func (s *directStmt) next() (bool, error) { return s.stmt.Step(), s.stmt.Err() }

// read fetches all columns in one call into the WebAssembly.
func (s *directStmt) read(row []Value) error {
	err := s.stmt.Columns(s.cells...)
	for i, cell := range s.cells {
		row[i] = valueOf(cell)
	}
	return err
}
