package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// background is a context without a deadline, so that drivers start no goroutine to watch it.
var background = context.Background()

// connector opens connections for database/sql and applies the settings to each before its first use. So every
// connection of every pool is configured.
type connector struct {
	driver   driver.Driver
	dsn      string
	settings []Setting
}

func (c *connector) Connect(context.Context) (driver.Conn, error) {
	conn, err := c.driver.Open(c.dsn)
	if err != nil {
		return nil, err
	}
	for _, setting := range c.settings {
		if err := runToEnd(conn, setting.SQL); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", setting.SQL, err), conn.Close())
		}
	}
	return conn, nil
}

func (c *connector) Driver() driver.Driver { return c.driver }

// runToEnd runs one statement and discards its rows.
func runToEnd(conn driver.Conn, sql string) error {
	stmt, err := conn.Prepare(sql)
	if err != nil {
		return err
	}
	defer stmt.Close()
	queryer, able := stmt.(driver.StmtQueryContext)
	if !able {
		return fmt.Errorf("%T cannot query", stmt)
	}
	rows, err := queryer.QueryContext(background, nil)
	if err != nil {
		return err
	}
	row := make([]driver.Value, len(rows.Columns()))
	for err == nil {
		err = rows.Next(row)
	}
	if err == io.EOF {
		err = nil
	}
	return errors.Join(err, rows.Close())
}

// uriKeys are the URI keys that SQLite itself reads, https://sqlite.org/uri.html.
const uriKeys = "cache immutable mode modeof nolock psow vfs"

// wholeName is the option that is the whole data source name of an application, with {path} for the path of the
// database. It is passed on as it is, with keys that the driver drops and without `file:`, and the settings read back
// show what came of it.
const wholeName = "dsn"

// refuseUnknown checks options against the keys of a driver. Drivers silently ignore an unknown key, but every option
// of a trial is meant to have an effect.
func refuseUnknown(options map[string]any, keys string) error {
	for key := range options {
		if !slices.Contains(strings.Fields(keys), key) {
			return fmt.Errorf("option `%s`: this driver has none of that name, but %s", key, keys)
		}
	}
	return nil
}

// dsn returns the URI of the database, which all three drivers of database/sql accept, with the options as its keys.
func dsn(database *Database, options map[string]any) string {
	if name, given := options[wholeName].(string); given {
		return strings.ReplaceAll(name, "{path}", database.Path)
	}
	name := "file:" + strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(database.Path)
	separator := "?"
	switch {
	case database.Kind == "memory" && database.Shared:
		name = "file:" + database.Name + "?mode=memory&cache=shared"
		separator = "&"
	case database.Kind == "memory" && len(options) > 0:
		name = "file::memory:"
	case database.Kind == "memory":
		name = ":memory:"
	}
	for _, key := range slices.Sorted(maps.Keys(options)) {
		values, isList := options[key].([]any)
		if !isList {
			values = []any{options[key]}
		}
		for _, value := range values {
			name += separator + url.QueryEscape(key) + "=" + url.QueryEscape(fmt.Sprint(value))
			separator = "&"
		}
	}
	return name
}

// readBack returns the value of each PRAGMA after one read transaction, because some settings take effect at the first
// read of the file only.
func readBack(conn *sql.Conn, names []string) (map[string]any, error) {
	var count int64
	if err := conn.QueryRowContext(background, "SELECT count(*) FROM sqlite_schema").Scan(&count); err != nil {
		return nil, err
	}
	settings := map[string]any{}
	for _, name := range names {
		var value any
		err := conn.QueryRowContext(background, "PRAGMA "+name).Scan(&value)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return nil, fmt.Errorf("PRAGMA %s: %w", name, err)
		}
		column := valueOf(value)
		if column.Kind == Other {
			return nil, fmt.Errorf("PRAGMA %s: %w", name, errBlob)
		}
		settings[name] = column.boxed()
	}
	return settings, nil
}
