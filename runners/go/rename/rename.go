// Package rename lets two drivers that register themselves under the same name live in one program.
//
// Both mattn and ncruces call sql.Register("sqlite3") when they are initialised, and the second one panics. ncruces
// keeps its name in a variable meant to be replaced with the linker's -X; this replaces it for every way of building,
// tests included. It comes in time: a package without imports is initialised before any whose imports (there strings,
// time, …) sort after it, see https://go.dev/ref/spec#Program_initialization.
package rename

import _ "unsafe" // for go:linkname

//go:linkname driverName github.com/ncruces/go-sqlite3/driver.driverName
var driverName string

func init() { driverName = "ncruces" }
