package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
)

func TestURLsOfServers(t *testing.T) {
	s, err := parseServerURL("postgres://a%40b:p%2Fw:x@h1,h2:7,[::1]:8/d%20b?sslmode=disable", "postgres", "5432")
	want := serverURL{[]string{"h1:5432", "h2:7", "[::1]:8"}, "a@b", "p/w:x", "d b", url.Values{"sslmode": {"disable"}}}
	if err != nil || !reflect.DeepEqual(s, want) {
		t.Errorf("%+v %v", s, err)
	}
	if s, err = parseServerURL("mysql://u@h", "mysql", "3306"); err != nil || s.hosts[0] != "h:3306" || s.password != "" || s.database != "" {
		t.Errorf("%+v %v", s, err)
	}
	for _, wrong := range []string{
		"", "h:1", "mysql://u:secret@h:1/d", "postgres://u:secret@", "postgres://u:secret@h:x/d", "postgres://u:secret@h:1,/d",
		"postgres://u:secret%zz@h/d", "postgres://u:secret@:5/d", "postgres://u:secret@h:70000/d",
	} {
		if _, err := parseServerURL(wrong, "postgres", "5432"); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("`%s`: %v", wrong, err)
		}
	}
}

func TestAServersKeysAreThoseDocumented(t *testing.T) {
	place := serverURL{query: url.Values{"sslmode": {"disable"}}}
	keys, err := place.keys(map[string]any{"application_name": "x"}, postgresKeys)
	if err != nil || keys.Encode() != "application_name=x&sslmode=disable" {
		t.Error(keys, err)
	}
	if _, err := place.keys(map[string]any{"pool_max_conns": 3}, postgresKeys); err == nil {
		t.Error("an option that is unknown was accepted")
	}
}

func TestErrorsOfServersHaveNames(t *testing.T) {
	dial := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	read := &net.OpError{Op: "read", Err: syscall.ECONNRESET}
	for want, err := range map[string]error{
		"serialization_failure": fmt.Errorf("t: %w", &pgconn.PgError{Code: "40001"}),
		"sqlstate_XX9Y9":        &pgconn.PgError{Code: "XX9Y9"},
		"ER_LOCK_DEADLOCK":      &mysql.MySQLError{Number: 1213},
		"ER_9999":               &mysql.MySQLError{Number: 9999},
		"CONNECTION_REFUSED":    fmt.Errorf("t: %w", dial),
		"CONNECTION_LOST":       errors.Join(read, io.EOF),
		"CONNECTION_TIMEOUT":    &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded},
	} {
		if got, is := codeOf(err); !is || got != want {
			t.Errorf("%v is %s, not %s", err, got, want)
		}
	}
	if got, _ := codeOf(&net.DNSError{IsTimeout: false}); got != "CONNECTION_REFUSED" {
		t.Error(got)
	}
	if got, _ := codeOf(context.DeadlineExceeded); got != "CONNECTION_TIMEOUT" {
		t.Error(got)
	}
	// The driver returns the same error for a MySQL connection that timed out and for a lost one.
	link := &mysqlLink{log: &mysqlLog{}}
	if got, _ := codeOf(link.failing(mysql.ErrInvalidConn)); got != "CONNECTION_LOST" || !link.gone() {
		t.Error(got)
	}
	link.log.Print("packets.go:58 ", &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded})
	if got, _ := codeOf(link.failing(mysql.ErrInvalidConn)); got != "CONNECTION_TIMEOUT" {
		t.Error(got)
	}
	if got, is := codeOf(lost{io.EOF}); !is || got != "CONNECTION_LOST" {
		t.Error(got)
	}
	if got, is := codeOf(errors.New("anything else")); is {
		t.Error(got)
	}
}

func TestNumbersArePrintedAsNumbers(t *testing.T) {
	for text, want := range map[string]any{"7": int64(7), "-1.5": -1.5, "on": "on", "16MB": "16MB", "inf": "inf", "": ""} {
		if got := printed(text); got != want {
			t.Errorf("%s is %v", text, got)
		}
	}
	for text, want := range map[string]Value{
		"12": {Kind: Integer, Integer: 12}, "-3.000": {Kind: Integer, Integer: -3}, "2.50": {Kind: Real, Real: 2.5},
		"99999999999999999999": {Kind: Real, Real: 1e20}, "9223372036854775807": {Kind: Integer, Integer: 1<<63 - 1},
		"x": {Kind: Text, Text: "x"},
	} {
		if got := decimal(text); got != want {
			t.Errorf("%s is %+v", text, got)
		}
	}
}

