package main

import (
	"encoding/base64"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const stall = 200 * time.Millisecond

// spinner is a driver for these tests: a statement keeps its processor for about the given duration, without a call at
// which the scheduler could preempt it. Preemption then needs a signal, which GODEBUG=asyncpreemptoff=1 turns off.
var spinner = Driver{
	Name: "spinner",
	Open: func(*Database, *Connection) (Client, error) { return spinnerClient{}, nil },
	Code: func(error) (string, bool) { return "", false },
}

type spinnerClient struct{ noopClient }

func (spinnerClient) Session() (Session, error) { return &spinnerSession{rate: rate()}, nil }

type spinnerSession struct {
	noopSession
	rate float64 // iterations per nanosecond
	spun uint64  // result of the loop, so that the compiler does not remove it
}

func (s *spinnerSession) Execute(call *Call, _ *Effect) (uint64, error) {
	asked, err := time.ParseDuration(call.Spec.SQL)
	s.spun = spin(uint64(s.rate * float64(asked)))
	return 1, err
}

// spin contains no call, and so no preemption point.
//
//go:noinline
func spin(turns uint64) (x uint64) {
	for i := range turns {
		x = x*2862933555777941757 + i
	}
	return x
}

// rate measures the speed of the machine: the fastest of some short spins.
func rate() float64 {
	const turns = 1 << 20
	best := time.Hour
	for range 20 {
		start := time.Now()
		runtime.KeepAlive(spin(turns))
		best = min(best, time.Since(start))
	}
	return turns / float64(best)
}

func decoded(t *testing.T, text string) *hdrhistogram.Histogram {
	t.Helper()
	if text == "" {
		t.Fatal("there is no histogram")
	}
	if _, err := base64.StdEncoding.DecodeString(text); err != nil {
		t.Fatal(err)
	}
	h, err := hdrhistogram.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// stalled is the result of a trial on one processor: transaction times and the histograms of the probe.
type stalled struct {
	shortest, longest   time.Duration // transaction
	lateness, scheduler *hdrhistogram.Histogram
}

func onOneProcessor(t *testing.T, trial *Trial) stalled {
	t.Helper()
	one := 1
	trial.RuntimeThreads, trial.ProbeMs = &one, 2
	result := run(t, trial, nil)
	service := decoded(t, result.Operations[0].Service)
	return stalled{time.Duration(service.Min()), time.Duration(service.Max()), decoded(t, result.Timers["probe"]), decoded(t, result.Timers["scheduler"])}
}

func (s stalled) String() string {
	at := func(h *hdrhistogram.Histogram) string {
		return fmt.Sprint(h.TotalCount(), time.Duration(h.ValueAtQuantile(50)), time.Duration(h.ValueAtQuantile(99)), time.Duration(h.Max()))
	}
	return fmt.Sprintf("%v: late %s, scheduler %s", s.longest, at(s.lateness), at(s.scheduler))
}

// inOneOfFive passes if one of five attempts does: a busy machine can spoil single attempts, a faulty probe spoils all.
func inOneOfFive(t *testing.T, try func() error) {
	t.Helper()
	var err error
	for tried := range 5 {
		// Wait for a burst of load to pass.
		time.Sleep(time.Duration(tried) * 200 * time.Millisecond)
		if err = try(); err == nil {
			return
		}
	}
	t.Error(err)
}

// stallsNobody returns an error if the longest transaction took less than least, or if a quarter of the timers were
// late by at least a quarter of it.
func stallsNobody(t *testing.T, trial *Trial, least time.Duration) error {
	t.Helper()
	s := onOneProcessor(t, trial)
	if s.longest < least || time.Duration(s.lateness.ValueAtQuantile(75)) >= s.longest/4 {
		return fmt.Errorf("%v", s)
	}
	return nil
}

func spinning(each time.Duration, workers int, count uint64) *Trial {
	spin := Transaction{Name: "spin", Begin: "none", Statements: []Statement{plain(each.String(), 1)}}
	return trialOf("spinner", "", ownConnection, workers, count, spin)
}

// TestAProcessorThatIsHeldIsSeen checks that timers are late by as long as a goroutine holds the only processor without
// preemption.
func TestAProcessorThatIsHeldIsSeen(t *testing.T) {
	t.Setenv("RUNNER_SPINS", "1")
	t.Setenv("GODEBUG", "asyncpreemptoff=1")
	inOneOfFive(t, func() error {
		s := onOneProcessor(t, spinning(stall, 1, 3))
		if late := time.Duration(s.lateness.Max()); s.longest < stall/2 || late < s.longest*9/10 || late > s.longest*11/10 {
			return fmt.Errorf("held for %v, and a timer was %v late", s.longest, late)
		}
		return nil
	})
	// Two goroutines alternate, so each waits for the other. The runtime samples every eighth wait, in buckets
	// a quarter wide. On a busy machine transaction times differ, and the sampled waits may be for the shortest.
	inOneOfFive(t, func() error {
		s := onOneProcessor(t, spinning(stall/4, 2, 48))
		if waited := time.Duration(s.scheduler.Max()); waited < s.shortest*6/10 || waited > s.longest*2 {
			return fmt.Errorf("held for %v to %v, and the longest that the scheduler saw one wait is %v", s.shortest, s.longest, waited)
		}
		return nil
	})
}

// TestAProcessorThatIsSharedIsNotHeld checks that preemption by a signal lets other goroutines run after about 10 ms.
func TestAProcessorThatIsSharedIsNotHeld(t *testing.T) {
	t.Setenv("RUNNER_SPINS", "1")
	inOneOfFive(t, func() error { return stallsNobody(t, spinning(stall, 1, 3), stall/2) })
}

// TestAPauseStallsNobody checks that a sleeping goroutine delays no timer, whatever it holds.
func TestAPauseStallsNobody(t *testing.T) {
	slow := insert()
	slow.HoldUs = stall.Microseconds()
	inOneOfFive(t, func() error { return stallsNobody(t, trialOf("mattn", file(t), ownConnection, 1, 3, slow), stall) })
}

// TestALongQueryStallsNobody checks long calls into SQLite: cgo releases the processor after about 20 µs, and Go code
// is preempted.
func TestALongQueryStallsNobody(t *testing.T) {
	each(t, real, func(t *testing.T, driver string) {
		rows := "1000000"
		if strings.HasPrefix(driver, "ncruces") {
			rows = "200000"
		}
		read := Transaction{Name: "read", Begin: "none", Params: []Param{{"n", Source{Kind: "value", Value: []byte(rows)}}}, Statements: []Statement{
			plain("WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1) SELECT sum(i) FROM n", 1, 0)}}
		read.Statements[0].Fetch = "all"
		inOneOfFive(t, func() error { return stallsNobody(t, trialOf(driver, file(t), ownConnection, 1, 2, read), stall/4) })
	})
}

// TestAPoolThatIsHeldIsSeen checks that the wait for the only connection of a pool lasts as long as the connection is
// held.
func TestAPoolThatIsHeldIsSeen(t *testing.T) {
	each(t, []string{"mattn", "modernc", "zombiezen", "noop"}, func(t *testing.T, driver string) {
		slow := insert()
		slow.HoldUs = stall.Microseconds()
		read := Transaction{Name: "read", Begin: "none", Statements: []Statement{plain("SELECT 1", 1)}}
		inOneOfFive(t, func() error {
			trial := trialOf(driver, file(t), Sharing{Kind: "pool", Connections: 1}, 1, 4, slow, read)
			trial.Roles[1].Until = Until{Kind: "role", Name: trial.Roles[0].Name}
			result := run(t, trial, nil)
			// The reader is too short to cause a wait.
			held := decoded(t, result.Operations[0].Service).Max()
			waited := decoded(t, result.Operations[1].Timers["wait"]).Max()
			if held < stall.Nanoseconds() || waited < held*9/10 || waited > held*11/10 {
				return fmt.Errorf("held for %v, waited for %v", time.Duration(held), time.Duration(waited))
			}
			return nil
		})
	})
}

// addSpinner adds the spinner if the test program runs as a runner for these tests.
func addSpinner() {
	if os.Getenv("RUNNER_SPINS") != "" {
		drivers = append(drivers, &spinner)
	}
}
