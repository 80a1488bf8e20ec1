package main

import (
	"errors"
	"fmt"
	"slices"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// zombiezen is modernc's translation of SQLite with an interface of its own, close to C's. It switches a database to
// WAL on every open, and waits for a lock without end until `PRAGMA busy_timeout` says otherwise; SQLite knows nothing
// of that wait and reads back 0. The SQLite inside is that of the modernc linked into the same program.
var zombiezen = Driver{
	Name:   "zombiezen",
	Module: "zombiezen.com/go/sqlite",
	Open: func(database *Database, connection *Connection) (Client, error) {
		flags, err := openFlags(connection)
		return &zombieClient{zombiePath(database), flags, connection.Pragmas, nil}, err
	},
	Pool: func(database *Database, connection *Connection, size int) (Pool, error) {
		flags, err := openFlags(connection)
		if err != nil {
			return nil, err
		}
		set := func(conn *sqlite.Conn) error { return runPragmas(conn, connection.Pragmas) }
		options := sqlitex.PoolOptions{Flags: flags, PoolSize: size, PrepareConn: set}
		pool, err := sqlitex.NewPool(zombiePath(database), options)
		return &zombiePool{pool, map[*sqlite.Conn]*zombieLease{}}, said(err)
	},
	Code: func(err error) (int, bool) {
		var e zombieError
		return int(sqlite.ErrCode(err)), errors.As(err, &e)
	},
}

// zombieError marks the errors of this driver, which have no exported type.
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

// openFlags reads the option `flags`, a list of names. Without it the driver's defaults stay (0), except that it is not
// asked to switch to WAL where the pragmas say what the journal mode is to be: WAL would fix the page size before them.
func openFlags(connection *Connection) (flags sqlite.OpenFlags, err error) {
	if err := refuseUnknown(connection.Options, "flags"); err != nil {
		return 0, err
	}
	names, given := connection.Options["flags"].([]any)
	if !given && slices.ContainsFunc(connection.Pragmas, func(p Pragma) bool { return p.Name == "journal_mode" }) {
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

func runPragmas(conn *sqlite.Conn, pragmas []Pragma) error {
	for _, p := range pragmas {
		sql := "PRAGMA " + p.Name + " = " + p.Value
		if err := sqlitex.ExecuteTransient(conn, sql, nil); err != nil {
			return fmt.Errorf("%s: %w", sql, said(err))
		}
	}
	return nil
}

type zombieClient struct {
	path    string
	flags   sqlite.OpenFlags
	pragmas []Pragma
	opened  []*sqlite.Conn
}

func (s *zombieClient) Session() (Session, error) {
	conn, err := sqlite.OpenConn(s.path, s.flags)
	if err != nil {
		return nil, said(err)
	}
	s.opened = append(s.opened, conn)
	return &zombieSession{conn: conn}, runPragmas(conn, s.pragmas)
}

func (s *zombieClient) Close() (err error) {
	for _, conn := range s.opened {
		err = errors.Join(err, said(conn.Close()))
	}
	return err
}

// zombiePool is sqlitex.Pool; a connection's session is found by the connection.
type zombiePool struct {
	pool   *sqlitex.Pool
	leases map[*sqlite.Conn]*zombieLease
}

type zombieLease struct {
	session *zombieSession
	pool    *sqlitex.Pool
}

// Take opens a session for a connection that is taken for the first time: all are, before the workers start.
func (p *zombiePool) Take() (Lease, error) {
	conn, err := p.pool.Take(background)
	if err != nil {
		return nil, said(err)
	}
	lease := p.leases[conn]
	if lease == nil {
		lease = &zombieLease{&zombieSession{conn: conn}, p.pool}
		p.leases[conn] = lease
	}
	return lease, nil
}

func (p *zombiePool) Close() error      { return said(p.pool.Close()) }
func (l *zombieLease) Session() Session { return l.session }
func (l *zombieLease) Give()            { l.pool.Put(l.session.conn) }