func TestWhichStatementsAreCopies(t *testing.T) {
	for text, copies := range map[string]bool{
		"COPY t FROM STDIN": true, " copy t(a, b)\nfrom stdin;": true, "COPY t TO STDOUT": false,
		"INSERT INTO t VALUES ('COPY t FROM STDIN')": false, "COPY t FROM STDIN WITH (FORMAT csv)": false,
	} {
		if isCopy(text) != copies {
			t.Errorf("%s: %v", text, !copies)
		}
	}
	var row []byte
	for _, value := range []Value{{}, {Kind: Integer, Integer: -5}, {Kind: Real, Real: 2.5}, {Kind: Text, Text: "a\tb\\c\nd\re"}} {
		row, _ = appendCopied(append(row, '|'), &value)
	}
	if string(row) != `|\N|-5|2.5|a\tb\\c\nd\re` {
		t.Errorf("%s", row)
	}
	if _, err := appendCopied(nil, &Value{Kind: Other}); err == nil {
		t.Error("a BLOB was copied")
	}
}

func TestWhichStatementsGiveRows(t *testing.T) {
	for text, gives := range map[string]bool{
		"SELECT 1": true, " (select 1) UNION (SELECT 2)": true, "/* why */ WITH x AS (SELECT 1) SELECT * FROM x": true,
		"-- why\nSHOW TABLES": true, "INSERT INTO t VALUES (1) RETURNING id": true, "DELETE FROM t\nRETURNING id": true,
		"INSERT INTO t VALUES ('RETURNING')": false, "UPDATE t SET a = 1": false, "INSERT INTO t SELECT 1": false,
		"INSERT INTO t VALUES ('it''s', \"\\\"\") -- RETURNING": false, "SELECTED": false, "CREATE TABLE t(a INT)": false,
	} {
		if givesRows(text) != gives {
			t.Errorf("%s: %v", text, !gives)
		}
	}
}

func TestADriverRefusesADatabaseOfAnotherKind(t *testing.T) {
	for driver, database := range map[string]Database{
		"mattn": {Kind: "server", URL: "postgres://h/d", Schema: "s"}, "noop": {Kind: "server"},
		"postgres": {Kind: "file", Path: "x.db"}, "mysql": {Kind: "memory", Name: "m"},
	} {
		trial := trialOf(driver, "", ownConnection, 1, 1, insert())
		trial.Databases = []Database{database}
		h := converse(t, trial, nil)
		if h.failed == nil || h.failed.Code != nil || !strings.Contains(h.failed.Reason, "server") {
			t.Errorf("%s: %+v", driver, h.failed)
		}
	}
}

// TestAServerThatSaysNothingIsNotWaitedForForEver uses a server that accepts connections and never answers.
func TestAServerThatSaysNothingIsNotWaitedForForEver(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var wait sync.WaitGroup
	for driver, scheme := range map[string]string{"postgres": "postgres", "mysql": "mysql"} {
		wait.Go(func() {
			trial := trialOf(driver, "", ownConnection, 1, 1, insert())
			trial.Databases = []Database{{Kind: "server", URL: scheme + "://u:p@" + listener.Addr().String() + "/d", Schema: "s"}}
			trial.Connection.Settings = nil
			if h := converse(t, trial, nil); h.failed == nil || h.failed.Code == nil || *h.failed.Code != "CONNECTION_TIMEOUT" {
				t.Errorf("%s: %+v", driver, h.failed)
			}
		})
	}
	wait.Wait()
}

// server is a server named by the environment, with a schema of its own for the test.
type server struct {
	driver, url, schema string
	control             link
	settings            []Setting
}

// servers runs the test on each server named by the environment.
func servers(t *testing.T, test func(t *testing.T, s *server)) {
	for _, driver := range []string{"postgres", "mysql"} {
		t.Run(driver, func(t *testing.T) {
			name := map[string]string{"postgres": "LITELAB_POSTGRES", "mysql": "LITELAB_MARIADB"}[driver]
			address := os.Getenv(name)
			if address == "" {
				t.Skipf("skipped: %s names no server", name)
			}
			s := &server{driver: driver, url: address, schema: fmt.Sprintf("go_test_%d", time.Now().UnixNano())}
			root := map[string]string{"postgres": "public", "mysql": "information_schema"}[driver]
			s.control = s.connect(t, root)
			s.run(t, "CREATE SCHEMA "+s.schema)
			t.Cleanup(func() {
				drop := "DROP SCHEMA " + s.schema
				if driver == "postgres" {
					drop += " CASCADE"
				}
				s.run(t, drop)
				_ = s.control.close()
			})
			text := map[string]string{"postgres": "TEXT", "mysql": "VARCHAR(200)"}[driver]
			s.run(t, "CREATE TABLE "+s.schema+".t(id BIGINT PRIMARY KEY, worker BIGINT, value "+text+", hash "+text+" UNIQUE)")
			test(t, s)
		})
	}
}

