// Command goqiteschema copies goqite's schema next to the runner, which embeds it. The library requires the application
// to run the schema, and no package of its module embeds the file.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	folder, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "maragu.dev/goqite").Output()
	if err == nil {
		var schema []byte
		if schema, err = os.ReadFile(filepath.Join(strings.TrimSpace(string(folder)), "schema_sqlite.sql")); err == nil {
			err = os.WriteFile("goqite_schema.sql", schema, 0o644)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "goqite's schema:", err)
		os.Exit(1)
	}
}
