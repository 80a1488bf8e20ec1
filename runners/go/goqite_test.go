package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestTheSchemaIsTheModules checks that the copied schema is that of the linked version.
func TestTheSchemaIsTheModules(t *testing.T) {
	folder, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "maragu.dev/goqite").Output()
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(folder)), "schema_sqlite.sql"))
	if err != nil {
		t.Fatal(err)
	}
	if goqiteSchema != string(theirs) {
		t.Error("goqite_schema.sql is not the module's schema_sqlite.sql: build the runner again")
	}
}

// queueTrial creates a trial with one role per element of steps; the transactions are enqueue, claim, complete and
// fail.
func queueTrial(path string, sharing Sharing, workers int, count uint64, steps ...int) *Trial {
	one := func(name, text string, required bool, yields []string, params ...Param) Transaction {
		statement := plain(text, 1)
		for i := range params {
			statement.Bind = append(statement.Bind, i)
		}
		if required {
			statement.Fetch, statement.Required, statement.Yields = "first", true, yields
		}
		return Transaction{Name: name, Begin: "none", Writes: true, Params: params, Statements: []Statement{statement}}
	}
	id := Param{"id", Source{Kind: "yielded", Name: "id"}}
	trial := trialOf("goqite", path, sharing, workers, count,
		one("enqueue", "CALL queue.enqueue(?1, ?2)", false, nil,
			Param{"payload", Source{Kind: "hex", Bytes: 8}}, Param{"priority", Source{Kind: "uniform", Low: []byte("1"), High: 9}}),
		one("claim", "CALL queue.claim()", true, []string{"id", "payload"}),
		one("complete", "CALL queue.complete(?1)", false, nil, id),
		one("fail", "CALL queue.fail(?1)", false, nil, id))
	role := trial.Roles[0]
	role.Steps = nil
	for _, at := range steps {
		role.Steps = append(role.Steps, Step{Transaction: at, Weight: 1, Stride: uint64(workers)})
	}
	trial.Roles = []Role{role}
	return trial
}

// counts returns the numbers of committed and empty executions of a transaction.
func counts(result *heardResult, name string) (committed, empty uint64) {
	for _, o := range result.Operations {
		if o.Transaction == name {
			return o.Committed, o.Empty
		}
	}
	return 0, 0
}

func emptyFile(t *testing.T) string { return filepath.Join(t.TempDir(), "queue.db") }

func TestEveryTaskIsClaimedAndCompleted(t *testing.T) {
	for _, sharing := range []Sharing{ownConnection, {Kind: "one-connection"}} {
		path := emptyFile(t)
		run(t, queueTrial(path, sharing, 1, 40, 0), nil)
		result := run(t, queueTrial(path, sharing, 2, 80, 1, 2), nil)
		claimed, inVain := counts(result, "claim")
		completed, _ := counts(result, "complete")
		if claimed != 40 || inVain != 0 || completed != 40 {
			t.Errorf("%s: %d claimed, %d in vain, %d completed", sharing.Kind, claimed, inVain, completed)
		}
		if left := query(t, path, "SELECT count(*) FROM goqite"); left[0] != 0 {
			t.Errorf("%s: %d left", sharing.Kind, left[0])
		}
		if claimed, inVain = counts(run(t, queueTrial(path, sharing, 2, 6, 1), nil), "claim"); claimed != 0 || inVain != 6 {
			t.Errorf("%s: %d claimed of nothing, %d in vain", sharing.Kind, claimed, inVain)
		}
	}
}

func TestTasksOfHighPriorityComeFirst(t *testing.T) {
	path := emptyFile(t)
	run(t, queueTrial(path, ownConnection, 1, 30, 0), nil)
	run(t, queueTrial(path, ownConnection, 1, 10, 1), nil)
	lowest := query(t, path, "SELECT min(priority) FROM goqite WHERE received = 1")[0]
	highest := query(t, path, "SELECT max(priority) FROM goqite WHERE received = 0")[0]
	if lowest < highest {
		t.Errorf("one of priority %d was claimed, and one of %d was not", lowest, highest)
	}
}

// TestATaskComesBack checks that a failed task is visible at once, an abandoned one after the timeout, and none after
// three receives.
func TestATaskComesBack(t *testing.T) {
	path := emptyFile(t)
	run(t, queueTrial(path, ownConnection, 1, 1, 0), nil)
	result := run(t, queueTrial(path, ownConnection, 1, 3, 1, 3, 1), nil)
	if claimed, inVain := counts(result, "claim"); claimed != 2 || inVain != 0 {
		t.Fatalf("%d claimed, %d in vain", claimed, inVain)
	}
	if claimed, _ := counts(run(t, queueTrial(path, ownConnection, 1, 1, 1), nil), "claim"); claimed != 0 {
		t.Fatal("it is claimed, and came back at once")
	}
	// Move the timeout into the past, so that the five seconds have expired.
	query(t, path, "UPDATE goqite SET timeout = '2000-01-01T00:00:00.000Z' RETURNING 1")
	claims := func() uint64 {
		claimed, _ := counts(run(t, queueTrial(path, ownConnection, 1, 1, 1), nil), "claim")
		query(t, path, "UPDATE goqite SET timeout = '2000-01-01T00:00:00.000Z' RETURNING 1")
		return claimed
	}
	if third, fourth := claims(), claims(); third != 1 || fourth != 0 {
		t.Errorf("claimed a third time: %d, a fourth time: %d", third, fourth)
	}
}