func (s *server) connect(t *testing.T, schema string) link {
	t.Helper()
	d, err := driverNamed(s.driver)
	if err != nil {
		t.Fatal(err)
	}
	client, err := d.Open(&Database{Kind: "server", URL: s.url, Schema: schema}, &Connection{})
	if err != nil {
		t.Fatal(err)
	}
	session, err := client.Session()
	if err != nil {
		t.Fatal(err)
	}
	return session.(*serverSession).link
}

func (s *server) run(t *testing.T, text string) {
	t.Helper()
	if err := s.control.script(text); err != nil {
		t.Fatal(text, err)
	}
}

// ask returns the single integer of a query.
func (s *server) ask(t *testing.T, text string) int64 {
	t.Helper()
	spec := Transaction{Begin: "none", Statements: []Statement{plain(strings.ReplaceAll(text, "$", s.schema+"."), 1)}}
	spec.Statements[0].Fetch, spec.Statements[0].Yields = "first", []string{"n"}
	if err := s.control.prepare([]Transaction{spec}, []int{0}, true); err != nil {
		t.Fatal(text, err)
	}
	effect := Effect{Yielded: make([]Value, 1)}
	if _, err := s.control.execute(&Call{Spec: &spec.Statements[0], Yields: []int{0}}, &effect); err != nil {
		t.Fatal(text, err)
	}
	return effect.Yielded[0].Integer
}

// sql writes parameters in the syntax of this server.
func (s *server) sql(text string) string {
	if s.driver == "postgres" {
		return strings.ReplaceAll(text, "?", "$")
	}
	for n := range 20 {
		text = strings.ReplaceAll(text, fmt.Sprintf("?%d", 20-n), "?")
	}
	return text
}

func (s *server) trial(sharing Sharing, workers int, count uint64, transactions ...Transaction) *Trial {
	for i := range transactions {
		for j := range transactions[i].Statements {
			transactions[i].Statements[j].SQL = s.sql(transactions[i].Statements[j].SQL)
		}
	}
	trial := trialOf(s.driver, "", sharing, workers, count, transactions...)
	trial.Databases = []Database{{Kind: "server", URL: s.url, Schema: s.schema}}
	trial.Connection.Settings = s.settings
	return trial
}

func TestCountsOnAServerAreTheRows(t *testing.T) {
	servers(t, func(t *testing.T, s *server) {
		for _, sharing := range []Sharing{ownConnection, {Kind: "pool", Connections: 2}} {
			for _, prepare := range []string{"once", "each"} {
				s.run(t, "DELETE FROM "+s.schema+".t")
				read := Transaction{Name: "read", Begin: "none", TimedRows: true, Statements: []Statement{plain("SELECT value, hash FROM t ORDER BY id DESC LIMIT 3", 1)}}
				read.Statements[0].Fetch, read.Statements[0].Work = "all", Work{"verify", "value", "hash"}
				trial := s.trial(sharing, 3, 50, insert(), read)
				trial.Prepare = prepare
				for _, o := range run(t, trial, nil).Operations {
					if o.Committed != 50 || o.Failed+o.Empty != 0 || has(o.Timers, "wait") != (sharing.Kind == "pool") {
						t.Errorf("%s, %s: %+v", sharing.Kind, prepare, o)
					}
					if o.Transaction == "read" && (o.Counters["verified"] != o.Rows || o.Counters["mismatches"] != 0) || o.Transaction == "insert" && o.Rows != 100 {
						t.Errorf("%s, %s: %d rows, %d verified, %d wrong", sharing.Kind, prepare, o.Rows, o.Counters["verified"], o.Counters["mismatches"])
					}
				}
				if right := s.ask(t, "SELECT count(*) FROM $t WHERE id < 100"); right != 100 {
					t.Errorf("%d of 100 rows", right)
				}
			}
		}
	})
}

