// Holds locks of a database for known times: see holder.py in the folder above. `rows SECONDS` keeps a Rows open.
package main

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"os"
	"time"

	_ "modernc.org/sqlite"
)

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func now() { fmt.Printf("%.6f\n", float64(time.Now().UnixMicro())/1e6) }

func main() {
	pool, err := sql.Open("sqlite", os.Args[1])
	must(err)
	ctx := context.Background()
	db, err := pool.Conn(ctx)
	must(err)
	run := func(text string) {
		_, err := db.ExecContext(ctx, text)
		must(err)
	}
	run("SELECT count(*) FROM t")
	fmt.Println("ready")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var what string
		var seconds float64
		_, err := fmt.Sscan(lines.Text(), &what, &seconds)
		must(err)
		pause := time.Duration(seconds * float64(time.Second))
		switch what {
		case "checkpoint":
			run(fmt.Sprintf("PRAGMA busy_timeout = %d", pause.Milliseconds()))
			now()
			run("PRAGMA wal_checkpoint(FULL)")
			now()
		case "rows":
			rows, err := db.QueryContext(ctx, "SELECT * FROM t")
			must(err)
			rows.Next()
			now()
			time.Sleep(pause)
			now()
			rows.Close()
		default:
			begin, statement := "BEGIN", "SELECT count(*) FROM t"
			if what == "write" {
				begin, statement = "BEGIN IMMEDIATE", "INSERT INTO t VALUES (1)"
			}
			run(begin)
			run(statement)
			now()
			time.Sleep(pause)
			now()
			run("COMMIT")
		}
	}
}
