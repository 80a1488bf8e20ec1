// Package rename allows two drivers that register the same name in one program.
//
// Both mattn and ncruces call sql.Register("sqlite3") during initialisation, and the second call panics. ncruces keeps
// its name in a variable intended for the linker's -X option; this package sets it for every way of building, tests
// included. It runs early enough, because a package without imports is initialised before any package whose imports
// (there strings, time, …) sort after it, see https://go.dev/ref/spec#Program_initialization.
package rename

import _ "unsafe" // for go:linkname

//go:linkname driverName github.com/ncruces/go-sqlite3/driver.driverName
var driverName string

func init() { driverName = "ncruces" }