func TestValuesOfEveryKindComeBack(t *testing.T) {
	servers(t, func(t *testing.T, s *server) {
		double, bytes := "DOUBLE PRECISION", map[string]string{"postgres": "BYTEA", "mysql": "BLOB"}[s.driver]
		s.run(t, "CREATE TABLE "+s.schema+".v(a BIGINT, b INT, c SMALLINT, d "+double+", e NUMERIC(30,2), f VARCHAR(100), g BOOLEAN, h "+bytes+", i DATE)")
		values := []Value{
			{Kind: Integer, Integer: -1 << 63}, {Kind: Integer, Integer: -7}, {Kind: Integer, Integer: 300},
			{Kind: Real, Real: 0.1}, {Kind: Integer, Integer: 12}, {Kind: Text, Text: "ü\t'\\\n"}, {Kind: Integer, Integer: 1},
			{Kind: Text, Text: "x"}, {Kind: Text, Text: "2026-01-31"},
		}
		link := s.connect(t, s.schema)
		defer link.close()
		write := plain(s.sql("INSERT INTO v VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"), 1, 0, 1, 2, 3, 4, 5, 6, 7, 8)
		read := plain("SELECT * FROM v ORDER BY a IS NULL", 1)
		read.Fetch, read.Work.Kind = "buffer", "read"
		spec := Transaction{Statements: []Statement{write, read}}
		for _, each := range []bool{false, true} {
			s.run(t, "DELETE FROM "+s.schema+".v")
			if err := link.prepare([]Transaction{spec}, []int{0}, each); err != nil {
				t.Fatal(err)
			}
			for _, slots := range [][]Value{values, make([]Value, len(values))} {
				if n, err := link.execute(&Call{Spec: &spec.Statements[0], Slots: slots}, &Effect{}); err != nil || n != 1 {
					t.Fatal(n, err)
				}
			}
			call := &Call{Statement: 1, Spec: &spec.Statements[1]}
			call.Spec = &Statement{SQL: read.SQL, Fetch: "first", Work: Work{Kind: "read"}, Tuples: 1}
			if n, err := link.execute(call, &Effect{}); err != nil || n != 1 {
				t.Fatal(n, err)
			}
			want := slices.Clone(values)
			want[7] = Value{Kind: Other}
			if s.driver == "postgres" {
				want[8] = Value{Kind: Other} // a time.Time
			}
			if !slices.Equal(lastRow(link), want) {
				t.Errorf("%+v\nis not\n%+v", lastRow(link), want)
			}
			call.Spec = &spec.Statements[1]
			if n, err := link.execute(call, &Effect{}); err != nil || n != 2 || !slices.Equal(lastRow(link), make([]Value, len(values))) {
				t.Errorf("%d rows, the last of them %+v: %v", n, lastRow(link), err)
			}
		}
	})
}

func TestNumbersAreBoundToColumnsOfText(t *testing.T) {
	servers(t, func(t *testing.T, s *server) {
		s.run(t, "CREATE TABLE "+s.schema+".n(a VARCHAR(20), b CHAR(4), c TEXT)")
		link := s.connect(t, s.schema)
		defer link.close()
		write, read := plain(s.sql("INSERT INTO n VALUES (?1, ?2, ?3)"), 1, 0, 1, 2), plain("SELECT * FROM n", 1)
		read.Fetch, read.Work.Kind = "first", "read"
		spec := Transaction{Statements: []Statement{write, read}}
		if err := link.prepare([]Transaction{spec}, []int{0}, false); err != nil {
			t.Fatal(err)
		}
		slots := []Value{{Kind: Integer, Integer: 7}, {Kind: Integer, Integer: 1234}, {Kind: Real, Real: 2.5}}
		for at, statement := range spec.Statements {
			call := Call{Statement: at, Spec: &statement}
			if at == 0 {
				call.Slots = slots
			}
			if n, err := link.execute(&call, &Effect{}); err != nil || n != 1 {
				t.Fatal(n, err)
			}
		}
		want := []Value{{Kind: Text, Text: "7"}, {Kind: Text, Text: "1234"}, {Kind: Text, Text: "2.5"}}
		if got := lastRow(link); !slices.Equal(got, want) {
			t.Errorf("%+v", got)
		}
	})
}

// lastRow returns the row that the second statement read last.
func lastRow(l link) []Value {
	if l, is := l.(*postgresLink); is {
		return l.statements[0][1].job.row
	}
	return l.(*mysqlLink).statements[0][1].job.row
}

