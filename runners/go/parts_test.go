package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"os"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestTheCodesAreThoseOfTheProtocol(t *testing.T) {
	theirs, err := os.ReadFile("../../crates/protocol/result-codes.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(theirs, codeTable) {
		t.Error("result-codes.json differs from protocol/result-codes.json: copy it")
	}
	if theirs, err = os.ReadFile("../../crates/protocol/server-codes.json"); err != nil || !bytes.Equal(theirs, serverTable) {
		t.Error("server-codes.json differs from protocol/server-codes.json: copy it", err)
	}
	for code, want := range map[int]string{517: "SQLITE_BUSY_SNAPSHOT", 5 | 99<<8: "SQLITE_BUSY", 200: "SQLITE_UNKNOWN"} {
		if got := codeName(code); got != want {
			t.Errorf("%d is %s, not %s", code, got, want)
		}
	}
}

func TestOnlyTheRightHashAgrees(t *testing.T) {
	text := func(s string) *Value { return &Value{Kind: Text, Text: s} }
	// SHA-256 of no bytes, and of "abc" (FIPS 180-4 examples).
	empty := text("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
	abc := text("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
	long := text(strings.Repeat("00ff", 500))
	digest := sha256.Sum256(bytes.Repeat([]byte{0x00, 0xff}, 500))
	job := &Job{}
	for i, c := range []struct {
		value, hash *Value
		agree       bool
	}{
		{text(""), empty, true}, {text("616263"), abc, true}, {long, text(hex.EncodeToString(digest[:])), true},
		{text("616262"), abc, false}, {text("61626"), abc, false}, {text("61626g"), abc, false}, {long, abc, false},
		{text("616263"), text(abc.Text[:63]), false}, {&Value{}, empty, false}, {text(""), &Value{}, false},
	} {
		if got := job.agree(c.value, c.hash); got != c.agree {
			t.Errorf("case %d: %v", i, got)
		}
	}
}

func TestPausesGrowUpToTheLongest(t *testing.T) {
	r, err := newRetrying(Retry{Attempts: 5, BackoffUs: 100, Multiplier: 2, MaxBackoffUs: 350, On: []string{"SQLITE_BUSY", "SQLITE_LOCKED_SHAREDCACHE"}}, sqliteDialect)
	if err != nil {
		t.Fatal(err)
	}
	for done, want := range map[int]time.Duration{1: 100, 2: 200, 3: 350, 4000: 350} {
		if got := r.pause(done); got != want*time.Microsecond {
			t.Errorf("pause %d is %v", done, got)
		}
	}
	for name, covered := range map[string]bool{
		"SQLITE_BUSY": true, "SQLITE_BUSY_SNAPSHOT": true, "SQLITE_LOCKED_SHAREDCACHE": true, "SQLITE_LOCKED": false,
		"SQLITE_FULL": false, "SQLITE_UNKNOWN": false, "deadlock_detected": false,
	} {
		if r.covers(name) != covered {
			t.Errorf("%s: %v", name, !covered)
		}
	}
}

func schedule(t *testing.T, arrivals string) *Schedule {
	s, err := newSchedule(3, &Role{Name: "r", Workers: 1, WorkersInRole: 1, Load: Load{Kind: "open", Rate: 1000, Arrivals: arrivals}})
	if err != nil || s == nil {
		t.Fatal(s, err)
	}
	return s
}

func TestConstantGapsAreEqual(t *testing.T) {
	s := schedule(t, "constant")
	var dues []int64
	for due := s.take(5_500_000); due != never; due = s.take(5_500_000) {
		dues = append(dues, due)
	}
	if !slices.Equal(dues, []int64{1_000_000, 2_000_000, 3_000_000, 4_000_000, 5_000_000}) {
		t.Error(dues)
	}
	// The third of four processes.
	s, err := newSchedule(3, &Role{Workers: 1, FirstInRole: 2, WorkersInRole: 4, Load: Load{Kind: "open", Rate: 1000, Arrivals: "constant"}})
	if err != nil || s.take(never-1) != 750_000 || s.take(never-1) != 1_750_000 {
		t.Error("the third of four processes is to start after three quarters of a gap", err)
	}
	s = schedule(t, "constant")
	taken := s.take(10_500_000)
	s.take(10_500_000)
	s.leave(taken)
	if left := s.unserved(10_500_000); left != 9 {
		t.Errorf("%d unserved", left)
	}
}

func TestExponentialGapsHaveTheirMeanAndDeviation(t *testing.T) {
	s := schedule(t, "poisson")
	var gaps []float64
	last, sum := int64(0), 0.0
	for due := s.take(100e9); due != never; due = s.take(100e9) {
		gaps = append(gaps, float64(due-last))
		sum, last = sum+float64(due-last), due
	}
	// 100 s at 1000/s: the count of a Poisson process has a standard deviation of sqrt(100000) = 316.
	if len(gaps) < 98_700 || len(gaps) > 101_300 {
		t.Errorf("%d arrivals", len(gaps))
	}
	mean, squares := sum/float64(len(gaps)), 0.0
	for _, gap := range gaps {
		squares += (gap - mean) * (gap - mean)
	}
	if ratio := math.Sqrt(squares/float64(len(gaps))) / mean; math.Abs(ratio-1) > 0.02 {
		t.Errorf("deviation is %v of the mean", ratio)
	}
	if _, err := newSchedule(3, &Role{Load: Load{Kind: "open", Rate: math.NaN()}}); err == nil {
		t.Error("a rate that is none was accepted")
	}
}

func TestAStallIsSeenAtItsLength(t *testing.T) {
	// A clock that started 100 ms ago: ten timers of 10 ms are overdue at once.
	clock := Clock{time.Now().Add(-100 * time.Millisecond)}
	stop := make(chan struct{})
	time.AfterFunc(300*time.Millisecond, func() { close(stop) })
	lag := newLag(10_000_000)
	// The timer is overdue before its first run.
	if overdue := lag.take(clock.now()); overdue < 89_000_000 {
		t.Errorf("overdue by %d ns", overdue)
	}
	h := probe(clock, 10, 0, lag, stop)
	// take returns each value once.
	if first, second := lag.take(0), lag.take(0); first < 89_000_000 || second != 0 {
		t.Errorf("a lag of %d and then %d ns", first, second)
	}
	if h.Max() < 89_000_000 || h.TotalCount() < 10 {
		t.Errorf("%d timers, %d ns late", h.TotalCount(), h.Max())
	}
	stop = make(chan struct{})
	close(stop)
	if h := probe(Clock{time.Now()}, 3_600_000, 0, newLag(1), stop); h.TotalCount() != 0 {
		t.Errorf("%d timers in no time", h.TotalCount())
	}
}

func TestTheSchedulersWaitsAreThoseBetweenTwoReadings(t *testing.T) {
	inf := math.Inf(1)
	of := func(counts ...uint64) *metrics.Float64Histogram {
		return &metrics.Float64Histogram{Counts: counts, Buckets: []float64{math.Inf(-1), 0, 1e-6, 1e-3, inf}}
	}
	h := waited(of(1, 2, 3, 4), of(1, 2, 13, 6))
	if h.TotalCount() != 12 || h.Max() < 999_000 || h.Max() > 1_001_000 || h.ValueAtQuantile(50) > 1_001_000 {
		t.Errorf("%d waits, up to %d ns", h.TotalCount(), h.Max())
	}
	if waited(nil, of(1, 1, 1, 1)) != nil {
		t.Error("waits since nothing")
	}
	// The counts come from the runtime of this program.
	before := waits()
	done := make(chan struct{})
	for range 100 {
		go func() { done <- struct{}{} }()
	}
	for range 100 {
		<-done
	}
	if h := waited(before, waits()); h == nil || h.TotalCount() == 0 {
		t.Error("no goroutine ever waited")
	}
}

func TestOptionsBecomeKeysOfTheURI(t *testing.T) {
	options := map[string]any{"_pragma": []any{"busy_timeout(7)", "foreign_keys(1)"}, "mode": "ro"}
	if err := refuseUnknown(options, "_pragma mode"); err != nil {
		t.Error(err)
	}
	if err := refuseUnknown(options, "_pragma"); err == nil {
		t.Error("an option that is unknown was accepted")
	}
	got := dsn(&Database{Kind: "file", Path: "/a?b#c%.db"}, options)
	if want := "file:/a%3fb%23c%25.db?_pragma=busy_timeout%287%29&_pragma=foreign_keys%281%29&mode=ro"; got != want {
		t.Error(got)
	}
}

func TestAWholeNameIsPassedOnAsItIs(t *testing.T) {
	file := &Database{Kind: "file", Path: "/a b.db"}
	name := map[string]any{"dsn": "{path}?_sync=0&mode=memory&sync=0"}
	if got := dsn(file, name); got != "/a b.db?_sync=0&mode=memory&sync=0" {
		t.Error(got)
	}
	for _, c := range []struct {
		database *Database
		options  map[string]any
	}{
		{file, map[string]any{"dsn": "{path}", "_sync": 0}},
		{&Database{Kind: "memory"}, name},
	} {
		_, err := openSQL(nil, mattnKeys, c.database, &Connection{Options: c.options})
		if err == nil || !strings.Contains(err.Error(), "it stands alone") {
			t.Error(c, err)
		}
	}
}

func TestOnlyNamesOfItsDialectAreRetried(t *testing.T) {
	for _, c := range []struct {
		dialect, name string
		known         bool
	}{
		{sqliteDialect, "SQLITE_BUSY", true}, {sqliteDialect, "SQLITE_BUSSY", false}, {sqliteDialect, "CONNECTION_LOST", false},
		{postgresDialect, "deadlock_detected", true}, {postgresDialect, "CONNECTION_LOST", true},
		{postgresDialect, "sqlstate_XX9Y9", true}, {postgresDialect, "sqlstate_1", false}, {postgresDialect, "ER_DUP_ENTRY", false},
		{mysqlDialect, "ER_LOCK_DEADLOCK", true}, {mysqlDialect, "ER_9999", true}, {mysqlDialect, "ER_", false},
		{mysqlDialect, "SQLITE_BUSY", false},
	} {
		_, err := newRetrying(Retry{On: []string{c.name}}, c.dialect)
		if (err == nil) != c.known {
			t.Errorf("%s of %s: %v", c.name, c.dialect, err)
		}
	}
	r, err := newRetrying(Retry{On: []string{"deadlock_detected"}}, postgresDialect)
	if err != nil || !r.covers("deadlock_detected") || r.covers("unique_violation") {
		t.Error("a server's name stands for itself alone", err)
	}
	for code, busy := range map[string]bool{
		"SQLITE_BUSY_SNAPSHOT": true, "deadlock_detected": true, "ER_LOCK_WAIT_TIMEOUT": true, "unique_violation": false,
		"SQLITE_LOCKED": false,
	} {
		if isBusy(code) != busy {
			t.Errorf("%s: %v", code, !busy)
		}
	}
}
