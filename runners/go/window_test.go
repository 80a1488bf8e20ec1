package main

import (
	"testing"
	"time"
)

// pausing creates a trial on noop with one worker, whose transactions take ms milliseconds each, until a time or the
// end of a role.
func pausing(ms int64, until Until) *Trial {
	slow := Transaction{Name: "slow", Begin: "none", HoldUs: ms * 1000, Statements: []Statement{plain("SELECT 1", 1)}}
	trial := trialOf("noop", "", ownConnection, 1, 0, slow)
	trial.Roles[0].Until = until
	return trial
}

func TestWhatCountsIsTheCommitAndWhatIsMeasuredTheStart(t *testing.T) {
	// A window from 100 to 200 ns.
	for _, c := range []struct {
		start, end      int64
		ended, measured uint64
		inside          int64
	}{
		{50, 90, 0, 0, 0}, {50, 100, 0, 0, 0}, {50, 101, 1, 0, 1}, {50, 150, 1, 0, 50}, {100, 200, 1, 1, 100},
		{150, 201, 0, 1, 50}, {50, 250, 0, 0, 100}, {200, 300, 0, 1, 0},
	} {
		record := newRecord(&Transaction{}, false, false)
		w := &Worker{warm: 100, end: End{time: 200}, memory: newMemory(0), start: c.start, due: never, running: &Task{record: record}}
		if !w.finish(&Execution{end: c.end, had: never, query: never, firstRow: never}) {
			t.Fatal("abandoned")
		}
		if record.ended != c.ended || record.measured != c.measured || w.inside != c.inside || record.Committed != 1 {
			t.Errorf("%+v: %d ended, %d measured, %d ns inside", c, record.ended, record.measured, w.inside)
		}
	}
}

func TestWhatIsAbandonedIsCountedOnce(t *testing.T) {
	record := newRecord(&Transaction{}, false, true)
	w := &Worker{
		clock: Clock{time.Now().Add(-time.Second)}, warm: 100, end: End{time: 1000}, memory: newMemory(0),
		steps: []*Task{{record: record}}, role: &Role{}, start: 50, due: 20, committed: 10,
	}
	if w.abandon() {
		t.Error("there was nothing to abandon")
	}
	w.running = w.steps[0]
	if !w.abandon() || w.abandon() {
		t.Error("it was not abandoned, or twice")
	}
	if w.finish(&Execution{end: 900}) || w.begin(w.steps[0], never) || w.leave() {
		t.Error("it goes on")
	}
	w.met("SQLITE_BUSY", "database is locked")
	operations := []Operation{{Errors: map[string]ErrorCount{}, Timers: map[string]*Histogram{}}}
	result := w.resultInto(operations)
	want := WorkerResult{InsideNs: 900, StallNs: w.ended - 10}
	if o := operations[0]; result != want || o.Committed+o.Failed+o.Empty+o.Ended+o.Measured != 0 || len(o.Errors) != 0 || len(o.Unfinished) != 1 {
		t.Errorf("%+v %+v", result, o)
	}
	if u := operations[0].Unfinished[0]; u.ServiceNs != w.ended-50 || *u.ResponseNs != w.ended-20 || w.ended < time.Second.Nanoseconds() {
		t.Errorf("%+v after %d ns", u, w.ended)
	}
}

func TestWhatEndsAfterTheWindowIsMeasuredAndHasNotEnded(t *testing.T) {
	result := run(t, pausing(900, Until{Kind: "time", Ms: 400}), nil)
	o, w := result.Operations[0], result.Workers[0]
	if o.Committed != 1 || o.Measured != 1 || o.Ended != 0 || len(o.Unfinished) != 0 || w.InsideNs < 200_000_000 {
		t.Errorf("%+v %+v", o, w)
	}
}

func TestWhatBeganInTheWarmUpHasEndedAndIsNotMeasured(t *testing.T) {
	trial := pausing(400, Until{Kind: "count", Transactions: 1})
	trial.WarmupMs = 200
	result := run(t, trial, nil)
	o, w := result.Operations[0], result.Workers[0]
	// The window of a role with a number of transactions ends with the last one.
	if o.Committed != 1 || o.Measured != 0 || o.Ended != 1 || w.InsideNs+w.OutsideNs != result.MeasuredNs || w.InsideNs < 100_000_000 {
		t.Errorf("%+v %+v of %d ns", o, w, result.MeasuredNs)
	}
}