func TestSettingsOfAServerAreThoseAskedFor(t *testing.T) {
	ask := map[string][2][]string{
		"postgres": {{"synchronous_commit", "off", "work_mem", "'3MB'", "default_transaction_isolation", "'repeatable read'", "random_page_cost", "1.5"},
			{"synchronous_commit:off", "work_mem:3MB", "default_transaction_isolation:repeatable read", "random_page_cost:1.5"}},
		"mysql": {{"innodb_lock_wait_timeout", "7", "tx_isolation", "'SERIALIZABLE'"}, {"innodb_lock_wait_timeout:7", "tx_isolation:SERIALIZABLE"}},
	}
	servers(t, func(t *testing.T, s *server) {
		trial := s.trial(Sharing{Kind: "pool", Connections: 2}, 3, 3, insert())
		set := ask[s.driver][0]
		for i := 0; i < len(set); i += 2 {
			trial.Connection.Settings = append(trial.Connection.Settings, session(set[i], set[i+1]))
			trial.Connection.ReadBack = append(trial.Connection.ReadBack, set[i])
		}
		h := converse(t, trial, nil)
		if h.failed != nil || len(h.ready) != 2 {
			t.Fatalf("%+v", h)
		}
		for _, connection := range h.ready {
			for _, want := range ask[s.driver][1] {
				if got := fmt.Sprint(connection.Settings); connection.Label != "pool" || !strings.Contains(got, want) {
					t.Errorf("no %s in %s", want, got)
				}
			}
		}
		trial.Connection.Settings[0] = session("no_such_setting", "1")
		if h := converse(t, trial, nil); h.failed == nil || h.failed.Code == nil || !strings.Contains(h.failed.Reason, "no_such_setting") {
			t.Errorf("%+v", h.failed)
		}
	})
}

func TestWhatAServerRefusesHasItsName(t *testing.T) {
	names := map[string]map[string]string{
		"syntax":   {"postgres": "syntax_error", "mysql": "ER_PARSE_ERROR"},
		"password": {"postgres": "invalid_password", "mysql": "ER_ACCESS_DENIED_ERROR"},
		"host":     {"postgres": "CONNECTION_REFUSED", "mysql": "CONNECTION_REFUSED"},
		"port":     {"postgres": "CONNECTION_REFUSED", "mysql": "CONNECTION_REFUSED"},
		"option":   {}, "parameters": {},
	}
	servers(t, func(t *testing.T, s *server) {
		place, err := parseServerURL(s.url, s.driver, "1")
		if err != nil {
			t.Fatal(err)
		}
		for what, change := range map[string]func(*Trial){
			"syntax":   func(t *Trial) { t.Transactions[0].Statements[0].SQL = "INSRT" },
			"password": func(t *Trial) { t.Databases[0].URL = strings.Replace(s.url, place.password+"@", "wrong@", 1) },
			"host": func(t *Trial) {
				t.Databases[0].URL = strings.Replace(s.url, place.hosts[0], "no-such-host.invalid:1", 1)
			},
			"port":       func(t *Trial) { t.Databases[0].URL = strings.Replace(s.url, place.hosts[0], "127.0.0.1:1", 1) },
			"option":     func(t *Trial) { t.Connection.Options = map[string]any{"no_such_option": true} },
			"parameters": func(t *Trial) { t.Transactions[0].Statements[0].Bind = []int{0, 1, 2} },
		} {
			trial := s.trial(ownConnection, 1, 1, insert())
			change(trial)
			h := converse(t, trial, nil)
			if h.failed == nil || (h.failed.Code == nil) != (names[what][s.driver] == "") || h.failed.Code != nil && *h.failed.Code != names[what][s.driver] {
				t.Errorf("%s: %+v", what, h.failed)
			}
		}
		// The same in a transaction, which is rolled back.
		same := Transaction{Name: "same", Begin: "immediate", Writes: true, Statements: []Statement{
			plain("INSERT INTO t(id, hash) VALUES (1, 'first')", 1), plain("INSERT INTO t(id, hash) VALUES (2, 'x'), (3, 'x')", 1)}}
		want := map[string]string{"postgres": "0 2 map[unique_violation:[2 0]]", "mysql": "0 2 map[ER_DUP_ENTRY:[2 0]]"}[s.driver]
		if got := errorsOf(t, s.trial(ownConnection, 1, 2, same), nil); got != want {
			t.Error(got)
		}
		if rows := s.ask(t, "SELECT count(*) FROM $t"); rows != 0 {
			t.Errorf("%d rows of what was rolled back", rows)
		}
	})
}

