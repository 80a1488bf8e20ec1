package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
)

// runnerVersion is the version reported for noop.
const runnerVersion = "0.1.0"

// sharings are the kinds of sharing that openAll supports. executors: goroutines, or several processes with goroutines.
var (
	sharings  = []string{"own-connection", "one-connection", "pool", "app-lock", "writer-readers"}
	executors = []string{"threads", "processes"}
)

func describe() (*Description, error) {
	d := &Description{Protocol: Version, Runner: "go", Language: "go", Runtime: runtime.Version()}
	for _, driver := range drivers {
		description := DriverDescription{
			Name: driver.Name, Version: moduleVersion(driver.Module), Sharings: driver.sharings(), Executors: executors,
			Interface: driver.Interface, Dialect: driver.Dialect,
		}
		if driver.Module != "" && driver.Dialect == "" {
			build, err := sqliteBuild(cmp.Or(driver.Under, driver))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", driver.Name, err)
			}
			description.SQLite = build
		}
		d.Drivers = append(d.Drivers, description)
	}
	return d, nil
}

func (d *Driver) sharings() []string {
	if d.Sharings != nil {
		return d.Sharings
	}
	return sharings
}

// moduleVersion returns the version of the module linked into the program.
func moduleVersion(path string) string {
	if path == "" {
		return runnerVersion
	}
	if info, known := debug.ReadBuildInfo(); known {
		for _, module := range info.Deps {
			if module.Path == path {
				return module.Version
			}
		}
	}
	return "unknown"
}

// sqliteBuild queries the SQLite of a driver with statements like those of a trial, so that drivers need no function
// beyond Session for it.
func sqliteBuild(driver *Driver) (build *SQLiteBuild, err error) {
	client, err := driver.Open(&Database{Kind: "memory", Name: "describe"}, &Connection{})
	if err != nil {
		return nil, err
	}
	defer client.Close()
	session, err := client.Session()
	if err != nil {
		return nil, err
	}
	defer session.Close()
	first := func(sql, name string) Statement {
		return Statement{SQL: sql, Tuples: 1, Repeat: 1, Fetch: "first", Work: Work{Kind: "read"}, Yields: []string{name}}
	}
	// One option at a time, because a statement yields its first row only.
	option := first("SELECT compile_options FROM pragma_compile_options LIMIT 1 OFFSET ?1", "option")
	option.Bind = []int{0}
	spec := Transaction{Begin: "none", Statements: []Statement{
		first("SELECT sqlite_version()", "version"), first("SELECT sqlite_source_id()", "source"), option,
	}}
	if err := session.Prepare([]Transaction{spec}, []int{0}, false); err != nil {
		return nil, err
	}
	ask := func(statement int, slots ...Value) (string, bool, error) {
		effect := Effect{Yielded: make([]Value, 1)}
		call := Call{Statement: statement, Spec: &spec.Statements[statement], Slots: slots, Yields: []int{0}}
		rows, err := session.Execute(&call, &effect)
		return effect.Yielded[0].Text, rows > 0, err
	}
	build = &SQLiteBuild{CompileOptions: []string{}}
	if build.Version, _, err = ask(0); err != nil {
		return nil, err
	}
	if build.SourceID, _, err = ask(1); err != nil {
		return nil, err
	}
	for n := int64(0); ; n++ {
		option, more, err := ask(2, Value{Kind: Integer, Integer: n})
		if err != nil || !more {
			return build, err
		}
		build.CompileOptions = append(build.CompileOptions, option)
	}
}
