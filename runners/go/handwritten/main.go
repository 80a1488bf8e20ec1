// Command handwritten has the loops that someone would write by hand for one question on one driver, to see what the
// runner adds to them: the same random values, no histogram, no choice of anything.
//
//	handwritten DRIVER insert|batch|read DB N SEED
//
// inserts N rows one by one under autocommit, inserts N batches of 1000, or reads N random rows of those there by their
// rowid. It prints operations per second.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strconv"
	"time"

	_ "github.com/mattn/go-sqlite3"
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

// uniform is an integer from 1 to width.
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
	var took time.Duration
	if driver == "zombiezen" {
		took = zombiezen(verb, path, n, seed)
	} else {
		name := map[string]string{"mattn": "sqlite3", "modernc": "sqlite", "ncruces": "ncruces"}[driver]
		took = databaseSQL(name, verb, path, n, seed)
	}
	fmt.Printf("%.0f\n", float64(n)/took.Seconds())
}

func databaseSQL(driver, verb, path string, n, seed uint64) time.Duration {
	ctx := context.Background()
	db, err := sql.Open(driver, "file:"+path)
	must(err)
	defer db.Close()
	conn, err := db.Conn(ctx)
	must(err)
	defer conn.Close()
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
	begin, commit, insert := prepare("BEGIN IMMEDIATE"), prepare("COMMIT"), prepare(insertSQL)
	query := prepare(selectSQL)
	var rows uint64
	must(conn.QueryRowContext(ctx, "SELECT count(*) FROM kv").Scan(&rows))
	start := time.Now()
	switch verb {
	case "insert":
		key := key(seed, "insert.k")
		for row := range n {
			exec(insert, uniform(key, row, 1_000_000))
		}
	case "batch":
		key := key(seed, "batch.k")
		for b := range n {
			exec(begin)
			for row := range uint64(batch) {
				exec(insert, uniform(key, b*batch+row, 1_000_000))
			}
			exec(commit)
		}
	case "read":
		key := key(seed, "read.id")
		for row := range n {
			found, err := query.QueryContext(ctx, uniform(key, row, rows))
			must(err)
			for found.Next() {
				var id, k int64
				var v string
				must(found.Scan(&id, &k, &v))
				sink += len(v)
			}
			must(found.Err())
			must(found.Close())
		}
	}
	return time.Since(start)
}

func zombiezen(verb, path string, n, seed uint64) time.Duration {
	conn, err := sqlite.OpenConn(path)
	must(err)
	defer conn.Close()
	run := func(text string) { must(sqlitex.Execute(conn, text, nil)) }
	run(journalSQL)
	run(syncSQL)
	insert, query := conn.Prep(insertSQL), conn.Prep(selectSQL)
	exec := func(k int64) {
		insert.BindInt64(1, k)
		_, err := insert.Step()
		must(err)
		must(insert.Reset())
	}
	rows, err := sqlitex.ResultInt64(conn.Prep("SELECT count(*) FROM kv"))
	must(err)
	start := time.Now()
	switch verb {
	case "insert":
		key := key(seed, "insert.k")
		for row := range n {
			exec(uniform(key, row, 1_000_000))
		}
	case "batch":
		key := key(seed, "batch.k")
		for b := range n {
			run("BEGIN IMMEDIATE")
			for row := range uint64(batch) {
				exec(uniform(key, b*batch+row, 1_000_000))
			}
			run("COMMIT")
		}
	case "read":
		key := key(seed, "read.id")
		for row := range n {
			query.BindInt64(1, uniform(key, row, uint64(rows)))
			for {
				more, err := query.Step()
				must(err)
				if !more {
					break
				}
				sink += int(query.ColumnInt64(0)+query.ColumnInt64(1)) + len(query.ColumnText(2))
			}
			must(query.Reset())
		}
	}
	return time.Since(start)
}