func TestTwoWorkersThatWaitForEachOther(t *testing.T) {
	servers(t, func(t *testing.T, s *server) {
		s.run(t, "INSERT INTO "+s.schema+".t(id, worker) VALUES (1, 0), (2, 0)")
		crossing := func(name string, first, second int) Transaction {
			update := func(id int) Statement {
				return plain(fmt.Sprintf("UPDATE t SET worker = worker + 1 WHERE id = %d", id), 1)
			}
			c := Transaction{Name: name, Begin: "immediate", Writes: true, Statements: []Statement{update(first), update(second)}}
			c.Statements[0].HoldUs = 300_000
			return c
		}
		name := map[string]string{"postgres": "deadlock_detected", "mysql": "ER_LOCK_DEADLOCK"}[s.driver]
		trial := s.trial(ownConnection, 1, 1, crossing("there", 1, 2), crossing("back", 2, 1))
		trial.Retry = Retry{5, 0, 1, 0, []string{name}}
		var met, cured uint64
		// On a busy machine the two may not run at the same time.
		for try := int64(1); met == 0 && try <= 5; try++ {
			for _, o := range run(t, trial, nil).Operations {
				if o.Committed != 1 {
					t.Errorf("%+v", o)
				}
				met, cured = met+o.Errors[name].Seen, cured+o.Errors[name].Cured
			}
			if sum := s.ask(t, "SELECT sum(worker) FROM $t"); sum != 4*try {
				t.Errorf("%d updates in %d tries", sum, try)
			}
		}
		if met == 0 || cured != met {
			t.Errorf("%d seen, %d cured", met, cured)
		}
	})
}

func TestIsolationAndLockWaits(t *testing.T) {
	servers(t, func(t *testing.T, s *server) {
		s.run(t, "INSERT INTO "+s.schema+".t(id, worker) VALUES (1, 0)")
		update := Transaction{Name: "update", Begin: "immediate", Writes: true, Statements: []Statement{
			plain("SELECT worker FROM t", 1), plain("UPDATE t SET worker = worker + 1 WHERE id = 1", 1)}}
		update.Statements[0].HoldUs = 300_000
		if s.driver == "postgres" {
			for _, isolation := range []string{"repeatable read", "serializable"} {
				trial := s.trial(ownConnection, 2, 2, update)
				trial.Connection.Settings = []Setting{session("default_transaction_isolation", "'"+isolation+"'")}
				trial.Retry = Retry{5, 0, 1, 0, []string{"serialization_failure"}}
				got := errorsOf(t, trial, nil)
				for try := 1; got == "2 0 map[]" && try < 5; try++ {
					got = errorsOf(t, trial, nil)
				}
				if got != "2 0 map[serialization_failure:[1 1]]" {
					t.Error(isolation, got)
				}
			}
			s.settings = []Setting{session("lock_timeout", "'50ms'")}
		} else {
			s.settings = []Setting{session("innodb_lock_wait_timeout", "1")}
		}
		trial := s.trial(ownConnection, 1, 1, update)
		err := s.control.begin()
		if err == nil {
			err = s.control.script("UPDATE " + s.schema + ".t SET worker = 0")
		}
		if err != nil {
			t.Fatal(err)
		}
		got := errorsOf(t, trial, nil)
		if want := map[string]string{"postgres": "0 1 map[lock_not_available:[1 0]]", "mysql": "0 1 map[ER_LOCK_WAIT_TIMEOUT:[1 0]]"}[s.driver]; got != want {
			t.Error(got)
		}
		if err := s.control.rollback(); err != nil {
			t.Error(err)
		}
	})
}

