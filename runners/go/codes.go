package main

import (
	_ "embed"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
)

// A copy of crates/protocol/result-codes.json, because go:embed cannot read outside a module. A test compares the two.
//
//go:embed result-codes.json
var codeTable []byte

var codeByName, nameByCode = readCodes()

func readCodes() (map[string]int, map[int]string) {
	byName := map[string]int{}
	if err := json.Unmarshal(codeTable, &byName); err != nil {
		panic(err) // the file is part of the program
	}
	byCode := make(map[int]string, len(byName))
	for name, code := range byName {
		byCode[code] = name
	}
	return byName, byCode
}

// serverTable contains the error names of servers by SQLSTATE and by number, and the names of connection errors. It is
// a copy of crates/protocol/server-codes.json for the same reason.
//
//go:embed server-codes.json
var serverTable []byte

var serverCodes = readServerCodes()

type serverNames struct {
	Postgres   map[string]string `json:"postgres"`
	Mysql      map[string]string `json:"mysql"`
	Connection []string          `json:"connection"`
}

func readServerCodes() (names serverNames) {
	if err := json.Unmarshal(serverTable, &names); err != nil {
		panic(err) // the file is part of the program
	}
	return names
}

// unlisted matches the forms of server error codes that are not in the table.
var unlisted = map[string]*regexp.Regexp{
	postgresDialect: regexp.MustCompile(`^sqlstate_[0-9A-Z]{5}$`), mysqlDialect: regexp.MustCompile(`^ER_[0-9]+$`),
}

// isName reports whether errors of this dialect can have this name.
func isName(dialect, name string) bool {
	listed := func(names map[string]string) bool { return slices.Contains(slices.Collect(maps.Values(names)), name) }
	switch dialect {
	case postgresDialect:
		return listed(serverCodes.Postgres) || slices.Contains(serverCodes.Connection, name) || unlisted[dialect].MatchString(name)
	case mysqlDialect:
		return listed(serverCodes.Mysql) || slices.Contains(serverCodes.Connection, name) || unlisted[dialect].MatchString(name)
	}
	_, known := codeByName[name]
	return known
}

// standsFor reports whether a listed name covers a seen one: a primary result code of SQLite covers its extended codes,
// any other name only itself.
func standsFor(listed, seen string) bool {
	if listed == seen {
		return true
	}
	code, known := codeByName[seen]
	return known && nameByCode[code&0xFF] == listed
}

// contending lists the errors that ticks count as busy.
var contending = []string{
	"SQLITE_BUSY", "serialization_failure", "deadlock_detected", "ER_LOCK_DEADLOCK", "ER_LOCK_WAIT_TIMEOUT",
}

// codeName returns the name of an extended result code. An unknown extended code has the name of its primary code, the
// low byte.
func codeName(code int) string {
	for _, c := range [...]int{code, code & 0xFF} {
		if name, known := nameByCode[c]; known {
			return name
		}
	}
	return "SQLITE_UNKNOWN"
}
