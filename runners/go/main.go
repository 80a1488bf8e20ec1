// Command litelab-runner-go runs one trial on a Go driver of SQLite or a server, driven by JSON on standard input.
// docs/PROTOCOL.md is its contract.
//
// Read in this order: trial.go opens, starts and reports; worker.go is the loop; transaction.go is one execution;
// statement.go is what the drivers of database/sql have in common, and mattn.go, modernc.go and ncruces.go what they
// do not; raw.go is what those with an interface of their own close to C's have in common, zombiezen.go and
// ncruces_direct.go what they do not; queue.go is for a library that offers a task queue in place of SQL, goqite.go one of
// them; server.go is what connections to a server have in common, postgres.go and mysql.go what they do not; noop.go is a
// driver without a database. A new one implements Driver (driver.go).
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
)

func main() {
	verb := ""
	if len(os.Args) == 2 {
		verb = os.Args[1]
	}
	switch verb {
	case "describe":
		reply(describe())
	case "inspect":
		reply(inspect(os.Stdin))
	case "run":
		if err := runTrial(os.Stdin); err != nil {
			// Nobody is left to tell where even this cannot be written.
			_ = say(newFailed(err))
			os.Exit(1)
		}
	default:
		fmt.Fprintln(os.Stderr, "usage: litelab-runner-go describe|run|inspect")
		os.Exit(2)
	}
}

func reply[T any](answer T, err error) {
	if err == nil {
		err = say(answer)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// decode reads one message; a field it does not know was meant to have an effect.
func decode(text []byte, message any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	return decoder.Decode(message)
}
