package main

import (
	"errors"
	"fmt"
	"slices"
)

// rawConn is a connection of a driver whose interface is close to SQLite's C interface. Such a driver implements
// rawConn and rawStmt and uses the Session implementation here, as the drivers of database/sql use that in
// statement.go.
type rawConn interface {
	// prepare compiles one statement; again reports whether it will be executed repeatedly. The caller closes it.
	prepare(sql string, again bool) (rawStmt, error)
	// run runs one statement to completion. With again, the driver may cache it.
	run(sql string, again bool) error
	autocommit() bool
	changes() int64
	close() error
}

// rawStmt is a compiled statement and the cursor over its rows.
type rawStmt interface {
	cursor
	parameters() int
	columns() []string
	bind(slots, yielded []Value) error // binds Value.bound of each slot
	// reset also returns the error of the execution since the last reset.
	reset() error
	close() error
}

// rawClient opens and configures connections.
type rawClient struct {
	open     func() (rawConn, error)
	settings []Setting
	opened   []rawConn
}

func (c *rawClient) Session() (Session, error) {
	conn, err := c.open()
	if err != nil {
		return nil, err
	}
	c.opened = append(c.opened, conn)
	return &rawSession{conn: conn}, runSettings(conn, c.settings)
}

func (c *rawClient) Close() (err error) {
	for _, conn := range c.opened {
		err = errors.Join(err, conn.close())
	}
	return err
}

func runSettings(conn rawConn, settings []Setting) error {
	for _, setting := range settings {
		if err := runOnce(conn, setting.SQL); err != nil {
			return err
		}
	}
	return nil
}

func runOnce(conn rawConn, sql string) error {
	if err := conn.run(sql, false); err != nil {
		return fmt.Errorf("%s: %w", sql, err)
	}
	return nil
}

type rawSession struct {
	conn       rawConn
	each       bool
	statements [][]rawStatement // by transaction and statement
}

type rawStatement struct {
	stmt   rawStmt // nil if compiled at each execution
	counts bool
	job    Job
}

func (s *rawSession) Close() (err error) {
	for _, statement := range slices.Concat(s.statements...) {
		if statement.stmt != nil {
			err = errors.Join(err, statement.stmt.close())
		}
	}
	return err
}

func (s *rawSession) Script(statements []string) error {
	for _, sql := range statements {
		if err := runOnce(s.conn, sql); err != nil {
			return err
		}
	}
	return nil
}

func (s *rawSession) Settings(names []string) (map[string]any, error) {
	if err := s.Script([]string{"SELECT count(*) FROM sqlite_schema"}); err != nil {
		return nil, err
	}
	settings := map[string]any{}
	for _, name := range names {
		value, err := s.pragma(name)
		if err != nil {
			return nil, fmt.Errorf("PRAGMA %s: %w", name, err)
		}
		settings[name] = value
	}
	return settings, nil
}

// pragma returns the value of a PRAGMA, or nil if it returns no row.
func (s *rawSession) pragma(name string) (any, error) {
	stmt, err := s.conn.prepare("PRAGMA "+name, false)
	if err != nil {
		return nil, err
	}
	first := make([]Value, max(len(stmt.columns()), 1))
	more, err := stmt.next()
	if more {
		err = stmt.read(first)
	}
	return first[0].boxed(), errors.Join(err, stmt.reset(), stmt.close())
}

func (s *rawSession) Prepare(transactions []Transaction, used []int, each bool) (err error) {
	s.statements, s.each = make([][]rawStatement, len(transactions)), each
	for _, t := range used {
		specs := transactions[t].Statements
		s.statements[t] = make([]rawStatement, len(specs))
		for i := range specs {
			if s.statements[t][i], err = s.prepare(&specs[i]); err != nil {
				return fmt.Errorf("%s: %w", specs[i].SQL, err)
			}
		}
	}
	return nil
}

func (s *rawSession) prepare(spec *Statement) (statement rawStatement, err error) {
	stmt, err := s.conn.prepare(spec.SQL, !s.each)
	if err != nil {
		return statement, err
	}
	if given := len(spec.Bind) * spec.Tuples; stmt.parameters() != given {
		return statement, fmt.Errorf("it has %d parameters, and %d are bound", stmt.parameters(), given)
	}
	statement.counts = isCounted(spec.SQL)
	if statement.job, err = newJob(spec, stmt.columns()); err != nil {
		return statement, err
	}
	if s.each {
		return statement, stmt.close()
	}
	statement.stmt = stmt
	return statement, nil
}

func (s *rawSession) Begin(mode string) error {
	if mode == "none" {
		return nil
	}
	return s.conn.run(beginSQL[mode], !s.each)
}

func (s *rawSession) Commit() error { return s.conn.run("COMMIT", !s.each) }

func (s *rawSession) Rollback() error {
	// Some errors (SQLITE_FULL, SQLITE_IOERR, …) roll back on their own: https://sqlite.org/lang_transaction.html
	if s.conn.autocommit() {
		return nil
	}
	return s.conn.run("ROLLBACK", !s.each)
}

func (s *rawSession) Execute(call *Call, effect *Effect) (count uint64, err error) {
	statement := &s.statements[call.Transaction][call.Statement]
	stmt := statement.stmt
	if stmt == nil {
		if stmt, err = s.conn.prepare(call.Spec.SQL, false); err != nil {
			return 0, err
		}
		defer stmt.close() // cannot fail: the statement has been reset
	}
	if err := stmt.bind(call.Slots, effect.Yielded); err != nil {
		return 0, err
	}
	count, err = statement.job.fetch(stmt, call, effect)
	// Under autocommit, resetting a statement after its first row commits it, which can fail.
	if resetting := stmt.reset(); err == nil {
		err = resetting
	}
	if err == nil && statement.counts && len(statement.job.row) == 0 {
		count = uint64(s.conn.changes())
	}
	return count, err
}