func TestARolesWindowEndsWithTheOther(t *testing.T) {
	trial := pausing(400, Until{Kind: "count", Transactions: 1})
	other := pausing(900, Until{Kind: "role", Name: "r-slow"})
	other.Roles[0].Name, other.Roles[0].Steps[0].Transaction = "other", 1
	trial.Transactions = append(trial.Transactions, other.Transactions[0])
	trial.Transactions[1].Name = "slower"
	trial.Roles = append(trial.Roles, other.Roles[0])
	result := run(t, trial, nil)
	first, o := result.Workers[0], result.Operations[1]
	window := result.Workers[1].InsideNs + result.Workers[1].OutsideNs
	if o.Committed != 1 || o.Measured != 1 || o.Ended != 0 || window < first.InsideNs || window > result.ElapsedNs-300_000_000 {
		t.Errorf("%+v, %d ns of %d", o, window, result.ElapsedNs)
	}
}

func TestTheTimeOfAWorkerIsTheWindow(t *testing.T) {
	for _, load := range []Load{{Kind: "closed"}, {Kind: "closed", ThinkUs: 3000}, {Kind: "open", Rate: 200, Arrivals: "poisson"}, {Kind: "open", Rate: 1e5, Arrivals: "constant"}} {
		trial := pausing(1, Until{Kind: "time", Ms: 250})
		trial.Roles[0].Workers, trial.Roles[0].WorkersInRole, trial.Roles[0].Load, trial.WarmupMs = 3, 3, load, 50
		// run checks with addsUp that the counts agree.
		if o := run(t, trial, nil).Operations[0]; o.Ended == 0 || o.Ended > o.Committed {
			t.Errorf("%+v: %+v", load, o)
		}
	}
}

// unfinished runs a trial of limited time that stays locked out, and checks the results of its workers.
func unfinished(t *testing.T, trial *Trial, workers int, between func()) heard {
	t.Helper()
	trial.DrainMs = 150
	trial.Roles[0].Until = Until{Kind: "time", Ms: 250}
	h := converse(t, trial, between)
	if h.failed != nil {
		t.Fatal(h.failed.Reason)
	}
	h.addsUp(t, trial)
	open, o := trial.Roles[0].Load.Kind == "open", h.result.Operations[0]
	var unserved uint64
	if open {
		unserved = uint64(trial.Roles[0].Load.Rate/4) - uint64(workers)
	}
	if o.Committed+o.Failed+o.Empty+o.Ended+o.Measured != 0 || o.Unserved != unserved || len(o.Unfinished) != workers {
		t.Errorf("%+v", o)
	}
	// Each began before the end of the role, and was abandoned after the drain.
	const least, drain = 150_000_000, 400_000_000
	for _, u := range o.Unfinished {
		if u.ServiceNs < least || u.ServiceNs > h.result.ElapsedNs || h.result.ElapsedNs < drain || h.last < drain/1_000_000 {
			t.Errorf("unfinished for %d ns after %d ns, the last tick at %d ms", u.ServiceNs, h.result.ElapsedNs, h.last)
		}
		if open != (u.ResponseNs != nil) || open && *u.ResponseNs < u.ServiceNs {
			t.Errorf("%+v", u)
		}
	}
	for _, w := range h.result.Workers {
		if w.Committed+w.Ended != 0 || w.InsideNs == 0 || w.StallNs < drain {
			t.Errorf("%+v", w)
		}
	}
	return h
}

// TestWhatHangsIsUnfinished lets workers wait in C, Go or WebAssembly for a lock held by the test, or for another
// waiting worker.
func TestWhatHangsIsUnfinished(t *testing.T) {
	hangs := func(t *testing.T, driver string, sharing Sharing, load Load) {
		path := file(t)
		trial := trialOf(driver, path, sharing, 2, 0, insert())
		trial.Connection.Settings[2] = pragma("busy_timeout", "60000")
		trial.Roles[0].Load = load
		start := time.Now()
		unfinished(t, trial, 2, func() { lock(t, path) })
		// The process ends although its calls still wait.
		if took := time.Since(start); took > 50*time.Second {
			t.Errorf("%v", took)
		}
		if rows := query(t, path, "SELECT count(*) FROM t"); rows[0] != 0 {
			t.Errorf("%d rows", rows[0])
		}
	}
	each(t, real, func(t *testing.T, driver string) { hangs(t, driver, ownConnection, Load{Kind: "closed"}) })
	for _, sharing := range []Sharing{{Kind: "one-connection"}, {Kind: "pool", Connections: 1}, {Kind: "app-lock"}, {Kind: "writer-readers", Readers: 1}} {
		for _, driver := range []string{"mattn", "zombiezen"} {
			t.Run(driver+" "+sharing.Kind, func(t *testing.T) { hangs(t, driver, sharing, Load{Kind: "open", Rate: 1000, Arrivals: "constant"}) })
		}
	}
}

