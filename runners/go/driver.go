package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Driver is what has to be written for a new one; everything else of a trial is the same for all.
type Driver struct {
	Name   string
	Module string // whose version `describe` reports; empty for none
	// Open makes a client, which has the connections to one database. It need not open any yet.
	Open func(*Database, *Connection) (Client, error)
	// Code gives the name of an error of this driver where it was the database that said no: of SQLite the extended
	// result code's.
	Code func(error) (string, bool)
	// Dialect is that of a server; empty for SQLite.
	Dialect string
	// Pool makes the driver's own kind of pool; nil where it has none whose connections keep their prepared statements.
	Pool func(database *Database, connection *Connection, size int) (Pool, error)

	// Of a library that keeps tables of its own, on the SQLite of another driver:
	Interface string   // what it offers in place of SQL
	Accesses  []string // those it supports, where that is not all
	Under     *Driver
}

// Dialects, as `describe` and SQL have them.
const (
	sqliteDialect   = "sqlite"
	postgresDialect = "postgres"
	mysqlDialect    = "mysql"
)

// dialect is that of the driver's SQL and error names.
func (d *Driver) dialect() string { return cmp.Or(d.Dialect, sqliteDialect) }

// fits says why a driver cannot open a database, if it cannot.
func (d *Driver) fits(database *Database) error {
	switch server := d.Dialect != ""; {
	case server && database.Kind != "server":
		return fmt.Errorf("driver `%s` works on a server of %s, and this database is of kind `%s`", d.Name, d.Dialect, database.Kind)
	case !server && database.Kind == "server":
		return fmt.Errorf("driver `%s` opens databases of SQLite, and this one is a server's", d.Name)
	}
	return nil
}

// drivers in the order in which `describe` lists them.
var drivers = []*Driver{&mattn, &modernc, &ncruces, &ncrucesDirect, &zombiezen, &goqite, &postgres, &mysqlServer, &noop}

// Client opens connections to one database, and closes all of them.
type Client interface {
	// Session opens one and runs the settings in order.
	Session() (Session, error)
	Close() error
}

// Session is one open connection with its prepared statements. No two goroutines use it at the same time.
type Session interface {
	// Script runs each statement to its end.
	Script(statements []string) error
	// Settings runs one read transaction, then asks for each PRAGMA by name; null where it returns no row.
	Settings(names []string) (map[string]any, error)
	// Prepare compiles what this connection will be asked for: the transactions at these indices of the list, or
	// nothing where a statement is to be compiled at each execution.
	Prepare(transactions []Transaction, used []int, each bool) error
	// Begin sends the begin; nothing for "none".
	Begin(mode string) error
	Commit() error
	// Rollback sends ROLLBACK where a transaction is open. On a server it opens another connection where this one is lost.
	Rollback() error
	// Execute binds, runs and fetches once. It returns the rows fetched, or changed where there is none to fetch.
	Execute(call *Call, effect *Effect) (rows uint64, err error)
	// Close finalizes the statements; the connection itself is closed with its client.
	Close() error
}

// Call says which statement to execute, and with what.
type Call struct {
	Transaction int // index in the trial
	Statement   int // index in the transaction
	Spec        *Statement
	Slots       []Value // its parameters in order
	Yields      []int   // places of Effect.Yielded that the columns of the first row go to, in order
	Timed       bool    // whether to note when the call returned and when the first row was read
	Clock       Clock
}

// Effect is what executing leaves behind.
type Effect struct {
	Yielded    []Value // the worker's yielded values
	Verified   uint64
	Mismatches uint64
	Query      int64 // when the call that executes returned, or never
	FirstRow   int64 // when the columns of the first row were read, or never
}

// beginSQL is sent for each kind of begin but "none"; commit comes last.
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

// codeOf gives the name of an error where it was the database that said no, or is not to be reached, whatever wraps it.
func codeOf(err error) (string, bool) {
	for _, d := range drivers {
		if code, is := d.Code(err); is {
			return code, true
		}
	}
	return "", false
}

// newFailed is the last line of a trial that cannot go on; a line break in a message would look like two.
func newFailed(err error) Failed {
	failed := Failed{Type: "failed", Reason: strings.ReplaceAll(err.Error(), "\n", " ")}
	if code, is := codeOf(err); is {
		failed.Code = &code
	}
	return failed
}

var errBlob = errors.New("a BLOB or a time cannot be yielded or reported")

// valueOf is a column, as a driver gives it, in the protocol's terms, which have none for a BLOB or a time.
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