func TestYieldsAndFetchesOfAServer(t *testing.T) {
	servers(t, func(t *testing.T, s *server) {
		s.run(t, "INSERT INTO "+s.schema+".t(id) VALUES (1), (2), (3)")
		claim := Transaction{Name: "claim", Begin: "immediate", Writes: true, Params: []Param{{"id", Source{Kind: "yielded", Name: "id"}}}}
		look := plain("SELECT id FROM t WHERE worker IS NULL ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED", 1)
		look.Fetch, look.Yields, look.Required = "first", []string{"id"}, true
		claim.Statements = []Statement{look, plain("UPDATE t SET worker = 7 WHERE id = ?1", 1, 0)}
		o := run(t, s.trial(ownConnection, 1, 5, claim), nil).Operations[0]
		if o.Committed != 3 || o.Empty != 2 || o.Rows != 6 {
			t.Errorf("%+v", o)
		}
		// Rows found count, even if they do not change.
		again := Transaction{Name: "again", Begin: "none", Writes: true, Statements: []Statement{plain("UPDATE t SET worker = 7", 1)}}
		if o = run(t, s.trial(ownConnection, 1, 1, again), nil).Operations[0]; o.Rows != 3 {
			t.Errorf("%d rows", o.Rows)
		}
		for fetch, want := range map[string]uint64{"none": 3, "first": 1, "all": 3, "buffer": 3} {
			read := Transaction{Name: "read", Begin: "none", Statements: []Statement{plain("SELECT * FROM t", 1)}}
			read.Statements[0].Fetch, read.Statements[0].Work.Kind = fetch, "read"
			if o := run(t, s.trial(ownConnection, 1, 2, read), nil).Operations[0]; o.Rows != 2*want {
				t.Errorf("%s: %d rows of %d", fetch, o.Rows, 2*want)
			}
		}
	})
}

func TestCopyWritesItsRows(t *testing.T) {
	servers(t, func(t *testing.T, s *server) {
		if s.driver != "postgres" {
			t.Skip("COPY is PostgreSQL's")
		}
		for _, prepare := range []string{"once", "each"} {
			s.run(t, "DELETE FROM "+s.schema+".t")
			copying := insert()
			copying.Params[2] = Param{"value", Source{Kind: "value", Value: []byte(`"a\tb\\.\n"`)}}
			copying.Statements[0].SQL, copying.Statements[0].Tuples = "COPY t(id, worker, value, hash) FROM STDIN", 50
			trial := s.trial(ownConnection, 2, 4, copying)
			trial.Prepare = prepare
			// The value is the same in every row, and so is its hash.
			s.run(t, "ALTER TABLE "+s.schema+".t DROP CONSTRAINT IF EXISTS t_hash_key")
			o := run(t, trial, nil).Operations[0]
			if right := s.ask(t, "SELECT count(*) FROM $t WHERE value = E'a\\tb\\\\.\\n' AND id < 200"); o.Rows != 200 || right != 200 {
				t.Errorf("%s: %d rows, %d are right", prepare, o.Rows, right)
			}
		}
		wrong := insert()
		wrong.Statements[0].SQL, wrong.Begin = "COPY t(id) FROM STDIN", "none"
		if got := errorsOf(t, s.trial(ownConnection, 1, 1, wrong), nil); got != "0 1 map[bad_copy_file_format:[1 0]]" {
			t.Error(got)
		}
	})
}

// door is a proxy that passes connections to a server until it is shut.
type door struct {
	net.Listener
	mutex sync.Mutex
	open  []net.Conn
	shut  bool
}

func newDoor(t *testing.T, target string) *door {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &door{Listener: listener}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", target)
			d.mutex.Lock()
			if err != nil || d.shut {
				_ = near.Close()
				d.mutex.Unlock()
				continue
			}
			d.open = append(d.open, near)
			d.mutex.Unlock()
			go func() {
				_, _ = io.Copy(near, far)
				_ = near.Close()
			}()
			go func() {
				_, _ = io.Copy(far, near)
				_ = far.Close()
				d.mutex.Lock()
				defer d.mutex.Unlock()
				d.open = slices.DeleteFunc(d.open, func(c net.Conn) bool { return c == near })
			}()
		}
	}()
	return d
}

// count waits until want connections are open: pgx opens two if the first is refused TLS.
func (d *door) count(t *testing.T, want int) {
	t.Helper()
	open := -1
	for start := time.Now(); open != want && time.Since(start) < 10*time.Second; time.Sleep(time.Millisecond) {
		d.mutex.Lock()
		open = len(d.open)
		d.mutex.Unlock()
	}
	if open != want {
		t.Errorf("%d connections, not %d", open, want)
	}
}

// set shuts or opens the door. Shutting closes the open connections.
func (d *door) set(shut bool) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.shut = shut
	if shut {
		for _, conn := range d.open {
			_ = conn.Close()
		}
		d.open = nil
	}
}