func TestAQueuesCallThatHangsIsUnfinished(t *testing.T) {
	for _, sharing := range []Sharing{ownConnection, {Kind: "one-connection"}} {
		path := emptyFile(t)
		trial := queueTrial(path, sharing, 2, 0, 0)
		trial.Connection.Settings[2] = pragma("busy_timeout", "60000")
		unfinished(t, trial, 2, func() { lock(t, path) })
	}
}

func TestErrorsOfWhatIsUnfinishedAreSeen(t *testing.T) {
	path := file(t)
	trial := trialOf("mattn", path, ownConnection, 1, 0, insert())
	trial.Connection.Settings[2] = pragma("busy_timeout", "0")
	trial.Retry = Retry{1_000_000, 2000, 1, 2000, []string{"SQLITE_BUSY"}}
	h := unfinished(t, trial, 1, func() { lock(t, path) })
	if count := h.result.Operations[0].Errors["SQLITE_BUSY"]; count.Seen == 0 || count.Cured != 0 || h.ticked.Busy != count.Seen {
		t.Errorf("%+v, %+v in ticks", count, h.ticked)
	}
}

// TestARoleDoesNotWaitForWhatIsUnfinished checks that an abandoned worker counts as ended for a role that waits for its
// role.
func TestARoleDoesNotWaitForWhatIsUnfinished(t *testing.T) {
	path := file(t)
	read := Transaction{Name: "read", Begin: "none", HoldUs: 1000, Statements: []Statement{plain("SELECT count(*) FROM t", 1)}}
	trial := trialOf("mattn", path, ownConnection, 1, 0, insert(), read)
	trial.Connection.Settings[2], trial.DrainMs = pragma("busy_timeout", "60000"), 150
	trial.Roles[0].Until = Until{Kind: "time", Ms: 250}
	trial.Roles[1].Until = Until{Kind: "role", Name: "r-insert"}
	result := run(t, trial, func() { lock(t, path) })
	stuck, reading, w := result.Operations[0], result.Operations[1], result.Workers[1]
	if len(stuck.Unfinished) != 1 || len(reading.Unfinished) != 0 || reading.Ended < 10 || reading.Committed > reading.Ended+1 {
		t.Errorf("%+v %+v", stuck, reading)
	}
	if window := w.InsideNs + w.OutsideNs; window < 400_000_000 || window > result.ElapsedNs {
		t.Errorf("a window of %d ns in %d", window, result.ElapsedNs)
	}
}

func TestWhatHangsOnAServerIsUnfinished(t *testing.T) {
	servers(t, func(t *testing.T, s *server) {
		s.run(t, "INSERT INTO "+s.schema+".t(id) VALUES (1)")
		for _, sharing := range []Sharing{ownConnection, {Kind: "pool", Connections: 1}} {
			if err := s.control.begin(); err != nil {
				t.Fatal(err)
			}
			s.run(t, "UPDATE "+s.schema+".t SET worker = 1")
			update := Transaction{Name: "update", Begin: "immediate", Writes: true, Statements: []Statement{plain("UPDATE t SET worker = 2 WHERE id = 1", 1)}}
			unfinished(t, s.trial(sharing, 2, 0, update), 2, nil)
			if err := s.control.rollback(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// The end of a role lies after its channel is closed: a pause that the channel cuts short must last until then, or
// another transaction could begin without its pause.
func TestAPauseThatIsCutShortEndsAfterTheEnd(t *testing.T) {
	clock := Clock{time.Now()}
	moment := &Moment{come: make(chan struct{})}
	end := End{time: never, role: moment}
	begins := make(chan bool)
	go func() {
		end.sleep(clock, never)
		begins <- !end.isPast(clock.now())
	}()
	time.Sleep(time.Millisecond)
	// As `comes` does, slowly.
	moment.mutex.Lock()
	close(moment.come)
	time.Sleep(5 * time.Millisecond)
	moment.at = clock.now()
	moment.mutex.Unlock()
	if <-begins {
		t.Fatal("a transaction may begin after the pause")
	}
}
