package main

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"sync/atomic"

	"github.com/go-sql-driver/mysql"
)

// mysqlServer is MySQL and MariaDB through database/sql. Each connection is a *sql.Conn held until the end of the
// trial. Values are bound on the server (default: `interpolateParams` off), and an UPDATE counts the rows found, as in
// SQLite.
var mysqlServer = Driver{
	Name:     "mysql",
	Module:   "github.com/go-sql-driver/mysql",
	Dialect:  mysqlDialect,
	Sharings: []string{"own-connection", "pool"},
	Open: func(database *Database, connection *Connection) (Client, error) {
		place, err := parseServerURL(database.URL, "mysql", "3306")
		if err != nil {
			return nil, err
		}
		keys, err := place.keys(connection.Options, mysqlKeys)
		if err != nil {
			return nil, err
		}
		client := &serverClient{settings: connection.Settings, place: database.place}
		for _, host := range place.hosts {
			config, err := mysql.ParseDSN("/?" + keys.Encode())
			if err != nil {
				return nil, err
			}
			config.User, config.Passwd, config.DBName = place.user, place.password, database.Schema
			config.Net, config.Addr = "tcp", host
			config.Timeout, config.ReadTimeout, config.WriteTimeout = connectPatience, answerPatience, answerPatience
			config.ClientFoundRows = true
			client.hosts = append(client.hosts, func(ctx context.Context) (link, error) { return openMysql(ctx, config) })
		}
		return client, nil
	},
	Code: mysqlCode,
}

func mysqlCode(err error) (string, bool) {
	var said *mysql.MySQLError
	if errors.As(err, &said) {
		number := strconv.Itoa(int(said.Number))
		return cmp.Or(serverCodes.Mysql[number], "ER_"+number), true
	}
	return connectionCode(err)
}

// mysqlKeys are the DSN keys listed in its README, except those fixed here and those that change the type of values.
const mysqlKeys = "allowCleartextPasswords allowFallbackToPlaintext allowNativePasswords allowOldPasswords charset " +
	"checkConnLiveness collation compress connectionAttributes interpolateParams maxAllowedPacket rejectReadOnly " +
	"serverPubKey tls"

// mysqlLink is one connection.
type mysqlLink struct {
	db         *sql.DB
	conn       *sql.Conn
	statements [][]sqlStatement // by transaction and statement
	open       bool             // a START TRANSACTION has succeeded
	dead       bool
	log        *mysqlLog
	args       []any
}

func openMysql(ctx context.Context, config *mysql.Config) (link, error) {
	log := &mysqlLog{}
	config = config.Clone()
	config.Logger = log
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, errors.Join(log.named(err), db.Close())
	}
	return &mysqlLink{db: db, conn: conn, log: log}, nil
}

// mysqlLog is the logger of the driver. The driver reports an expired deadline in its log only: the error that it
// returns is the same as for any other unusable connection.
type mysqlLog struct{ late atomic.Bool }

func (l *mysqlLog) Print(parts ...any) {
	for _, part := range parts {
		if err, is := part.(error); is && errors.Is(err, os.ErrDeadlineExceeded) {
			l.late.Store(true)
		}
	}
}

// named adds a name to the error of a lost connection.
func (l *mysqlLog) named(err error) error {
	switch _, named := mysqlCode(err); {
	case named:
		return err
	case l.late.Load():
		return errors.Join(err, os.ErrDeadlineExceeded)
	}
	return lost{err}
}

func (l *mysqlLink) gone() bool { return l.dead }

func (l *mysqlLink) close() error {
	// Both return an error if a lost connection is already closed.
	_ = l.conn.Close()
	return l.db.Close()
}

// unavailable lists errors after which a server accepts no statement on this connection: it is shutting down, the
// connection was killed, or (ER_UNKNOWN_COM_ERROR) the cluster node is disconnected from the others.
var unavailable = []uint16{1047, 1053, 1077, 1079, 1927}

// failing marks errors of the connection as lost and returns other errors unchanged. It records that the connection is
// unusable.
func (l *mysqlLink) failing(err error) error {
	if err == nil {
		return nil
	}
	var said *mysql.MySQLError
	switch {
	case errors.As(err, &said):
		for _, number := range unavailable {
			l.dead = l.dead || said.Number == number
		}
	case errors.Is(err, mysql.ErrInvalidConn), errors.Is(err, driver.ErrBadConn), errors.Is(err, sql.ErrConnDone),
		errors.Is(err, mysql.ErrMalformPkt), errors.Is(err, mysql.ErrPktSync):
		l.dead = true
		err = l.log.named(err)
	default:
		_, named := connectionCode(err)
		l.dead = l.dead || named
	}
	return err
}

