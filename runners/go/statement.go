package main

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
)

// sqlClient is that of the drivers of database/sql. Connections that workers share come from one sql.DB, as in an
// application; a worker with a connection of its own has a sql.DB of its own.
type sqlClient struct{ db *sql.DB }

// openSQL is Driver.Open for a driver of database/sql that reads these keys of a DSN.
func openSQL(d driver.Driver, keys string, database *Database, connection *Connection) (Client, error) {
	if err := refuseUnknown(connection.Options, keys+" "+uriKeys); err != nil {
		return nil, err
	}
	c := &connector{d, dsn(database, connection.Options), connection.Settings}
	return sqlClient{sql.OpenDB(c)}, nil
}

func (s sqlClient) Session() (Session, error) {
	conn, err := s.db.Conn(background)
	if err != nil {
		return nil, err
	}
	return &sqlSession{conn: conn}, nil
}

func (s sqlClient) Close() error { return s.db.Close() }

// sqlSession is a *sql.Conn that is held until the end of the trial, because only its statements (not those of a
// sql.DB) are certain to be compiled once per connection, and only on it can each transaction choose its BEGIN.
type sqlSession struct {
	conn       *sql.Conn
	brackets   map[string]*sql.Stmt // by the keys of beginSQL; none where statements are compiled at each execution
	statements [][]sqlStatement     // by transaction and statement
	open       bool                 // a BEGIN has succeeded
	args       []any
}

// sqlStatement is one of a connection of database/sql.
type sqlStatement struct {
	stmt    *sql.Stmt // nil where it is compiled at each execution
	columns bool      // it has some, that is: rows to give
	counts  bool      // what it changes is counted
	typed   toValue   // nil where the driver gives each value as what it is
	rows    *sqlRows  // nil until it has first given some
	job     Job
}

// toValue makes a value of a column of this type.
type toValue func(kind string, cell any) Value

func (s *sqlSession) Close() error {
	var err error
	for _, statements := range s.statements {
		for _, statement := range statements {
			if statement.stmt != nil {
				err = errors.Join(err, statement.stmt.Close())
			}
		}
	}
	for _, stmt := range s.brackets {
		err = errors.Join(err, stmt.Close())
	}
	return errors.Join(err, s.conn.Close())
}

func (s *sqlSession) Script(statements []string) error {
	for _, text := range statements {
		err := s.conn.Raw(func(conn any) error { return runToEnd(conn.(driver.Conn), text) })
		if err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
	}
	return nil
}

func (s *sqlSession) Settings(names []string) (map[string]any, error) { return readBack(s.conn, names) }

func (s *sqlSession) Prepare(transactions []Transaction, used []int, each bool) (err error) {
	s.statements = make([][]sqlStatement, len(transactions))
	for _, t := range used {
		specs := transactions[t].Statements
		s.statements[t] = make([]sqlStatement, len(specs))
		for i := range specs {
			if s.statements[t][i], err = s.prepare(&specs[i], each); err != nil {
				return fmt.Errorf("%s: %w", specs[i].SQL, err)
			}
		}
	}
	if each {
		return nil
	}
	s.brackets = map[string]*sql.Stmt{}
	for name, text := range beginSQL {
		if s.brackets[name], err = s.conn.PrepareContext(background, text); err != nil {
			return err
		}
	}
	return nil
}

func (s *sqlSession) prepare(spec *Statement, each bool) (statement sqlStatement, err error) {
	statement.counts = isCounted(spec.SQL)
	if statement.columns, err = s.hasColumns(spec.SQL, len(spec.Bind)*spec.Tuples); err != nil || each {
		return statement, err
	}
	statement.stmt, err = s.conn.PrepareContext(background, spec.SQL)
	return statement, err
}

// hasColumns asks SQLite itself whether a statement has rows to give, which database/sql only tells of one that runs:
// its program has the instruction ResultRow then, https://sqlite.org/opcode.html.
func (s *sqlSession) hasColumns(text string, parameters int) (has bool, err error) {
	rows, err := s.conn.QueryContext(background, "EXPLAIN "+text, make([]any, parameters)...)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	var opcode string
	var other any
	for rows.Next() {
		if err := rows.Scan(&other, &opcode, &other, &other, &other, &other, &other, &other); err != nil {
			return false, err
		}
		has = has || opcode == "ResultRow"
	}
	return has, rows.Err()
}

