package main

import (
	"bufio"
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestMain runs the test program as the runner if RUNNER_VERB is set.
func TestMain(m *testing.M) {
	if verb := os.Getenv("RUNNER_VERB"); verb != "" {
		os.Args = []string{os.Args[0], verb}
		addSpinner()
		main()
		return
	}
	os.Exit(m.Run())
}

func runner(verb string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "RUNNER_VERB="+verb)
	cmd.Stderr = os.Stderr
	return cmd
}

// heard is the output of a runner.
type heard struct {
	ready  []ConnectionSettings
	ticked Counts // sum of all ticks
	last   int64  // time of the last tick, in milliseconds
	result *heardResult
	failed *Failed
	exit   int
}

// heardResult is a Result with its histograms as text.
type heardResult struct {
	ElapsedNs  int64 `json:"elapsed_ns"`
	MeasuredNs int64 `json:"measured_ns"`
	Operations []struct {
		Role, Transaction                                         string
		Committed, Empty, Failed, Ended, Measured, Rows, Unserved uint64
		Counters                                                  map[string]uint64
		Unfinished                                                []Unfinished
		Errors                                                    map[string]ErrorCount
		Service                                                   string
		Timers                                                    map[string]string
	}
	Workers []WorkerResult
	Timers  map[string]string
}

func has(timers map[string]string, name string) bool { return timers[name] != "" }