func TestOptionsOfTheQueue(t *testing.T) {
	path := emptyFile(t)
	run(t, queueTrial(path, ownConnection, 1, 1, 0), nil)
	claim := queueTrial(path, ownConnection, 1, 2, 1)
	claim.Connection.Options = map[string]any{"timeout": "1ms", "max_receive": 1, "_fk": true}
	claim.Roles[0].Load.ThinkUs = (20 * time.Millisecond).Microseconds()
	claim.Connection.ReadBack = []string{"foreign_keys"}
	h := converse(t, claim, nil)
	if h.failed != nil {
		t.Fatal(h.failed.Reason)
	}
	if claimed, inVain := counts(h.result, "claim"); claimed != 1 || inVain != 1 {
		t.Errorf("%d claimed, %d in vain: once is the most it may be received", claimed, inVain)
	}
	if on := h.ready[0].Settings["foreign_keys"]; on != 1.0 {
		t.Errorf("foreign_keys is %v", on)
	}
	for key, value := range map[string]any{"timeout": "soon", "max_receive": -1, "no_such_option": 1} {
		claim.Connection.Options = map[string]any{key: value}
		if h := converse(t, claim, nil); h.failed == nil || !strings.Contains(h.failed.Reason, key) {
			t.Errorf("%s: %+v", key, h)
		}
	}
}

func TestAQueueSetsNothingAndTakesWhatIsSet(t *testing.T) {
	trial := queueTrial(emptyFile(t), ownConnection, 1, 1, 0)
	trial.Connection = Connection{ReadBack: []string{"journal_mode", "synchronous"}}
	own := converse(t, trial, nil).ready[0].Settings
	if own["journal_mode"] != "delete" || own["synchronous"] != 1.0 {
		t.Error(own)
	}
	trial.Connection.Settings = []Setting{pragma("journal_mode", "WAL"), pragma("synchronous", "FULL")}
	set := converse(t, trial, nil).ready[0].Settings
	if set["journal_mode"] != "wal" || set["synchronous"] != 2.0 {
		t.Error(set)
	}
}

func TestWhatIsNoOperationIsRefused(t *testing.T) {
	for text, words := range map[string]string{
		"SELECT 1":                   "takes no SQL",
		"CALL queue.steal(?1, ?2)":   "no operation",
		"CALL cache.enqueue(?1, ?2)": "no operation",
		"CALL queue.enqueue":         "takes no SQL",
		"CALL queue.enqueue(?2, ?1)": "takes 2 arguments",
		"CALL queue.complete(?1)":    "takes 1 arguments",
	} {
		trial := queueTrial(emptyFile(t), ownConnection, 1, 1, 0)
		trial.Transactions[0].Statements[0].SQL = text
		h := converse(t, trial, nil)
		if h.failed == nil || h.ready != nil || !strings.Contains(h.failed.Reason, words) {
			t.Errorf("%s: %+v", text, h.failed)
		}
	}
	for _, change := range []func(*Trial){
		func(trial *Trial) { trial.Sharing = Sharing{Kind: "pool", Connections: 2} },
		func(trial *Trial) { trial.Databases = []Database{{Kind: "memory", Name: "m"}} },
	} {
		trial := queueTrial(emptyFile(t), ownConnection, 1, 1, 0)
		change(trial)
		if h := converse(t, trial, nil); h.failed == nil || h.ready != nil {
			t.Errorf("%+v", trial.Sharing)
		}
	}
}

// TestALockedQueueIsBusy checks that a claim that finds the database locked counts as busy and succeeds in a retry.
func TestALockedQueueIsBusy(t *testing.T) {
	for attempts, committed := range map[int]uint64{1: 0, 1000: 1} {
		path := emptyFile(t)
		run(t, queueTrial(path, ownConnection, 1, 1, 0), nil)
		trial := queueTrial(path, ownConnection, 1, 1, 1)
		trial.Connection.Settings = []Setting{pragma("busy_timeout", "0")}
		trial.Retry = Retry{attempts, 5_000, 1, 5_000, []string{"SQLITE_BUSY"}}
		locked := make(chan struct{})
		result := run(t, trial, func() {
			session := lockedBy(t, path)
			time.AfterFunc(1500*time.Millisecond, func() {
				session()
				close(locked)
			})
		})
		<-locked
		errors := result.Operations[0].Errors["SQLITE_BUSY"]
		if result.Operations[0].Committed != committed || errors.Seen == 0 || errors.Cured != errors.Seen*committed {
			t.Errorf("with %d tries: %+v", attempts, result.Operations[0])
		}
	}
}

// lockedBy takes the write lock and returns a function that releases it.
func lockedBy(t *testing.T, path string) func() {
	t.Helper()
	client, err := mattn.Open(&Database{Kind: "file", Path: path}, &Connection{})
	if err != nil {
		t.Fatal(err)
	}
	session, err := client.Session()
	if err == nil {
		err = session.Script([]string{"BEGIN IMMEDIATE"})
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := session.Script([]string{"COMMIT"}); err != nil {
			t.Error(err)
		}
		_ = session.Close()
		_ = client.Close()
	}
}

func TestAQueueDescribesItself(t *testing.T) {
	described, err := describe()
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]DriverDescription{}
	for _, driver := range described.Drivers {
		of[driver.Name] = driver
	}
	queue := of["goqite"]
	if queue.Interface == nil || queue.Interface.Name != "queue" || len(queue.Sharings) != 2 || queue.SQLite.Version != of["mattn"].SQLite.Version {
		t.Errorf("%+v", queue)
	}
	if of["mattn"].Interface != nil || len(of["mattn"].Sharings) != len(sharings) {
		t.Errorf("%+v", of["mattn"])
	}
}
