package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// postgres is PostgreSQL through pgx itself, without database/sql: statements are prepared by name, and arguments and
// columns have the Go types that pgx defines for the types of the server.
var postgres = Driver{
	Name:     "postgres",
	Module:   "github.com/jackc/pgx/v5",
	Dialect:  postgresDialect,
	Sharings: []string{"own-connection", "pool"},
	Open: func(database *Database, connection *Connection) (Client, error) {
		place, err := parseServerURL(database.URL, "postgres", "5432")
		if err != nil {
			return nil, err
		}
		keys, err := place.keys(connection.Options, postgresKeys)
		if err != nil {
			return nil, err
		}
		client := &serverClient{settings: connection.Settings, place: database.place}
		for _, host := range place.hosts {
			config, err := postgresConfig(&place, host, keys, database.Schema)
			if err != nil {
				return nil, err
			}
			client.hosts = append(client.hosts, func(ctx context.Context) (link, error) { return openPostgres(ctx, config) })
		}
		return client, nil
	},
	Code: postgresCode,
}

func postgresCode(err error) (string, bool) {
	var said *pgconn.PgError
	if errors.As(err, &said) {
		return cmp.Or(serverCodes.Postgres[said.Code], "sqlstate_"+said.Code), true
	}
	if code, is := connectionCode(err); is {
		return code, true
	}
	var connecting *pgconn.ConnectError
	return "CONNECTION_REFUSED", errors.As(err, &connecting)
}

// postgresKeys are the keys of a connection string that change how a connection works, as listed for
// pgconn.ParseConfig.
const postgresKeys = "application_name channel_binding min_protocol_version max_protocol_version options require_auth " +
	"sslcert sslkey sslmode sslnegotiation sslpassword sslrootcert sslsni"

func postgresConfig(place *serverURL, host string, keys url.Values, schema string) (*pgx.ConnConfig, error) {
	keys = maps.Clone(keys)
	keys.Set("search_path", pgx.Identifier{schema}.Sanitize())
	address := url.URL{Scheme: "postgres", User: url.UserPassword(place.user, place.password), Host: host,
		Path: place.database, RawQuery: keys.Encode()}
	config, err := pgx.ParseConfig(address.String())
	if err != nil {
		return nil, err
	}
	config.ConnectTimeout = connectPatience
	return config, nil
}

// postgresLink is one connection.
type postgresLink struct {
	conn       *pgx.Conn
	mode       pgx.QueryExecMode     // for statements that are not prepared by name
	statements [][]postgresStatement // by transaction and statement
	args       []any
	buffer     []byte // data sent by COPY
}

type postgresStatement struct {
	copies bool
	types  []uint32 // types of the parameters
	job    Job
}

func openPostgres(ctx context.Context, config *pgx.ConnConfig) (link, error) {
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	return &postgresLink{conn: conn}, nil
}

func (l *postgresLink) gone() bool { return l.conn.IsClosed() }

// close notifies the server and waits at most connectPatience for it.
func (l *postgresLink) close() error {
	ctx, cancel := context.WithTimeout(background, connectPatience)
	defer cancel()
	return l.conn.Close(ctx)
}

// answer returns the context of a call. pgx closes the connection if the answer does not arrive in time.
func answer() (context.Context, context.CancelFunc) {
	return context.WithTimeout(background, answerPatience)
}

// failing marks an error without a name as lost if the connection is closed now.
func (l *postgresLink) failing(err error) error {
	if err == nil || !l.gone() {
		return err
	}
	if _, named := postgresCode(err); named {
		return err
	}
	return lost{err}
}

// script sends one statement through the simple protocol, as pgx does for statements without parameters.
func (l *postgresLink) script(sql string) error {
	ctx, cancel := answer()
	defer cancel()
	_, err := l.conn.Exec(ctx, sql)
	return l.failing(err)
}

func (l *postgresLink) show(name string) (any, error) {
	ctx, cancel := answer()
	defer cancel()
	var value string
	if err := l.conn.QueryRow(ctx, "SHOW "+name, pgx.QueryExecModeSimpleProtocol).Scan(&value); err != nil {
		return nil, l.failing(err)
	}
	return printed(value), nil
}

func (l *postgresLink) begin() error  { return l.script("BEGIN") }
func (l *postgresLink) commit() error { return l.script("COMMIT") }

