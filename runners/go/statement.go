package main

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
)

// sqlClient is the client of the database/sql drivers. Connections shared by workers come from one sql.DB, as in an
// application; a worker with a connection of its own has its own sql.DB.
type sqlClient struct{ db *sql.DB }

// openSQL implements Driver.Open for a database/sql driver that reads these DSN keys.
func openSQL(d driver.Driver, keys string, database *Database, connection *Connection) (Client, error) {
	if err := refuseUnknown(connection.Options, keys+" "+uriKeys+" "+wholeName); err != nil {
		return nil, err
	}
	if _, given := connection.Options[wholeName]; given && (len(connection.Options) > 1 || database.Kind != "file") {
		return nil, fmt.Errorf("option `%s` is the whole name of a file: it stands alone", wholeName)
	}
	if _, given := connection.Options["_txlock"]; given {
		return nil, errors.New("option `_txlock` has no effect: the runner begins transactions itself, as `begin` says")
	}
	c := &connector{d, dsn(database, connection.Options), connection.Settings}
	return sqlClient{sql.OpenDB(c)}, nil
}

// byName implements Driver.OpenDSN by the name under which the driver is registered.
func byName(name string) func(string, map[string]any, int) (Client, error) {
	return func(dsn string, options map[string]any, _ int) (Client, error) {
		if len(options) > 0 {
			return nil, errors.New("database/sql has no options: they are keys of the data source name")
		}
		db, err := sql.Open(name, dsn)
		return sqlClient{db}, err
	}
}

func (s sqlClient) Session() (Session, error) {
	conn, err := s.db.Conn(background)
	if err != nil {
		return nil, err
	}
	return &sqlSession{conn: conn}, nil
}

func (s sqlClient) Close() error { return s.db.Close() }

// sqlSession is a *sql.Conn held until the end of the trial. Only its statements, not those of a sql.DB, are guaranteed
// to be compiled once per connection, and only on it can each transaction choose its BEGIN.
type sqlSession struct {
	conn       *sql.Conn
	brackets   map[string]*sql.Stmt // by the keys of beginSQL; empty if statements are compiled at each execution
	statements [][]sqlStatement     // by transaction and statement
	open       bool                 // a BEGIN has succeeded
	args       []any
}

// sqlStatement is a prepared statement of a database/sql connection.
type sqlStatement struct {
	stmt    *sql.Stmt // nil if compiled at each execution
	columns bool      // it has columns, so it returns rows
	counts  bool      // its changed rows are counted
	typed   toValue   // nil if the driver returns each value in its own type
	rows    *sqlRows  // nil before its first rows
	job     Job
}

// toValue converts a column of the database type kind.
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

// hasColumns asks SQLite whether a statement returns rows, which database/sql reports for a running statement only: its
// program then contains the instruction ResultRow, https://sqlite.org/opcode.html.
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
	// Some errors (SQLITE_FULL, SQLITE_IOERR, …) have already rolled back. ROLLBACK then returns SQLITE_ERROR:
	// https://sqlite.org/lang_transaction.html
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
	// Under autocommit, closing a SQLite statement after its first row commits it, which can fail.
	if closing := rows.Close(); err == nil {
		err = closing
	}
	return count, err
}

// meet resolves the columns of a statement when it returns its first rows.
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

// sqlRows is the cursor of a statement, reused for all its executions.
type sqlRows struct {
	rows  *sql.Rows
	cells []any
	dest  []any // pointers to the cells
	typed toValue
	types []string // of the columns, if typed is set
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