func (s *sqlSession) Begin(mode string) error {
	if mode == "none" {
		return nil
	}
	err := s.bracket(mode)
	s.open = err == nil
	return err
}

func (s *sqlSession) Commit() error {
	err := s.bracket("commit")
	s.open = s.open && err != nil
	return err
}

func (s *sqlSession) bracket(name string) (err error) {
	if s.brackets != nil {
		_, err = s.brackets[name].ExecContext(background)
	} else {
		_, err = s.conn.ExecContext(background, beginSQL[name])
	}
	return err
}

func (s *sqlSession) Rollback() error {
	if !s.open {
		return nil
	}
	s.open = false
	_, err := s.conn.ExecContext(background, "ROLLBACK")
	// Some errors (SQLITE_FULL, SQLITE_IOERR, …) have rolled back by themselves, and then there is nothing to roll
	// back any more, which is SQLITE_ERROR: https://sqlite.org/lang_transaction.html
	if code, is := codeOf(err); is && code == "SQLITE_ERROR" {
		return nil
	}
	return err
}

func (s *sqlSession) Execute(call *Call, effect *Effect) (count uint64, err error) {
	statement := &s.statements[call.Transaction][call.Statement]
	s.args = s.args[:0]
	for i := range call.Slots {
		s.args = append(s.args, call.Slots[i].bound(effect.Yielded).boxed())
	}
	return statement.execute(s.conn, call, s.args, effect)
}

func (p *sqlStatement) execute(conn *sql.Conn, call *Call, args []any, effect *Effect) (count uint64, err error) {
	if p.columns {
		return p.query(conn, call, args, effect)
	}
	var result sql.Result
	if p.stmt != nil {
		result, err = p.stmt.ExecContext(background, args...)
	} else {
		result, err = conn.ExecContext(background, call.Spec.SQL, args...)
	}
	if err != nil || !p.counts {
		return 0, err
	}
	changed, err := result.RowsAffected()
	return uint64(changed), err
}

func (p *sqlStatement) query(conn *sql.Conn, call *Call, args []any, effect *Effect) (count uint64, err error) {
	var rows *sql.Rows
	if p.stmt != nil {
		rows, err = p.stmt.QueryContext(background, args...)
	} else {
		rows, err = conn.QueryContext(background, call.Spec.SQL, args...)
	}
	if err != nil {
		return 0, err
	}
	if p.rows == nil {
		err = p.meet(rows, call.Spec)
	}
	if err == nil {
		p.rows.rows = rows
		count, err = p.job.fetch(p.rows, call, effect)
	}
	// Under autocommit, closing a statement of SQLite that was left after its first row commits it, and that can fail.
	if closing := rows.Close(); err == nil {
		err = closing
	}
	return count, err
}

// meet finds out about a statement's columns when it has its first rows.
func (p *sqlStatement) meet(rows *sql.Rows, spec *Statement) error {
	names, err := rows.Columns()
	if err != nil {
		return err
	}
	if p.job, err = newJob(spec, names); err != nil {
		return err
	}
	met := &sqlRows{cells: make([]any, len(names)), dest: make([]any, len(names)), typed: p.typed}
	for i := range names {
		met.dest[i] = &met.cells[i]
	}
	if p.typed != nil {
		types, err := rows.ColumnTypes()
		if err != nil {
			return err
		}
		for _, t := range types {
			met.types = append(met.types, t.DatabaseTypeName())
		}
	}
	p.rows = met
	return nil
}

// sqlRows is the cursor of a statement, the same for all its executions.
type sqlRows struct {
	rows  *sql.Rows
	cells []any
	dest  []any // pointers to the cells
	typed toValue
	types []string // of the columns, where typed is
}

func (r *sqlRows) next() (bool, error) {
	if r.rows.Next() {
		return true, nil
	}
	return false, r.rows.Err()
}

func (r *sqlRows) read(row []Value) error {
	if err := r.rows.Scan(r.dest...); err != nil {
		return err
	}
	for i, cell := range r.cells {
		if r.typed == nil {
			row[i] = valueOf(cell)
		} else {
			row[i] = r.typed(r.types[i], cell)
		}
	}
	return nil
}