func (l *postgresLink) rollback() error {
	const idle = 'I'
	if l.conn.PgConn().TxStatus() == idle {
		return nil
	}
	return l.script("ROLLBACK")
}

// prepare prepares each statement under its own text as the name, by which it is found again. With each, the server
// compiles the statement at every execution, and pgx asks for its description once.
func (l *postgresLink) prepare(transactions []Transaction, used []int, each bool) (err error) {
	l.mode = pgx.QueryExecModeCacheStatement
	if each {
		l.mode = pgx.QueryExecModeCacheDescribe
	}
	l.statements, err = prepareAll(transactions, used, func(spec *Statement) (postgresStatement, error) {
		return l.prepareOne(spec, each)
	})
	return l.failing(err)
}

func (l *postgresLink) prepareOne(spec *Statement, each bool) (statement postgresStatement, err error) {
	given := len(spec.Bind) * spec.Tuples
	if statement.copies = isCopy(spec.SQL); statement.copies {
		if given == 0 {
			return statement, errors.New("its rows are what is bound, and nothing is")
		}
		statement.job, err = newJob(spec, nil)
		return statement, err
	}
	name := spec.SQL
	if each {
		name = ""
	}
	ctx, cancel := answer()
	defer cancel()
	description, err := l.conn.Prepare(ctx, name, spec.SQL)
	if err != nil {
		return statement, err
	}
	statement.types = description.ParamOIDs
	if wanted := len(statement.types); wanted != given {
		return statement, fmt.Errorf("it has %d parameters, and %d are bound", wanted, given)
	}
	var columns []string
	for _, field := range description.Fields {
		columns = append(columns, field.Name)
	}
	statement.job, err = newJob(spec, columns)
	return statement, err
}

func (l *postgresLink) execute(call *Call, effect *Effect) (count uint64, err error) {
	statement := &l.statements[call.Transaction][call.Statement]
	ctx, cancel := answer()
	defer cancel()
	if statement.copies {
		return l.copy(ctx, call, effect)
	}
	l.args = append(l.args[:0], l.mode)
	for i := range call.Slots {
		value := call.Slots[i].bound(effect.Yielded)
		if value.Kind == Other {
			return 0, errBlob
		}
		argument := value.boxed()
		switch kind := statement.types[i]; {
		case value.Kind == Integer && kind == pgtype.BoolOID:
			argument = value.Integer != 0
		// pgx does not convert numbers to text.
		case value.Kind == Integer && isText(kind):
			argument = strconv.FormatInt(value.Integer, 10)
		case value.Kind == Real && isText(kind):
			argument = strconv.FormatFloat(value.Real, 'f', -1, 64)
		}
		l.args = append(l.args, argument)
	}
	if len(statement.job.row) == 0 {
		tag, err := l.conn.Exec(ctx, call.Spec.SQL, l.args...)
		return changed(tag), l.failing(err)
	}
	rows, err := l.conn.Query(ctx, call.Spec.SQL, l.args...)
	if err != nil {
		return 0, l.failing(err)
	}
	count, err = statement.job.fetch(postgresRows{rows}, call, effect)
	// Close reads and discards the rows after the first one, and reports an error of the server among them.
	if rows.Close(); err == nil {
		err = rows.Err()
	}
	return count, l.failing(err)
}

// isText tells whether a parameter of this type is text.
func isText(kind uint32) bool {
	switch kind {
	case pgtype.TextOID, pgtype.VarcharOID, pgtype.BPCharOID, pgtype.NameOID:
		return true
	}
	return false
}

// changed returns the number of rows written by a statement, as SQLite counts them.
func changed(tag pgconn.CommandTag) uint64 {
	if tag.Insert() || tag.Update() || tag.Delete() || strings.HasPrefix(tag.String(), "COPY") || strings.HasPrefix(tag.String(), "MERGE") {
		return uint64(tag.RowsAffected())
	}
	return 0
}

type postgresRows struct{ pgx.Rows }

func (r postgresRows) next() (bool, error) { return r.Next(), r.Err() }

func (r postgresRows) read(row []Value) error {
	columns, err := r.Values()
	for i, column := range columns {
		if number, is := column.(pgtype.Numeric); is {
			text, err := number.Value()
			if err != nil {
				return err
			}
			row[i] = decimal(fmt.Sprint(text))
		} else {
			row[i] = valueOf(column)
		}
	}
	return err
}