// converse runs a trial. It calls between, if not nil, after `ready` and before `go`.
func converse(t *testing.T, trial *Trial, between func()) heard {
	t.Helper()
	cmd := runner("run")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stuck := time.AfterFunc(5*time.Minute, func() { _ = cmd.Process.Kill() })
	defer stuck.Stop()
	if err := json.NewEncoder(in).Encode(trial); err != nil {
		t.Fatal(err)
	}
	var h heard
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var message struct {
			Type        string
			Connections []ConnectionSettings
			Counts      []TickCount
			TMs         int64 `json:"t_ms"`
		}
		if err := json.Unmarshal(lines.Bytes(), &message); err != nil {
			t.Fatalf("%s: %v", lines.Bytes(), err)
		}
		switch message.Type {
		case "ready":
			h.ready = message.Connections
			if between != nil {
				between()
			}
			fmt.Fprintln(in, `{"type":"go"}`)
		case "tick":
			for _, count := range message.Counts {
				h.ticked.add(&count.Counts)
			}
			h.last = message.TMs
		case "result":
			h.result = &heardResult{}
			err = json.Unmarshal(lines.Bytes(), h.result)
		case "failed":
			h.failed = &Failed{}
			err = json.Unmarshal(lines.Bytes(), h.failed)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	_ = cmd.Wait()
	h.exit = cmd.ProcessState.ExitCode()
	if (h.exit == 0) != (h.result != nil) || (h.exit == 1) != (h.failed != nil) {
		t.Fatalf("exit code %d, result %v, failed %v", h.exit, h.result, h.failed)
	}
	return h
}

// addsUp compares the counts by operation, worker and tick, and the workers' time with the window of their role.
func (h *heard) addsUp(t *testing.T, trial *Trial) {
	t.Helper()
	var counts Counts
	var ended, committed, endedOfWorkers uint64
	for _, o := range h.result.Operations {
		counts.add(&Counts{Committed: o.Committed, Empty: o.Empty, Failed: o.Failed})
		for _, count := range o.Errors {
			counts.Errors += count.Seen
		}
		ended += o.Ended
	}
	counts.Busy = h.ticked.Busy
	for _, w := range h.result.Workers {
		committed, endedOfWorkers = committed+w.Committed, endedOfWorkers+w.Ended
		until := trial.Roles[roleNamed(trial, w.Role)].Until
		if window := max(until.Ms-trial.WarmupMs, 0) * 1_000_000; until.Kind == "time" && w.InsideNs+w.OutsideNs != window {
			t.Errorf("%s: %d ns inside and %d ns outside of %d ns", w.Role, w.InsideNs, w.OutsideNs, window)
		}
		if w.InsideNs < 0 || w.OutsideNs < 0 || w.StallNs > h.result.ElapsedNs {
			t.Errorf("%+v", w)
		}
	}
	if counts != h.ticked || counts.Committed != committed || ended != endedOfWorkers || ended > committed {
		t.Errorf("%+v by operation, %+v by tick, %d by worker; %d ended by operation, %d by worker", counts, h.ticked, committed, ended, endedOfWorkers)
	}
}

// run is like converse, for a trial that must succeed.
func run(t *testing.T, trial *Trial, between func()) *heardResult {
	t.Helper()
	h := converse(t, trial, between)
	if h.failed != nil {
		t.Fatal(h.failed.Reason)
	}
	h.addsUp(t, trial)
	return h.result
}

// real lists the SQL drivers of SQLite.
var real = []string{"mattn", "modernc", "ncruces", "ncruces-direct", "zombiezen"}

func each(t *testing.T, names []string, test func(t *testing.T, driver string)) {
	for _, name := range names {
		t.Run(name, func(t *testing.T) { test(t, name) })
	}
}

const table = "CREATE TABLE t(id INTEGER PRIMARY KEY, worker INTEGER, value TEXT, hash TEXT UNIQUE)"

// file creates a database that contains the table.
func file(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a b%20?#.db")
	query(t, path, table)
	return path
}

// query runs a statement and returns its first column.
func query(t *testing.T, path, text string) (integers []int64) {
	t.Helper()
	db, err := sql.Open("sqlite3", dsn(&Database{Kind: "file", Path: path}, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query(text)
	if err != nil {
		t.Fatal(text, err)
	}
	defer rows.Close()
	for rows.Next() {
		var i int64
		if err := rows.Scan(&i); err != nil {
			t.Fatal(text, err)
		}
		integers = append(integers, i)
	}
	return integers
}

func insert() Transaction {
	return Transaction{Name: "insert", Begin: "immediate", Writes: true, Params: []Param{
		{"id", Source{Kind: "sequence", Step: 1}}, {"worker", Source{Kind: "worker"}},
		{"value", Source{Kind: "hex", Bytes: 9}}, {"hash", Source{Kind: "sha256-of", Param: 2}},
	}, Statements: []Statement{plain("INSERT INTO t VALUES (?1, ?2, ?3, ?4), (?5, ?6, ?7, ?8)", 2, 0, 1, 2, 3)}}
}

func plain(text string, tuples int, bind ...int) Statement {
	return Statement{SQL: text, Bind: bind, Tuples: tuples, Repeat: 1, Fetch: "none", Work: Work{Kind: "none"}}
}

// trialOf creates a trial with one role per transaction, with this number of workers and transactions.
func trialOf(driver, path string, sharing Sharing, workers int, count uint64, transactions ...Transaction) *Trial {
	settings := []Setting{pragma("journal_mode", "WAL"), pragma("synchronous", "OFF"), pragma("busy_timeout", "5000")}
	trial := &Trial{
		Protocol: Version, ID: "t", Driver: driver, Executor: "threads", Sharing: sharing, Prepare: "once", Seed: 1,
		Databases: []Database{{Kind: "file", Path: path}}, Connection: Connection{Settings: settings},
		Retry: Retry{Attempts: 1, Multiplier: 1}, Transactions: transactions, TickMs: 20, ProbeMs: 5, DrainMs: 60_000,
	}
	for i, transaction := range transactions {
		trial.Roles = append(trial.Roles, Role{
			Name: "r-" + transaction.Name, Workers: workers, FirstWorker: i * workers, WorkersInRole: uint64(workers),
			Order: "cycle", Steps: []Step{{Transaction: i, Weight: 1, Stride: uint64(workers)}},
			Load: Load{Kind: "closed"}, Until: Until{Kind: "count", Transactions: count},
		})
	}
	return trial
}

var ownConnection = Sharing{Kind: "own-connection"}

func TestCountsAreTheRows(t *testing.T) {
	each(t, append([]string{"noop"}, real...), func(t *testing.T, driver string) {
		for _, sharing := range []Sharing{ownConnection, {Kind: "one-connection"}, {Kind: "pool", Connections: 2}, {Kind: "app-lock"}, {Kind: "writer-readers", Readers: 2}} {
			path := file(t)
			read := Transaction{Name: "read", Begin: "none", TimedRows: sharing.Kind != "one-connection", Statements: []Statement{plain("SELECT value, hash FROM t ORDER BY id DESC LIMIT 3", 1)}}
			read.Statements[0].Fetch, read.Statements[0].Work = "all", Work{"verify", "value", "hash"}
			trial := trialOf(driver, path, sharing, 3, 50, insert(), read)
			trial.Connection.ReadBack = []string{"journal_mode", "synchronous", "busy_timeout"}
			if sharing.Kind == "pool" {
				trial.Prepare = "each"
			}
			result := run(t, trial, nil)
			wait := map[string]bool{"insert": sharing.Kind != "own-connection", "read": sharing.Kind != "own-connection" && sharing.Kind != "app-lock"}
			for _, o := range result.Operations {
				if o.Committed != 50 || o.Measured != 50 || o.Failed+o.Empty != 0 || has(o.Timers, "wait") != wait[o.Transaction] || has(o.Timers, "query") != (o.Transaction == "read" && sharing.Kind != "one-connection") {
					t.Errorf("%s: %+v", sharing.Kind, o)
				}
				if o.Transaction == "read" && driver != "noop" && (o.Counters["verified"] != o.Rows || o.Counters["mismatches"] != 0) {
					t.Errorf("%s: %d rows, %d verified, %d wrong", sharing.Kind, o.Rows, o.Counters["verified"], o.Counters["mismatches"])
				}
				if o.Transaction == "insert" && driver != "noop" && o.Rows != 100 {
					t.Errorf("%s: %d rows", sharing.Kind, o.Rows)
				}
			}
			if driver == "noop" {
				continue
			}
			if seen := query(t, path, "SELECT count(*) FROM t WHERE id < 100 AND worker = id / 2 % 3"); seen[0] != 100 {
				t.Errorf("%s: %d of 100 rows are those of their workers", sharing.Kind, seen[0])
			}
		}
	})
}

func TestSettingsAreThoseAskedForOnEveryConnection(t *testing.T) {
	each(t, real, func(t *testing.T, driver string) {
		labels := map[string]string{"own-connection": "r-insert r-insert r-insert", "one-connection": "shared", "pool": "pool pool",
			"app-lock": "r-insert r-insert r-insert", "writer-readers": "writer reader reader"}
		for kind, want := range labels {
			// On every open mattn sets synchronous = NORMAL (1), and zombiezen WAL.
			trial := trialOf(driver, file(t), Sharing{kind, 2, 2}, 3, 3, insert())
			trial.Connection = Connection{
				Settings: []Setting{pragma("journal_mode", "DELETE"), pragma("synchronous", "FULL"), pragma("busy_timeout", "1234"), pragma("cache_size", "-3456")},
				ReadBack: []string{"journal_mode", "synchronous", "busy_timeout", "cache_size", "no_such_pragma"},
			}
			h := converse(t, trial, nil)
			if h.failed != nil {
				t.Fatal(h.failed.Reason)
			}
			var got []string
			for _, connection := range h.ready {
				got = append(got, connection.Label)
				settings := fmt.Sprint(connection.Settings)
				if settings != "map[busy_timeout:1234 cache_size:-3456 journal_mode:delete no_such_pragma:<nil> synchronous:2]" {
					t.Errorf("%s: %s", kind, settings)
				}
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%s: connections %v", kind, got)
			}
		}
	})
}

func TestAsItComes(t *testing.T) {
	want := map[string]string{
		"mattn":          "map[busy_timeout:5000 foreign_keys:0 journal_mode:delete synchronous:1]",
		"modernc":        "map[busy_timeout:0 foreign_keys:0 journal_mode:delete synchronous:2]",
		"ncruces":        "map[busy_timeout:60000 foreign_keys:1 journal_mode:delete synchronous:2]",
		"ncruces-direct": "map[busy_timeout:0 foreign_keys:1 journal_mode:delete synchronous:2]",
		"zombiezen":      "map[busy_timeout:0 foreign_keys:0 journal_mode:wal synchronous:2]",
	}
	each(t, real, func(t *testing.T, driver string) {
		request, err := json.Marshal(Inspect{Protocol: Version, Driver: driver, Database: file(t), Connections: 3,
			Settings: []Setting{}, ReadBack: []string{"journal_mode", "synchronous", "busy_timeout", "foreign_keys"}})
		if err != nil {
			t.Fatal(err)
		}
		cmd := runner("inspect")
		cmd.Stdin = bytes.NewReader(request)
		text, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		var answer Inspection
		if err := json.Unmarshal(text, &answer); err != nil || len(answer.Connections) != 3 {
			t.Fatal(string(text), err)
		}
		for _, connection := range answer.Connections {
			if got := fmt.Sprint(connection.Settings); got != want[driver] {
				t.Errorf("%s", got)
			}
		}
	})
}

// inspected returns the answer to inspect with this data source name.
func inspected(t *testing.T, driver, dsn string, options map[string]any) Inspection {
	t.Helper()
	request, err := json.Marshal(Inspect{Protocol: Version, Driver: driver, Connections: 2, Options: options,
		Settings: []Setting{}, ReadBack: []string{"busy_timeout", "foreign_keys"}, DSN: &dsn})
	if err != nil {
		t.Fatal(err)
	}
	cmd := runner("inspect")
	cmd.Stdin = bytes.NewReader(request)
	text, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var answer Inspection
	if err := json.Unmarshal(text, &answer); err != nil || len(answer.Connections) != 2 {
		t.Fatal(string(text), err)
	}
	return answer
}

// A key of another driver is ignored without an error, as in an application.
func TestDSNHasTheEffectOfTheDriver(t *testing.T) {
	for _, c := range []struct{ driver, dsn, settings, upgrade string }{
		{"mattn", "FILE", "busy_timeout:5000 foreign_keys:0", "fails"},
		{"mattn", "file:FILE?_busy_timeout=77&_fk=1&_txlock=immediate", "busy_timeout:77 foreign_keys:1", "immediate"},
		{"mattn", "file:FILE?_pragma=busy_timeout(77)&_journal_mode=wal", "busy_timeout:5000 foreign_keys:0", "fails"},
		{"mattn", "file:FILE?cache=shared", "busy_timeout:5000 foreign_keys:0", ""},
		{"mattn", "file:FILE?mode=ro", "busy_timeout:5000 foreign_keys:0", ""},
		{"mattn", "file::memory:?cache=shared", "busy_timeout:5000 foreign_keys:0", ""},
		{"mattn", ":memory:", "busy_timeout:5000 foreign_keys:0", ""},
		{"modernc", "FILE", "busy_timeout:0 foreign_keys:0", "fails"},
		{"modernc", "file:FILE?_pragma=busy_timeout(77)&_pragma=foreign_keys(1)&_txlock=immediate", "busy_timeout:77 foreign_keys:1", "immediate"},
		{"modernc", "FILE?_pragma=journal_mode(wal)", "busy_timeout:0 foreign_keys:0", "fails"},
		{"modernc", "file:FILE?_cache_size=77", "busy_timeout:0 foreign_keys:0", "fails"},
		{"ncruces", "file:FILE?_pragma=busy_timeout(77)&_pragma=journal_mode(wal)", "busy_timeout:77 foreign_keys:1", "fails"},
		{"ncruces", "file:FILE?_txlock=immediate&_busy_timeout=77", "busy_timeout:60000 foreign_keys:1", "immediate"},
		{"ncruces-direct", "file:FILE?_pragma=busy_timeout(77)", "busy_timeout:77 foreign_keys:1", "fails"},
		{"ncruces-direct", "file:FILE?_busy_timeout=77", "busy_timeout:0 foreign_keys:1", "fails"},
		{"zombiezen", "file:FILE?_busy_timeout=77", "busy_timeout:0 foreign_keys:0", "fails"},
	} {
		t.Run(c.driver+" "+c.dsn, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "plain.db")
			query(t, path, table)
			answer := inspected(t, c.driver, strings.Replace(c.dsn, "FILE", path, 1), map[string]any{})
			for _, connection := range answer.Connections {
				if got := fmt.Sprint(connection.Settings); got != "map["+c.settings+"]" {
					t.Errorf("settings: %s", got)
				}
			}
			if answer.Upgrade != c.upgrade {
				t.Errorf("upgrade: %q", answer.Upgrade)
			}
			pooled := !slices.Contains([]string{"ncruces-direct", "zombiezen"}, c.driver)
			if answer.Replaced == nil == pooled || pooled && fmt.Sprint(answer.Replaced.Settings) != "map["+c.settings+"]" {
				t.Errorf("replaced: %v", answer.Replaced)
			}
		})
	}
}

// A setting that the application sends once, and not in the name, is lost with the connection.
func TestAReplacedConnectionHasTheSettingsOfTheName(t *testing.T) {
	name := filepath.Join(t.TempDir(), "plain.db") + "?_pragma=busy_timeout(77)"
	request := fmt.Sprintf(`{"protocol": %d, "driver": "modernc", "connections": 2, "dsn": %q, "read_back": ["busy_timeout"],
		"settings": [{"name": "busy_timeout", "sql": "PRAGMA busy_timeout = 99"}]}`, Version, name)
	answer, err := inspect(strings.NewReader(strings.ReplaceAll(request, "\n", "") + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(answer.Connections[1].Settings, answer.Replaced.Settings); got != "map[busy_timeout:99] map[busy_timeout:77]" {
		t.Error(got)
	}
}

func TestDSNIsRefusedWhereItMeansNothing(t *testing.T) {
	for driver, want := range map[string]string{"noop": "`dsn`", "goqite": "`dsn`", "postgres": "`dsn`", "mattn": "no options"} {
		request := fmt.Sprintf(`{"protocol": %d, "driver": %q, "connections": 2, "options": {"_fk": 1}, "dsn": "x"}`, Version, driver)
		if _, err := inspect(strings.NewReader(request)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", driver, err)
		}
	}
}

// lock holds the write lock until it is closed.
func lock(t *testing.T, path string) *sql.DB {
	t.Helper()
	held, err := sql.Open("sqlite3", dsn(&Database{Kind: "file", Path: path}, map[string]any{"_txlock": "immediate"}))
	if err == nil {
		_, err = held.Begin()
	}
	if err != nil {
		t.Error(err)
	}
	t.Cleanup(func() { _ = held.Close() })
	return held
}

// errorsOf runs a trial and returns the counts of its first operation.
func errorsOf(t *testing.T, trial *Trial, between func()) string {
	t.Helper()
	o := run(t, trial, between).Operations[0]
	counts := map[string][2]uint64{}
	for name, count := range o.Errors {
		if counts[name] = [2]uint64{count.Seen, count.Cured}; count.Message == "" || strings.Contains(count.Message, "\n") {
			t.Errorf("%s: the message is %q", name, count.Message)
		}
	}
	return fmt.Sprint(o.Committed, o.Failed, counts)
}

func TestErrorsHaveTheirExtendedNames(t *testing.T) {
	each(t, real, func(t *testing.T, driver string) {
		path := file(t)
		same := Transaction{Name: "same", Begin: "immediate", Writes: true, Statements: []Statement{
			plain("INSERT INTO t(hash) VALUES ('first')", 1), plain("INSERT INTO t(hash) VALUES ('x'), ('x')", 1)}}
		if got := errorsOf(t, trialOf(driver, path, ownConnection, 1, 2, same), nil); got != "0 2 map[SQLITE_CONSTRAINT_UNIQUE:[2 0]]" {
			t.Error(got)
		}
		if rows := query(t, path, "SELECT count(*) FROM t"); rows[0] != 0 {
			t.Errorf("%d rows of what was rolled back", rows[0])
		}
		trial := trialOf(driver, path, ownConnection, 1, 1, insert())
		trial.Connection.Settings[2] = pragma("busy_timeout", "0")
		trial.Retry = Retry{3, 1000, 1, 1000, []string{"SQLITE_BUSY"}}
		var held *sql.DB
		got := errorsOf(t, trial, func() {
			held = lock(t, path)
		})
		_ = held.Close()
		if got != "0 1 map[SQLITE_BUSY:[3 0]]" {
			t.Error(got)
		}
	})
}

// TestARetryCuresABusySnapshot checks that a transaction that has read cannot write after another commit, but can after
// a restart.
func TestARetryCuresABusySnapshot(t *testing.T) {
	each(t, real, func(t *testing.T, driver string) {
		late := insert()
		late.Name, late.Begin = "late", "deferred"
		late.Statements = append([]Statement{plain("SELECT count(*) FROM t", 1)}, late.Statements...)
		late.Statements[0].Fetch, late.Statements[0].HoldUs = "all", 300_000
		early := insert()
		early.HoldUs = 80_000
		// On a busy machine one may begin after the other has ended.
		inOneOfFive(t, func() error {
			path := file(t)
			trial := trialOf(driver, path, ownConnection, 1, 1, late, early)
			trial.Roles[1].Steps[0].Offset = 1
			trial.Retry = Retry{2, 0, 1, 0, []string{"SQLITE_BUSY"}}
			got := errorsOf(t, trial, nil)
			if rows := query(t, path, "SELECT count(*) FROM t"); rows[0] != 4 {
				t.Errorf("%d rows", rows[0])
			}
			if got != "1 0 map[SQLITE_BUSY_SNAPSHOT:[1 1]]" {
				return fmt.Errorf("%s", got)
			}
			return nil
		})
	})
}

func TestYieldsAreBoundAndNoRowIsEmpty(t *testing.T) {
	each(t, real, func(t *testing.T, driver string) {
		path := file(t)
		query(t, path, "INSERT INTO t(id) VALUES (1), (2), (3)")
		claim := Transaction{Name: "claim", Begin: "immediate", Writes: true, Params: []Param{{"id", Source{Kind: "yielded", Name: "id"}}}}
		update := plain("UPDATE t SET worker = 7 WHERE id = (SELECT id FROM t WHERE worker IS NULL LIMIT 1) RETURNING id", 1)
		update.Fetch, update.Yields, update.Required = "first", []string{"id"}, true
		claim.Statements = []Statement{update, plain("UPDATE t SET value = 'of ' || ?1 WHERE id = ?1", 1, 0)}
		o := run(t, trialOf(driver, path, ownConnection, 1, 5, claim), nil).Operations[0]
		if o.Committed != 3 || o.Empty != 2 || o.Rows != 6 {
			t.Errorf("%+v", o)
		}
		if rows := query(t, path, "SELECT count(*) FROM t WHERE worker = 7 AND value = 'of ' || id"); rows[0] != 3 {
			t.Errorf("%d rows are right", rows[0])
		}
	})
}

func TestFetchTakesAsManyAsAskedFor(t *testing.T) {
	each(t, real, func(t *testing.T, driver string) {
		const series = "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1) SELECT i, i / 2.0, 'x' || i, NULL, x'00ff' FROM n"
		for fetch, want := range map[string]uint64{"none": 12, "first": 1, "all": 12, "buffer": 12} {
			read := Transaction{Name: "read", Begin: "none", Params: []Param{{"n", Source{Kind: "value", Value: []byte("12")}}}, Statements: []Statement{plain(series, 1, 0)}}
			read.Statements[0].Fetch, read.Statements[0].Work.Kind = fetch, "read"
			o := run(t, trialOf(driver, file(t), ownConnection, 1, 2, read), nil).Operations[0]
			if o.Rows != 2*want {
				t.Errorf("%s: %d rows of %d", fetch, o.Rows, 2*want)
			}
		}
	})
}

func TestDatabasesInMemory(t *testing.T) {
	each(t, real, func(t *testing.T, driver string) {
		for _, shared := range []bool{false, true} {
			dump := filepath.Join(t.TempDir(), "dump.db")
			trial := trialOf(driver, "", Sharing{Kind: "pool", Connections: 2}, 2, 10, insert())
			if !shared {
				trial.Sharing = Sharing{Kind: "one-connection"}
			}
			trial.Databases = []Database{{Kind: "memory", Shared: shared, Name: "m", Setup: []string{table},
				Teardown: []string{"VACUUM INTO '" + dump + "'"}}}
			trial.Connection.Settings = nil
			trial.Retry = Retry{1_000_000, 100, 1, 100, []string{"SQLITE_LOCKED"}}
			if shared && strings.HasPrefix(driver, "ncruces") {
				if h := converse(t, trial, nil); h.failed == nil || !strings.Contains(h.failed.Reason, "shared cache") {
					t.Errorf("%+v", h)
				}
				continue
			}
			run(t, trial, nil)
			if rows := query(t, dump, "SELECT count(*) FROM t"); rows[0] != 20 {
				t.Errorf("shared %v: %d rows", shared, rows[0])
			}
		}
	})
}

func TestWhatCannotBeRunFails(t *testing.T) {
	each(t, real, func(t *testing.T, driver string) {
		for want, change := range map[string]func(*Trial){
			"SQLITE_ERROR":    func(t *Trial) { t.Transactions[0].Statements[0].SQL = "INSRT" },
			"SQLITE_CANTOPEN": func(t *Trial) { t.Databases[0].Path = "/no/such/folder/x.db" },
			"":                func(t *Trial) { t.Connection.Options = map[string]any{"no_such_option": true} },
		} {
			trial := trialOf(driver, file(t), ownConnection, 1, 1, insert())
			change(trial)
			h := converse(t, trial, nil)
			if h.failed == nil || (h.failed.Code == nil) != (want == "") || h.failed.Code != nil && !strings.HasPrefix(*h.failed.Code, want) {
				t.Errorf("%s: %+v", want, h.failed)
			}
		}
	})
}

func TestAWorkerTellsItsLongestTimeWithoutACommit(t *testing.T) {
	slow, never := insert(), Transaction{Name: "never", Begin: "none", Statements: []Statement{plain("SELECT id FROM t WHERE 0", 1)}}
	slow.HoldUs = 20_000
	never.Statements[0].Fetch, never.Statements[0].Required = "first", true
	result := run(t, trialOf("mattn", file(t), ownConnection, 1, 3, slow, never), nil)
	for _, w := range result.Workers {
		switch {
		case w.Role == "r-insert" && (w.Committed != 3 || w.StallNs < 20_000_000):
			t.Errorf("%d ns, though each takes 20 ms", w.StallNs)
		// An execution that finds no row commits nothing, so all of its time is without a commit.
		case w.Role == "r-never" && (w.Committed != 0 || w.StallNs < w.InsideNs || w.InsideNs == 0):
			t.Errorf("%d ns of %d", w.StallNs, w.InsideNs)
		}
	}
	if len(result.Workers) != 2 {
		t.Errorf("%d workers", len(result.Workers))
	}
}

func TestOpenLoadStartsNothingTwiceAndSkipsNothing(t *testing.T) {
	path := file(t)
	slow := insert()
	slow.HoldUs = 5_000
	trial := trialOf("mattn", path, Sharing{Kind: "one-connection"}, 1, 0, slow)
	trial.Roles[0].Load = Load{Kind: "open", Rate: 400, Arrivals: "constant"}
	trial.Roles[0].Until = Until{Kind: "time", Ms: 250}
	o := run(t, trial, nil).Operations[0]
	if o.Committed+o.Unserved != 100 || o.Unserved < 45 || !has(o.Timers, "response") || !has(o.Timers, "lag") {
		t.Errorf("%d served, %d not", o.Committed, o.Unserved)
	}
	if rows := query(t, path, "SELECT count(*) FROM t"); rows[0] != int64(2*o.Committed) {
		t.Errorf("%d rows", rows[0])
	}
}

func TestWithoutGoNothingRuns(t *testing.T) {
	path := file(t)
	text, err := json.Marshal(trialOf("mattn", path, ownConnection, 1, 1, insert()))
	if err != nil {
		t.Fatal(err)
	}
	for _, input := range []string{"", string(text) + "\n"} {
		cmd := runner("run")
		cmd.Stdin = strings.NewReader(input)
		out, err := cmd.Output()
		if err != nil || bytes.Contains(out, []byte("result")) {
			t.Errorf("%s %v", out, err)
		}
	}
	if rows := query(t, path, "SELECT count(*) FROM t"); rows[0] != 0 {
		t.Errorf("%d rows", rows[0])
	}
}

func TestDescribeKnowsEveryDriver(t *testing.T) {
	cmd := runner("describe")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	var d Description
	if err := json.Unmarshal(text, &d); err != nil || cmd.Wait() != nil || len(d.Drivers) != len(drivers) {
		t.Fatal(string(text), err)
	}
	for _, driver := range d.Drivers[:len(real)] {
		if driver.SQLite == nil || !strings.HasPrefix(driver.SQLite.Version, "3.") || len(driver.SQLite.CompileOptions) < 10 {
			t.Errorf("%+v", driver)
		}
	}
	if d.Drivers[len(d.Drivers)-1].SQLite != nil {
		t.Error("noop has an SQLite")
	}
}

// pragma is a setting of SQLite.
func pragma(name, value string) Setting { return Setting{name, "PRAGMA " + name + " = " + value} }

// session is a setting of a server session.
func session(name, value string) Setting { return Setting{name, "SET SESSION " + name + " = " + value} }
