package main

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/driver"
	_ "github.com/ncruces/go-sqlite3/embed" // the embedded SQLite
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	_ "litelab/runners/go/rename" // mattn registers the same name
)

// ncruces is SQLite compiled to WebAssembly and run by wazero, with one instance per connection. It waits up to one
// minute for a lock, and not at all if the DSN has any `_pragma`. 0.32.0 is the last version of this kind; later ones
// need a separate module for the WebAssembly.
var ncruces = Driver{
	Name:   "ncruces",
	Module: "github.com/ncruces/go-sqlite3",
	Open: func(database *Database, connection *Connection) (Client, error) {
		if database.Kind == "memory" && database.Shared {
			return nil, errNoSharedCache
		}
		return openSQL(&driver.SQLite{}, "_pragma _timefmt _txlock", database, connection)
	},
	OpenDSN: byName("ncruces"), // its own name is that of mattn
	Code: func(err error) (string, bool) {
		var said sqlite3.ExtendedErrorCode
		if errors.As(err, &said) {
			return codeName(int(said)), true
		}
		return "", false
	},
}

// An application compiles the WebAssembly once at its start; a runner starts for each trial. The result of wazero is
// therefore cached in the user's cache directory: loading takes milliseconds, compiling takes seconds on all
// processors. The other settings are the library's defaults.
func init() {
	folder, err := os.UserCacheDir()
	if err != nil {
		return
	}
	cache, err := wazero.NewCompilationCacheWithDir(filepath.Join(folder, "litelab", "wazero"))
	if err != nil {
		return
	}
	sqlite3.RuntimeConfig = wazero.NewRuntimeConfig().
		WithMemoryLimitPages(4096).
		WithCoreFeatures(api.CoreFeaturesV2).
		WithCompilationCache(cache)
}

var errNoSharedCache = errors.New("this SQLite has no shared cache, a database in memory is private to a connection")
