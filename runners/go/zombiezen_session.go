package main

import (
	"fmt"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

type zombieSession struct {
	conn       *sqlite.Conn
	each       bool
	statements [][]zombieStatement // by transaction and statement
}

type zombieStatement struct {
	stmt   *sqlite.Stmt // nil where it is compiled at each execution
	counts bool
	job    Job
}

// Close leaves the statements to the connection, which finalizes those it has prepared.
func (s *zombieSession) Close() error { return nil }

func (s *zombieSession) Script(statements []string) error {
	for _, sql := range statements {
		if err := sqlitex.ExecuteTransient(s.conn, sql, nil); err != nil {
			return fmt.Errorf("%s: %w", sql, said(err))
		}
	}
	return nil
}

func (s *zombieSession) Settings(names []string) (map[string]any, error) {
	if err := s.Script([]string{"SELECT count(*) FROM sqlite_schema"}); err != nil {
		return nil, err
	}
	settings := map[string]any{}
	for _, name := range names {
		first := []Value{{}}
		read := func(row *sqlite.Stmt) error { return zombieRows{row}.read(first) }
		if err := sqlitex.ExecuteTransient(s.conn, "PRAGMA "+name, &sqlitex.ExecOptions{ResultFunc: read}); err != nil {
			return nil, fmt.Errorf("PRAGMA %s: %w", name, said(err))
		}
		settings[name] = first[0].boxed()
	}
	return settings, nil
}

func (s *zombieSession) Prepare(transactions []Transaction, used []int, each bool) (err error) {
	s.statements, s.each = make([][]zombieStatement, len(transactions)), each
	for _, t := range used {
		specs := transactions[t].Statements
		s.statements[t] = make([]zombieStatement, len(specs))
		for i := range specs {
			if s.statements[t][i], err = s.prepare(&specs[i]); err != nil {
				return fmt.Errorf("%s: %w", specs[i].SQL, err)
			}
		}
	}
	return nil
}

func (s *zombieSession) prepare(spec *Statement) (statement zombieStatement, err error) {
	stmt, err := s.conn.Prepare(spec.SQL)
	if err != nil {
		return statement, said(err)
	}
	if given := len(spec.Bind) * spec.Tuples; stmt.BindParamCount() != given {
		return statement, fmt.Errorf("it has %d parameters, and %d are bound", stmt.BindParamCount(), given)
	}
	names := make([]string, stmt.ColumnCount())
	for i := range names {
		names[i] = stmt.ColumnName(i)
	}
	statement.counts = isCounted(spec.SQL)
	if statement.job, err = newJob(spec, names); err != nil {
		return statement, err
	}
	if s.each {
		return statement, said(stmt.Finalize())
	}
	statement.stmt = stmt
	return statement, nil
}

func (s *zombieSession) Begin(mode string) error {
	if mode == "none" {
		return nil
	}
	return s.bracket(beginSQL[mode])
}

func (s *zombieSession) Commit() error { return s.bracket("COMMIT") }

func (s *zombieSession) Rollback() error {
	// Some errors (SQLITE_FULL, SQLITE_IOERR, …) roll back by themselves: https://sqlite.org/lang_transaction.html
	if s.conn.AutocommitEnabled() {
		return nil
	}
	return s.bracket("ROLLBACK")
}

// bracket takes the statement from the connection's cache, as the driver's own sqlitex.Transaction does.
func (s *zombieSession) bracket(sql string) error {
	if s.each {
		return said(sqlitex.ExecuteTransient(s.conn, sql, nil))
	}
	return said(sqlitex.Execute(s.conn, sql, nil))
}

func (s *zombieSession) Execute(call *Call, effect *Effect) (count uint64, err error) {
	statement := &s.statements[call.Transaction][call.Statement]
	stmt := statement.stmt
	if stmt == nil {
		if stmt, _, err = s.conn.PrepareTransient(call.Spec.SQL); err != nil {
			return 0, said(err)
		}
		defer stmt.Finalize() // it has been reset, so this has nothing left to fail at
	}
	for i := range call.Slots {
		switch value := call.Slots[i].bound(effect.Yielded); value.Kind {
		case Integer:
			stmt.BindInt64(i+1, value.Integer)
		case Real:
			stmt.BindFloat(i+1, value.Real)
		case Text:
			stmt.BindText(i+1, value.Text)
		default:
			stmt.BindNull(i + 1)
		}
	}
	count, err = statement.job.fetch(zombieRows{stmt}, call, effect)
	// Under autocommit, resetting a statement that was left after its first row commits it, and that can fail.
	if resetting := stmt.Reset(); err == nil {
		err = said(resetting)
	}
	if err == nil && statement.counts && len(statement.job.row) == 0 {
		count = uint64(s.conn.Changes())
	}
	return count, err
}

type zombieRows struct{ *sqlite.Stmt }

func (r zombieRows) next() (bool, error) {
	more, err := r.Step()
	return more, said(err)
}

func (r zombieRows) read(row []Value) error {
	for i := range row {
		switch r.ColumnType(i) {
		case sqlite.TypeInteger:
			row[i] = Value{Kind: Integer, Integer: r.ColumnInt64(i)}
		case sqlite.TypeFloat:
			row[i] = Value{Kind: Real, Real: r.ColumnFloat(i)}
		case sqlite.TypeText:
			row[i] = Value{Kind: Text, Text: r.ColumnText(i)}
		case sqlite.TypeBlob:
			r.ColumnBytes(i, make([]byte, r.ColumnLen(i)))
			row[i] = Value{Kind: Other}
		default:
			row[i] = Value{}
		}
	}
	return nil
}
