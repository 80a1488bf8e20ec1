package main

import (
	"errors"
	"fmt"
	"slices"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// zombiezen is modernc's translation of SQLite with its own interface, close to SQLite's C interface. It switches a
// database to WAL on every open and waits for a lock without limit until a `PRAGMA busy_timeout`. SQLite is not aware
// of that wait and reports 0. Its SQLite is that of the modernc linked into the same program.
var zombiezen = Driver{
	Name:   "zombiezen",
	Module: "zombiezen.com/go/sqlite",
	Open: func(database *Database, connection *Connection) (Client, error) {
		flags, err := openFlags(connection)
		open := func() (rawConn, error) {
			conn, err := sqlite.OpenConn(zombiePath(database), flags)
			return zombieConn{conn}, said(err)
		}
		return &rawClient{open: open, settings: connection.Settings}, err
	},
	Pool: func(database *Database, connection *Connection, size int) (Pool, error) {
		flags, err := openFlags(connection)
		if err != nil {
			return nil, err
		}
		set := func(conn *sqlite.Conn) error { return runSettings(zombieConn{conn}, connection.Settings) }
		options := sqlitex.PoolOptions{Flags: flags, PoolSize: size, PrepareConn: set}
		pool, err := sqlitex.NewPool(zombiePath(database), options)
		return &zombiePool{pool, map[*sqlite.Conn]*zombieLease{}}, said(err)
	},
	OpenDSN: func(dsn string, options map[string]any, connections int) (Client, error) {
		// Settings with a journal mode would remove a default flag.
		flags, err := openFlags(&Connection{Options: options})
		if err != nil {
			return nil, err
		}
		pool, err := sqlitex.NewPool(dsn, sqlitex.PoolOptions{Flags: flags, PoolSize: connections})
		return &zombieClient{pool: &zombiePool{pool, map[*sqlite.Conn]*zombieLease{}}}, said(err)
	},
	Code: func(err error) (string, bool) {
		var e zombieError
		return codeName(int(sqlite.ErrCode(err))), errors.As(err, &e)
	},
}

// zombieError marks errors of this driver, which have no exported type.
type zombieError struct{ error }

func (e zombieError) Unwrap() error { return e.error }

func said(err error) error {
	if err == nil {
		return nil
	}
	return zombieError{err}
}

var flagNames = map[string]sqlite.OpenFlags{
	"read-only": sqlite.OpenReadOnly, "read-write": sqlite.OpenReadWrite, "create": sqlite.OpenCreate,
	"uri": sqlite.OpenURI, "memory": sqlite.OpenMemory, "shared-cache": sqlite.OpenSharedCache,
	"private-cache": sqlite.OpenPrivateCache, "wal": sqlite.OpenWAL,
}

// openFlags reads the option `flags`, a list of names. Default: the driver's flags (0), without its switch to WAL if
// the settings contain a journal mode: WAL would fix the page size before the settings.
func openFlags(connection *Connection) (flags sqlite.OpenFlags, err error) {
	if err := refuseUnknown(connection.Options, "flags"); err != nil {
		return 0, err
	}
	names, given := connection.Options["flags"].([]any)
	if !given && slices.ContainsFunc(connection.Settings, func(s Setting) bool { return s.Name == "journal_mode" }) {
		return sqlite.OpenReadWrite | sqlite.OpenCreate | sqlite.OpenURI, nil
	}
	for _, name := range names {
		flag, known := flagNames[fmt.Sprint(name)]
		if !known {
			return 0, fmt.Errorf("option `flags`: there is no `%v`", name)
		}
		flags |= flag
	}
	return flags, nil
}

func zombiePath(database *Database) string {
	if database.Kind == "memory" {
		return dsn(database, nil)
	}
	return database.Path
}

// zombiePool is sqlitex.Pool, with the session of each connection.
type zombiePool struct {
	pool   *sqlitex.Pool
	leases map[*sqlite.Conn]*zombieLease
}

type zombieLease struct {
	conn    *sqlite.Conn
	session *rawSession
	pool    *sqlitex.Pool
}

// Take opens a session on the first use of a connection. All connections are taken once before the workers start.
func (p *zombiePool) Take() (Lease, error) {
	conn, err := p.pool.Take(background)
	if err != nil {
		return nil, said(err)
	}
	lease := p.leases[conn]
	if lease == nil {
		lease = &zombieLease{conn, &rawSession{conn: zombieConn{conn}}, p.pool}
		p.leases[conn] = lease
	}
	return lease, nil
}

func (p *zombiePool) Close() error      { return said(p.pool.Close()) }
func (l *zombieLease) Session() Session { return l.session }
func (l *zombieLease) Give()            { l.pool.Put(l.conn) }

// zombieClient takes its connections from sqlitex.Pool.
type zombieClient struct {
	pool  *zombiePool
	taken []Lease
}

func (c *zombieClient) Session() (Session, error) {
	lease, err := c.pool.Take()
	if err != nil {
		return nil, err
	}
	c.taken = append(c.taken, lease)
	return lease.Session(), nil
}

// Close gives all connections back first, because the pool waits for them.
func (c *zombieClient) Close() error {
	for _, lease := range c.taken {
		lease.Give()
	}
	return c.pool.Close()
}

type zombieConn struct{ *sqlite.Conn }

func (c zombieConn) autocommit() bool { return c.AutocommitEnabled() }
func (c zombieConn) changes() int64   { return int64(c.Changes()) }
func (c zombieConn) close() error     { return said(c.Close()) }

// run takes a repeated statement from the connection's cache, as the driver's own sqlitex.Transaction does.
func (c zombieConn) run(sql string, again bool) error {
	if again {
		return said(sqlitex.Execute(c.Conn, sql, nil))
	}
	return said(sqlitex.ExecuteTransient(c.Conn, sql, nil))
}

func (c zombieConn) prepare(sql string, again bool) (rawStmt, error) {
	if again {
		stmt, err := c.Prepare(sql)
		return &zombieStmt{stmt, true}, said(err)
	}
	stmt, _, err := c.PrepareTransient(sql)
	return &zombieStmt{stmt, false}, said(err)
}

type zombieStmt struct {
	stmt *sqlite.Stmt
	kept bool // in the connection's cache, which finalizes it on close
}

func (s *zombieStmt) parameters() int { return s.stmt.BindParamCount() }
func (s *zombieStmt) reset() error    { return said(s.stmt.Reset()) }

func (s *zombieStmt) close() error {
	if s.kept {
		return nil
	}
	return said(s.stmt.Finalize())
}

func (s *zombieStmt) columns() []string {
	names := make([]string, s.stmt.ColumnCount())
	for i := range names {
		names[i] = s.stmt.ColumnName(i)
	}
	return names
}

// bind does not return errors; the next step does.
func (s *zombieStmt) bind(slots, yielded []Value) error {
	for i := range slots {
		switch value := slots[i].bound(yielded); value.Kind {
		case Integer:
			s.stmt.BindInt64(i+1, value.Integer)
		case Real:
			s.stmt.BindFloat(i+1, value.Real)
		case Text:
			s.stmt.BindText(i+1, value.Text)
		default:
			s.stmt.BindNull(i + 1)
		}
	}
	return nil
}

func (s *zombieStmt) next() (bool, error) {
	more, err := s.stmt.Step()
	return more, said(err)
}

func (s *zombieStmt) read(row []Value) error {
	for i := range row {
		switch s.stmt.ColumnType(i) {
		case sqlite.TypeInteger:
			row[i] = Value{Kind: Integer, Integer: s.stmt.ColumnInt64(i)}
		case sqlite.TypeFloat:
			row[i] = Value{Kind: Real, Real: s.stmt.ColumnFloat(i)}
		case sqlite.TypeText:
			row[i] = Value{Kind: Text, Text: s.stmt.ColumnText(i)}
		case sqlite.TypeBlob:
			s.stmt.ColumnBytes(i, make([]byte, s.stmt.ColumnLen(i)))
			row[i] = Value{Kind: Other}
		default:
			row[i] = Value{}
		}
	}
	return nil
}
