package main

import (
	_ "embed"
	"encoding/json"
)

// A copy of protocol/result-codes.json: go:embed does not reach outside a module. A test compares the two.
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

// codeName gives the extended name of a result code; of an unknown extended code that of its primary code, the low
// byte.
func codeName(code int) string {
	for _, c := range [...]int{code, code & 0xFF} {
		if name, known := nameByCode[c]; known {
			return name
		}
	}
	return "SQLITE_UNKNOWN"
}
