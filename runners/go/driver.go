package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Driver is the interface of one driver; the rest of a trial is the same for all drivers.
type Driver struct {
	Name   string
	Module string // its version is reported by `describe`; empty for none
	// Open creates a client for the connections to one database. It may defer opening them.
	Open func(*Database, *Connection) (Client, error)
	// Code returns the name of a database error of this driver: for SQLite the name of the extended result code. It
	// returns false for other errors.
	Code func(error) (string, bool)
	// Dialect is the SQL dialect of a server; empty for SQLite.
	Dialect string
	// OpenDSN opens a database by a complete data source name as an application does, with room for this many connections
	// at the same time. The options are arguments of the driver's constructor. nil if the driver has no such name.
	OpenDSN func(dsn string, options map[string]any, connections int) (Client, error)
	// Pool creates the driver's own kind of pool; nil if the driver has none whose connections keep their prepared
	// statements.
	Pool func(database *Database, connection *Connection, size int) (Pool, error)

	// For a library that has tables of its own, on the SQLite of another driver:
	Interface *Interface // what it offers in place of SQL
	Sharings  []string   // supported kinds of sharing, if not all
	Under     *Driver
}

// The dialects, as in `describe` and in SQL.
const (
	sqliteDialect   = "sqlite"
	postgresDialect = "postgres"
	mysqlDialect    = "mysql"
)

// dialect returns the dialect of the driver's SQL and error names.
func (d *Driver) dialect() string { return cmp.Or(d.Dialect, sqliteDialect) }

// fits returns an error if the driver cannot open the database.
func (d *Driver) fits(database *Database) error {
	switch server := d.Dialect != ""; {
	case server && database.Kind != "server":
		return fmt.Errorf("driver `%s` works on a server of %s, and this database is of kind `%s`", d.Name, d.Dialect, database.Kind)
	case !server && database.Kind == "server":
		return fmt.Errorf("driver `%s` opens databases of SQLite, and this one is a server's", d.Name)
	}
	return nil
}

// drivers lists all drivers in the order in which `describe` reports them.
var drivers = []*Driver{&mattn, &modernc, &ncruces, &ncrucesDirect, &zombiezen, &goqite, &postgres, &mysqlServer, &noop}

// Client opens connections to one database, and closes all of them.
type Client interface {
	// Session opens a connection and applies the settings in order.
	Session() (Session, error)
	Close() error
}

// Session is one open connection with its prepared statements. It is not safe for concurrent use.
type Session interface {
	// Script runs each statement to completion.
	Script(statements []string) error
	// Settings runs one read transaction, then reads each PRAGMA by name; nil if it returns no row.
	Settings(names []string) (map[string]any, error)
	// Prepare compiles the statements of the transactions at the indices used. With each, statements are compiled at every
	// execution instead.
	Prepare(transactions []Transaction, used []int, each bool) error
	// Begin starts a transaction; "none" does nothing.
	Begin(mode string) error
	Commit() error
	// Rollback sends ROLLBACK if a transaction is open. On a server it replaces a lost connection.
	Rollback() error
	// Execute binds, runs and fetches once. It returns the number of rows fetched, or changed if the statement has no
	// columns.
	Execute(call *Call, effect *Effect) (rows uint64, err error)
	// Close finalizes the statements; the connection itself is closed with its client.
	Close() error
}

// Call is the execution of one statement.
type Call struct {
	Transaction int // index in the trial
	Statement   int // index in the transaction
	Spec        *Statement
	Slots       []Value // the parameters in order
	Yields      []int   // indices in Effect.Yielded for the columns of the first row, in order
	Timed       bool    // whether to record when the call returned and when the first row was read
	Clock       Clock
}

// Effect is the result of executions.
type Effect struct {
	Yielded    []Value // the worker's yielded values
	Verified   uint64
	Mismatches uint64
	Query      int64 // when the executing call returned, or never
	FirstRow   int64 // when the columns of the first row were read, or never
}

// beginSQL is the statement for each kind of begin except "none", and for the commit.
var beginSQL = map[string]string{
	"deferred":  "BEGIN DEFERRED",
	"immediate": "BEGIN IMMEDIATE",
	"exclusive": "BEGIN EXCLUSIVE",
	"commit":    "COMMIT",
}

func driverNamed(name string) (*Driver, error) {
	if i := slices.IndexFunc(drivers, func(d *Driver) bool { return d.Name == name }); i >= 0 {
		return drivers[i], nil
	}
	return nil, fmt.Errorf("driver `%s` is none of this runner's", name)
}

// codeOf returns the name of a database or connection error, also if it is wrapped. It returns false for other errors.
func codeOf(err error) (string, bool) {
	for _, d := range drivers {
		if code, is := d.Code(err); is {
			return code, true
		}
	}
	return "", false
}

// newFailed creates the last message of a trial that cannot continue. It removes line breaks, because a message is one
// line.
func newFailed(err error) Failed {
	failed := Failed{Type: "failed", Reason: strings.ReplaceAll(err.Error(), "\n", " ")}
	if code, is := codeOf(err); is {
		failed.Code = &code
	}
	return failed
}

var errBlob = errors.New("a BLOB or a time cannot be yielded or reported")

// valueOf converts a column of a driver into a Value. BLOBs and times have no representation in the protocol.
func valueOf(column any) Value {
	switch v := column.(type) {
	case nil:
		return Value{}
	case int64:
		return Value{Kind: Integer, Integer: v}
	case int32:
		return Value{Kind: Integer, Integer: int64(v)}
	case int16:
		return Value{Kind: Integer, Integer: int64(v)}
	case uint32:
		return Value{Kind: Integer, Integer: int64(v)}
	case uint64:
		return decimal(strconv.FormatUint(v, 10))
	case float64:
		return Value{Kind: Real, Real: v}
	case float32:
		return Value{Kind: Real, Real: float64(v)}
	case string:
		return Value{Kind: Text, Text: v}
	case bool:
		if v {
			return Value{Kind: Integer, Integer: 1}
		}
		return Value{Kind: Integer}
	}
	return Value{Kind: Other}
}
