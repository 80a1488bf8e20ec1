// Command litelab-runner-go runs one trial on a Go driver of SQLite or of a server, controlled by JSON on standard
// input. docs/reference/protocol.md specifies the messages.
//
// Read in this order: trial.go opens, starts and reports; worker.go is the loop; transaction.go is one execution.
// statement.go is the common part of the drivers of database/sql; mattn.go, modernc.go and ncruces.go are the specific
// parts. raw.go is the common part of drivers with an interface close to SQLite's C interface; zombiezen.go and
// ncruces_direct.go are the specific parts. queue.go supports libraries that offer a task queue in place of SQL, such
// as goqite.go. server.go is the common part of server connections; postgres.go and mysql.go are the specific parts.
// dsn.go opens connections by a name of the application. noop.go is a driver without a database. A new driver implements
// Driver (driver.go).
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
			// If this write fails too, there is no other way to report the error.
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

// decode reads one message. It rejects unknown fields, because every field is meant to have an effect.
func decode(text []byte, message any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	return decoder.Decode(message)
}
