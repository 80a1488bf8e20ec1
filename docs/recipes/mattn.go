// Connections of an application in Go to SQLite, with github.com/mattn/go-sqlite3.
//
// Checked by:
//
//	litelab doctor app.db --driver mattn --connections 1 --dsn
//	    'file:app.db?_txlock=immediate&_timeout=5000&_journal=WAL&_sync=FULL&_fk=1'
//	litelab doctor app.db --driver mattn --dsn
//	    'file:app.db?_query_only=1&_timeout=5000&_journal=WAL&_sync=FULL&_fk=1'
package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/url"
	"os"
	"runtime"

	_ "github.com/mattn/go-sqlite3"
)

// open returns the pool that writes, of one connection, and the pool that reads. A second writer would only wait for
// the lock of the first, and a reader on the same connection for every statement before it.
func open(path string) (writer, reader *sql.DB, err error) {
	// `?`, `#` and `%` have a meaning in it.
	path = (&url.URL{Path: path}).EscapedPath()
	writer, err = sql.Open("sqlite3", "file:"+path+
		"?_txlock=immediate&_timeout=5000&_journal=WAL&_sync=FULL&_fk=1")
	if err != nil {
		return nil, nil, err
	}
	writer.SetMaxOpenConns(1)
	// sql.Open opens nothing. The first connection switches a new file to WAL, which fails beside another one.
	if err = writer.Ping(); err != nil {
		_ = writer.Close()
		return nil, nil, err
	}
	reader, err = sql.Open("sqlite3", "file:"+path+
		"?_query_only=1&_timeout=5000&_journal=WAL&_sync=FULL&_fk=1")
	if err != nil {
		return nil, nil, err
	}
	// More readers than processors delay the other goroutines; the pool closes connections beyond two when they are idle.
	reader.SetMaxOpenConns(runtime.GOMAXPROCS(0))
	reader.SetMaxIdleConns(runtime.GOMAXPROCS(0))
	return writer, reader, nil
}

// write runs work in a transaction that has the write lock from its begin, by `_txlock`. work uses tx alone: the pool
// has one connection, and a call that asks it for another waits until ctx ends.
func write(ctx context.Context, writer *sql.DB, work func(tx *sql.Tx) error) error {
	tx, err := writer.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	// Does nothing after the commit.
	defer func() { _ = tx.Rollback() }()
	if err := work(tx); err != nil {
		return err
	}
	return tx.Commit()
}

func main() {
	writer, reader, err := open(os.Args[1])
	check(err)
	ctx := context.Background()
	check(write(ctx, writer, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS note(id INTEGER PRIMARY KEY, text TEXT NOT NULL)")
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "INSERT INTO note(text) VALUES (?)", "a")
		return err
	}))
	for _, name := range []string{"journal_mode", "synchronous", "busy_timeout", "foreign_keys"} {
		var one, other string
		check(writer.QueryRow("PRAGMA " + name).Scan(&one))
		check(reader.QueryRow("PRAGMA " + name).Scan(&other))
		if one != other {
			one += " " + other
		}
		fmt.Println(name, one)
	}
	fmt.Println("ready")
	_, _ = io.ReadAll(os.Stdin)
	check(reader.Close())
	check(writer.Close())
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
