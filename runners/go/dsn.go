package main

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// inspectDSN opens connections by a data source name and tries an upgrade on the first two of them. Nothing is added to
// what the driver does, so that the connections are those of an application with this name.
func inspectDSN(driver *Driver, request *Inspect) (*Inspection, error) {
	if driver.OpenDSN == nil {
		return nil, fmt.Errorf("driver `%s` opens no SQLite database by a data source name (`dsn`)", driver.Name)
	}
	client, err := driver.OpenDSN(*request.DSN, request.Options, request.Connections)
	if err != nil {
		return nil, err
	}
	answer, err := inspectClient(client, request)
	return answer, errors.Join(err, client.Close())
}

func inspectClient(client Client, request *Inspect) (*Inspection, error) {
	answer := &Inspection{Connections: []ConnectionSettings{}}
	var open []Session
	for range request.Connections {
		session, err := client.Session()
		if err != nil {
			return nil, err
		}
		defer session.Close()
		open = append(open, session)
		for _, setting := range request.Settings {
			if err := session.Script([]string{setting.SQL}); err != nil {
				return nil, err
			}
		}
		settings, err := session.Settings(request.ReadBack)
		if err != nil {
			return nil, err
		}
		answer.Connections = append(answer.Connections, ConnectionSettings{0, "connection", settings})
	}
	if len(open) < 2 {
		return answer, nil
	}
	var err error
	// Connections with a shared cache can wait for a table without end.
	if !strings.Contains(*request.DSN, "cache=shared") {
		if answer.Upgrade, err = upgrade(open[0], open[1]); err != nil {
			return nil, fmt.Errorf("the trial of an upgrade: %w", err)
		}
	}
	answer.Replaced, err = replaced(client, open[0], request.ReadBack)
	return answer, err
}

// The statements of the trial. The first INSERT violates the constraint in a database in memory, which has no file.
const (
	upgradeTable = "CREATE TABLE litelab_upgrade(a CHECK (a <> ''))"
	upgradeFile  = "INSERT INTO litelab_upgrade SELECT file FROM pragma_database_list WHERE name = 'main'"
	upgradeRead  = "SELECT count(*) FROM litelab_upgrade"
	upgradeWrite = "INSERT INTO litelab_upgrade VALUES (1)"
	upgradeDrop  = "DROP TABLE litelab_upgrade"
)

// upgrade reads in a transaction of a, writes through b, and then writes in the transaction of a. It returns the outcome
// as in the protocol, or nothing for a database that is read-only or in memory.
func upgrade(a, b Session) (outcome string, err error) {
	script := func(session Session, sql string) error { return session.Script([]string{sql}) }
	if err := script(b, upgradeTable); err != nil {
		if isCode(err, "SQLITE_READONLY") {
			return "", nil
		}
		return "", err
	}
	defer func() { err = errors.Join(err, script(b, upgradeDrop)) }()
	if err := script(b, upgradeFile); err != nil {
		if isCode(err, "SQLITE_CONSTRAINT") {
			return "", nil
		}
		return "", err
	}
	// SQLite calls no busy handler for an upgrade; a write that is none waits for at most a second.
	if err := errors.Join(script(a, "PRAGMA busy_timeout = 1000"), script(b, "PRAGMA busy_timeout = 0")); err != nil {
		return "", err
	}
	rollback, err := begin(a)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, rollback()) }()
	if err := script(a, upgradeRead); err != nil {
		return "", err
	}
	if err := script(b, "BEGIN IMMEDIATE"); isLocked(err) {
		return "immediate", nil
	} else if err != nil {
		return "", err
	}
	// With a rollback journal the commit is refused while a reads, and the transaction stays open.
	if written := b.Script([]string{upgradeWrite, "COMMIT"}); written != nil {
		defer func() { err = errors.Join(err, script(b, "ROLLBACK")) }()
		if !isLocked(written) {
			return "", written
		}
	}
	if err := script(a, upgradeWrite); isLocked(err) {
		return "fails", nil
	} else if err != nil {
		return "", err
	}
	return "succeeds", nil
}

// begin starts a transaction as the driver's own call does, and returns the function that rolls it back.
func begin(session Session) (func() error, error) {
	if s, is := session.(*sqlSession); is {
		tx, err := s.conn.BeginTx(background, nil)
		if err != nil {
			return nil, err
		}
		return tx.Rollback, nil
	}
	return func() error { return session.Script([]string{"ROLLBACK"}) }, session.Script([]string{"BEGIN"})
}

// isCode returns whether an error has one of these primary codes of SQLite.
func isCode(err error, names ...string) bool {
	code, is := codeOf(err)
	has := func(name string) bool { return code == name || strings.HasPrefix(code, name+"_") }
	return is && slices.ContainsFunc(names, has)
}

func isLocked(err error) bool { return err != nil && isCode(err, "SQLITE_BUSY", "SQLITE_LOCKED") }

// replaced returns the settings of the connection that the pool opens after it has closed one as broken. It returns nil
// for a driver outside of database/sql.
func replaced(client Client, broken Session, names []string) (*ConnectionSettings, error) {
	pool, is := client.(sqlClient)
	if !is {
		return nil, nil
	}
	bad := broken.(*sqlSession).conn.Raw(func(any) error { return driver.ErrBadConn })
	if !errors.Is(bad, driver.ErrBadConn) {
		return nil, bad
	}
	session, err := pool.Session()
	if err != nil {
		return nil, err
	}
	defer session.Close()
	settings, err := session.Settings(names)
	return &ConnectionSettings{0, "replaced", settings}, err
}