func TestALostConnectionIsOpenedAgain(t *testing.T) {
	servers(t, func(t *testing.T, s *server) {
		place, _ := parseServerURL(s.url, s.driver, "1")
		for _, retried := range []bool{false, true} {
			// On a busy machine the trial may end before the connection is cut, or the cut may fall into a COMMIT.
			inOneOfFive(t, func() error {
				s.run(t, "DELETE FROM "+s.schema+".t")
				d := newDoor(t, place.hosts[0])
				slow := insert()
				slow.HoldUs = 200_000
				trial := s.trial(ownConnection, 1, 3, slow)
				trial.Databases[0].URL = strings.Replace(s.url, place.hosts[0], d.Addr().String(), 1)
				if retried {
					trial.Retry = Retry{3, 0, 1, 0, []string{"CONNECTION_LOST"}}
				}
				got := errorsOf(t, trial, func() {
					time.AfterFunc(100*time.Millisecond, func() { d.set(true) })
					time.AfterFunc(600*time.Millisecond, func() { d.set(false) })
				})
				want, rows := "2 1 map[CONNECTION_LOST:[1 0]]", int64(4)
				if retried {
					want, rows = "3 0 map[CONNECTION_LOST:[1 1]]", 6
				}
				if left := s.ask(t, "SELECT count(*) FROM $t"); got != want || left != rows {
					return fmt.Errorf("%s, %d rows", got, left)
				}
				return nil
			})
		}
	})
}

func TestAServerThatStaysAwayFailsTheTrial(t *testing.T) {
	servers(t, func(t *testing.T, s *server) {
		t.Parallel() // both servers at once, because each waits for reopenPatience
		place, _ := parseServerURL(s.url, s.driver, "1")
		d := newDoor(t, place.hosts[0])
		slow := insert()
		slow.HoldUs = 200_000
		trial := s.trial(Sharing{Kind: "pool", Connections: 1}, 2, 100, slow)
		trial.Databases[0].URL = strings.Replace(s.url, place.hosts[0], d.Addr().String(), 1)
		start := time.Now()
		h := converse(t, trial, func() { time.AfterFunc(100*time.Millisecond, func() { _ = d.Close(); d.set(true) }) })
		if h.failed == nil || h.failed.Code == nil || *h.failed.Code != "CONNECTION_REFUSED" || time.Since(start) > 75*time.Second {
			t.Errorf("%+v after %v", h.failed, time.Since(start))
		}
	})
}

// TestWorkersAreSpreadOverTheHosts uses three hosts, one of them down: its worker starts at the next host, and a worker
// that loses its connection continues there.
func TestWorkersAreSpreadOverTheHosts(t *testing.T) {
	servers(t, func(t *testing.T, s *server) {
		place, _ := parseServerURL(s.url, s.driver, "1")
		// On a busy machine the trial may end before the connection is cut, or the cut may fall into a COMMIT.
		inOneOfFive(t, func() error {
			s.run(t, "DELETE FROM "+s.schema+".t")
			first, away, last := newDoor(t, place.hosts[0]), newDoor(t, place.hosts[0]), newDoor(t, place.hosts[0])
			_ = away.Close()
			slow := insert()
			slow.HoldUs = 100_000
			trial := s.trial(ownConnection, 3, 12, slow)
			hosts := []string{first.Addr().String(), away.Addr().String(), last.Addr().String()}
			trial.Databases[0].URL = strings.Replace(s.url, place.hosts[0], strings.Join(hosts, ","), 1)
			trial.Retry = Retry{5, 0, 1, 0, []string{"CONNECTION_LOST"}}
			got := errorsOf(t, trial, func() {
				first.count(t, 1)
				last.count(t, 2)
				time.AfterFunc(150*time.Millisecond, func() { first.set(true) })
			})
			if got != "12 0 map[CONNECTION_LOST:[1 1]]" {
				return errors.New(got)
			}
			first.count(t, 0)
			return nil
		})
	})
}

func TestAFullServerFailsTheTrial(t *testing.T) {
	servers(t, func(t *testing.T, s *server) {
		var limit any
		var err error
		if limit, err = s.control.show("max_connections"); err != nil {
			t.Fatal(err)
		}
		most, is := limit.(int64)
		if !is || most > 200 {
			t.Skipf("it takes %v connections", limit)
		}
		trial := s.trial(Sharing{Kind: "pool", Connections: int(most) + 1}, 1, 1, insert())
		h := converse(t, trial, nil)
		want := map[string]string{"postgres": "too_many_connections", "mysql": "ER_CON_COUNT_ERROR"}[s.driver]
		if h.failed == nil || h.failed.Code == nil || *h.failed.Code != want {
			t.Errorf("%+v", h.failed)
		}
	})
}
