// Command handwritten contains the loops that a developer would write for one question on one driver, to measure the
// overhead of the runner: the same random values, no histogram, no options.
//
//	handwritten DRIVER insert|batch|read DB N SEED
//
// It inserts N rows one by one under autocommit, inserts N batches of 1000, or reads N random existing rows by rowid.
// It prints operations per second.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strconv"
	"time"

	_ "github.com/mattn/go-sqlite3"
	"github.com/ncruces/go-sqlite3"
	_ "github.com/ncruces/go-sqlite3/driver"
	_ "github.com/ncruces/go-sqlite3/embed"
	_ "modernc.org/sqlite"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	_ "litelab/runners/go/rename"
)

const (
	gamma      = 0x9E3779B97F4A7C15
	insertSQL  = "INSERT INTO kv(k, v) VALUES (?1, 'value of this row, of some length')"
	selectSQL  = "SELECT id, k, v FROM kv WHERE id = ?1"
	batch      = 1000
	beginSQL   = "BEGIN IMMEDIATE"
	commitSQL  = "COMMIT"
	countSQL   = "SELECT count(*) FROM kv"
	journalSQL = "PRAGMA journal_mode = WAL"
	syncSQL    = "PRAGMA synchronous = NORMAL"
)

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

func key(seed uint64, name string) uint64 {
	hash := uint64(0xCBF29CE484222325)
	for i := range len(name) {
		hash = (hash ^ uint64(name[i])) * 0x100000001B3
	}
	return mix(seed + gamma*hash)
}

// uniform returns an integer from 1 to width.
func uniform(key, row, width uint64) int64 {
	word := mix(key + (row+1)*gamma)
	return 1 + int64(float64(word>>11)/(1<<53)*float64(width))
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

var sink int

func main() {
	if len(os.Args) != 6 {
		fmt.Fprintln(os.Stderr, "usage: handwritten DRIVER insert|batch|read DB N SEED")
		os.Exit(2)
	}
	driver, verb, path := os.Args[1], os.Args[2], os.Args[3]
	n, err := strconv.ParseUint(os.Args[4], 10, 64)
	must(err)
	seed, err := strconv.ParseUint(os.Args[5], 10, 64)
	must(err)
	var l *loop
	switch driver {
	case "zombiezen":
		l = zombiezen(path)
	case "ncruces-direct":
		l = ncrucesDirect(path)
	default:
		name := map[string]string{"mattn": "sqlite3", "modernc": "sqlite", "ncruces": "ncruces"}[driver]
		l = databaseSQL(name, path)
	}
	fmt.Printf("%.0f\n", float64(n)/l.run(verb, n, seed).Seconds())
}

// loop is a connection with its statements prepared; read reads one row by its rowid.
type loop struct {
	rows          uint64
	begin, commit func()
	insert, read  func(int64)
}

func (l *loop) run(verb string, n, seed uint64) time.Duration {
	start := time.Now()
	switch verb {
	case "insert":
		key := key(seed, "insert.k")
		for row := range n {
			l.insert(uniform(key, row, 1_000_000))
		}
	case "batch":
		key := key(seed, "batch.k")
		for b := range n {
			l.begin()
			for row := range uint64(batch) {
				l.insert(uniform(key, b*batch+row, 1_000_000))
			}
			l.commit()
		}
	case "read":
		key := key(seed, "read.id")
		for row := range n {
			l.read(uniform(key, row, l.rows))
		}
	}
	return time.Since(start)
}

func databaseSQL(driver, path string) *loop {
	ctx := context.Background()
	db, err := sql.Open(driver, "file:"+path)
	must(err)
	conn, err := db.Conn(ctx)
	must(err)
	prepare := func(text string) *sql.Stmt {
		stmt, err := conn.PrepareContext(ctx, text)
		must(err)
		return stmt
	}
	exec := func(stmt *sql.Stmt, args ...any) {
		_, err := stmt.ExecContext(ctx, args...)
		must(err)
	}
	for _, text := range []string{journalSQL, syncSQL} {
		_, err := conn.ExecContext(ctx, text)
		must(err)
	}
	begin, commit, insert, query := prepare(beginSQL), prepare(commitSQL), prepare(insertSQL), prepare(selectSQL)
	var rows uint64
	must(conn.QueryRowContext(ctx, countSQL).Scan(&rows))
	return &loop{
		rows:   rows,
		begin:  func() { exec(begin) },
		commit: func() { exec(commit) },
		insert: func(k int64) { exec(insert, k) },
		read: func(id int64) {
			found, err := query.QueryContext(ctx, id)
			must(err)
			for found.Next() {
				var id, k int64
				var v string
				must(found.Scan(&id, &k, &v))
				sink += len(v)
			}
			must(found.Err())
			must(found.Close())
		},
	}
}

func zombiezen(path string) *loop {
	conn, err := sqlite.OpenConn(path)
	must(err)
	run := func(text string) { must(sqlitex.Execute(conn, text, nil)) }
	run(journalSQL)
	run(syncSQL)
	insert, query := conn.Prep(insertSQL), conn.Prep(selectSQL)
	rows, err := sqlitex.ResultInt64(conn.Prep(countSQL))
	must(err)
	return &loop{
		rows:   uint64(rows),
		begin:  func() { run(beginSQL) },
		commit: func() { run(commitSQL) },
		insert: func(k int64) {
			insert.BindInt64(1, k)
			_, err := insert.Step()
			must(err)
			must(insert.Reset())
		},
		read: func(id int64) {
			query.BindInt64(1, id)
			for {
				more, err := query.Step()
				must(err)
				if !more {
					break
				}
				sink += int(query.ColumnInt64(0)+query.ColumnInt64(1)) + len(query.ColumnText(2))
			}
			must(query.Reset())
		},
	}
}

func ncrucesDirect(path string) *loop {
	conn, err := sqlite3.Open("file:" + path)
	must(err)
	run := func(text string) { must(conn.Exec(text)) }
	prepare := func(text string) *sqlite3.Stmt {
		stmt, _, err := conn.Prepare(text)
		must(err)
		return stmt
	}
	run(journalSQL)
	run(syncSQL)
	insert, query, count := prepare(insertSQL), prepare(selectSQL), prepare(countSQL)
	count.Step()
	rows, row := uint64(count.ColumnInt64(0)), make([]any, 3)
	must(count.Close()) // an open statement would hold its read transaction for the rest of the run
	return &loop{
		rows:   rows,
		begin:  func() { run(beginSQL) },
		commit: func() { run(commitSQL) },
		insert: func(k int64) {
			must(insert.BindInt64(1, k))
			must(insert.Exec())
		},
		read: func(id int64) {
			must(query.BindInt64(1, id))
			for query.Step() {
				must(query.Columns(row...))
				sink += len(row[2].(string))
			}
			must(query.Reset())
		},
	}
}