func (l *mysqlLink) script(text string) error {
	_, err := l.conn.ExecContext(background, text)
	return l.failing(err)
}

func (l *mysqlLink) show(name string) (any, error) {
	var value any
	if err := l.conn.QueryRowContext(background, "SELECT @@"+name).Scan(&value); err != nil {
		return nil, l.failing(err)
	}
	if value == nil {
		return nil, nil
	}
	if text, is := value.([]byte); is {
		return printed(string(text)), nil
	}
	return printed(fmt.Sprint(value)), nil
}

func (l *mysqlLink) begin() error {
	err := l.script("START TRANSACTION")
	l.open = err == nil
	return err
}

func (l *mysqlLink) commit() error {
	err := l.script("COMMIT")
	l.open = l.open && err != nil
	return err
}

// rollback is also sent after a deadlock, which has rolled back the transaction already; it has no effect then.
func (l *mysqlLink) rollback() error {
	if !l.open {
		return nil
	}
	l.open = false
	return l.script("ROLLBACK")
}

func (l *mysqlLink) prepare(transactions []Transaction, used []int, each bool) (err error) {
	l.statements, err = prepareAll(transactions, used, func(spec *Statement) (sqlStatement, error) {
		return l.prepareOne(spec, each)
	})
	return l.failing(err)
}

func (l *mysqlLink) prepareOne(spec *Statement, each bool) (statement sqlStatement, err error) {
	if statement.stmt, err = l.conn.PrepareContext(background, spec.SQL); err == nil && each {
		err, statement.stmt = statement.stmt.Close(), nil
	}
	statement.columns, statement.counts, statement.typed = givesRows(spec.SQL), true, mysqlValue
	if err == nil && !statement.columns && (len(spec.Yields) > 0 || spec.Required && spec.Fetch != "none") {
		err = errors.New("it returns no row that could be fetched")
	}
	return statement, err
}

var (
	noRows    = regexp.MustCompile(`(?is)'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|` + "`[^`]*`" + `|/\*.*?\*/|--\s[^\n]*|#[^\n]*`)
	rowsFirst = regexp.MustCompile(`(?i)^[\s(]*(SELECT|WITH|VALUES|TABLE|SHOW|EXPLAIN|ANALYZE|DESC|DESCRIBE|CHECK|CALL)\b`)
	rowsAfter = regexp.MustCompile(`(?i)^\s*(INSERT|REPLACE|DELETE)\b.*\bRETURNING\b`)
)

// givesRows decides by the keywords of a statement, without quoted parts and comments: the driver does not report
// whether a prepared statement has columns, and returns the number of changed rows only for a statement run without
// columns.
func givesRows(text string) bool {
	bare := noRows.ReplaceAllString(text, " ")
	return rowsFirst.MatchString(bare) || rowsAfter.MatchString(regexp.MustCompile(`\s+`).ReplaceAllString(bare, " "))
}

func (l *mysqlLink) execute(call *Call, effect *Effect) (count uint64, err error) {
	statement := &l.statements[call.Transaction][call.Statement]
	l.args = l.args[:0]
	for i := range call.Slots {
		value := call.Slots[i].bound(effect.Yielded)
		if value.Kind == Other {
			return 0, errBlob
		}
		l.args = append(l.args, value.boxed())
	}
	count, err = statement.execute(l.conn, call, l.args, effect)
	return count, l.failing(err)
}

// mysqlValue converts a column of database/sql, where every value except numbers is bytes.
func mysqlValue(kind string, cell any) Value {
	text, is := cell.([]byte)
	if !is {
		return valueOf(cell)
	}
	switch kind {
	case "DECIMAL":
		return decimal(string(text))
	case "BLOB", "TINYBLOB", "MEDIUMBLOB", "LONGBLOB", "BINARY", "VARBINARY", "BIT", "GEOMETRY":
		return Value{Kind: Other}
	}
	return Value{Kind: Text, Text: string(text)}
}
