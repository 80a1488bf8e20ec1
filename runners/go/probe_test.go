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

// spinner is a driver for these tests: a statement says for how long it keeps its processor, more or less, without a call
// in which the scheduler could take it away. That takes a signal, which GODEBUG=asyncpreemptoff=1 turns off.
var spinner = Driver{
	Name: "spinner",
	Open: func(*Database, *Connection) (Client, error) { return spinnerClient{}, nil },
	Code: func(error) (string, bool) { return "", false },
}

type spinnerClient struct{ noopClient }

func (spinnerClient) Session() (Session, error) { return &spinnerSession{rate: rate()}, nil }

type spinnerSession struct {
	noopSession
	rate float64 // turns in a nanosecond
	spun uint64  // so that a spin is not for nothing
}

func (s *spinnerSession) Execute(call *Call, _ *Effect) (uint64, error) {
	asked, err := time.ParseDuration(call.Spec.SQL)
	s.spun = spin(uint64(s.rate * float64(asked)))
	return 1, err
}

// spin has no call, and so no place to be stopped at.
//
//go:noinline
func spin(turns uint64) (x uint64) {
	for i := range turns {
		x = x*2862933555777941757 + i
	}
	return x
}

// rate takes the quickest of some short spins as the machine's speed.
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

func decoded(t *testing.T, text *string) *hdrhistogram.Histogram {
	t.Helper()
	if text == nil {
		t.Fatal("there is no histogram")
	}
	if _, err := base64.StdEncoding.DecodeString(*text); err != nil {
		t.Fatal(err)
	}
	h, err := hdrhistogram.Decode([]byte(*text))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// stalled is what a trial on one processor says: how long its longest transaction was, and what the probe saw.
type stalled struct {
	shortest, longest   time.Duration // transaction
	lateness, scheduler *hdrhistogram.Histogram
}

func onOneProcessor(t *testing.T, trial *Trial) stalled {
	t.Helper()
	one := 1
	trial.RuntimeThreads, trial.ProbeMs = &one, 2
	result := run(t, trial, nil)
	service := decoded(t, &result.Operations[0].Service)
	return stalled{time.Duration(service.Min()), time.Duration(service.Max()), decoded(t, &result.Probe.Lateness), decoded(t, result.Probe.Scheduler)}
}

func (s stalled) String() string {
	at := func(h *hdrhistogram.Histogram) string {
		return fmt.Sprint(h.TotalCount(), time.Duration(h.ValueAtQuantile(50)), time.Duration(h.ValueAtQuantile(99)), time.Duration(h.Max()))
	}
	return fmt.Sprintf("%v: late %s, scheduler %s", s.longest, at(s.lateness), at(s.scheduler))
}

// inOneOfFive tries: a busy machine may spoil a try, and a probe that is wrong spoils all of them.
func inOneOfFive(t *testing.T, try func() error) {
	t.Helper()
	var err error
	for tried := range 5 {
		// For a burst of load to pass.
		time.Sleep(time.Duration(tried) * 200 * time.Millisecond)
		if err = try(); err == nil {
			return
		}
	}
	t.Error(err)
}

// stallsNobody says what is wrong if a transaction took less than `least`, or others had to wait for it.
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
	return trialOf("spinner", "", perWorker, workers, count, spin)
}

// What holds the only processor and cannot be stopped makes timers as late as that.
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
	// Two who take turns: what can run waits for the other. The runtime counts every eighth wait of a goroutine, in buckets
	// a quarter wide. On a busy machine transactions differ, and the waits counted may be those for the shortest.
	inOneOfFive(t, func() error {
		s := onOneProcessor(t, spinning(stall/4, 2, 48))
		if waited := time.Duration(s.scheduler.Max()); waited < s.shortest*6/10 || waited > s.longest*2 {
			return fmt.Errorf("held for %v to %v, and the longest that the scheduler saw one wait is %v", s.shortest, s.longest, waited)
		}
		return nil
	})
}

// The same work that a signal can stop lets others have their turn after some 10 ms.
func TestAProcessorThatIsSharedIsNotHeld(t *testing.T) {
	t.Setenv("RUNNER_SPINS", "1")
	inOneOfFive(t, func() error { return stallsNobody(t, spinning(stall, 1, 3), stall/2) })
}

// A goroutine that sleeps stalls nobody, whatever it holds.
func TestAPauseStallsNobody(t *testing.T) {
	slow := insert()
	slow.HoldUs = stall.Microseconds()
	inOneOfFive(t, func() error { return stallsNobody(t, trialOf("mattn", file(t), perWorker, 1, 3, slow), stall) })
}

// In SQLite itself: C by cgo gives its processor back after some 20 µs, Go is stopped like any other.
func TestALongQueryStallsNobody(t *testing.T) {
	each(t, real, func(t *testing.T, driver string) {
		rows := "1000000"
		if strings.HasPrefix(driver, "ncruces") {
			rows = "200000"
		}
		read := Transaction{Name: "read", Begin: "none", Params: []Param{{"n", Source{Kind: "value", Value: []byte(rows)}}}, Statements: []Statement{
			plain("WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1) SELECT sum(i) FROM n", 1, 0)}}
		read.Statements[0].Fetch = "all"
		inOneOfFive(t, func() error { return stallsNobody(t, trialOf(driver, file(t), perWorker, 1, 2, read), stall/4) })
	})
}

// Who waits for the only connection of a pool waits for as long as it is held.
func TestAPoolThatIsHeldIsSeen(t *testing.T) {
	each(t, []string{"mattn", "modernc", "zombiezen", "noop"}, func(t *testing.T, driver string) {
		slow := insert()
		slow.HoldUs = stall.Microseconds()
		read := Transaction{Name: "read", Begin: "none", Statements: []Statement{plain("SELECT 1", 1)}}
		inOneOfFive(t, func() error {
			trial := trialOf(driver, file(t), Access{Kind: "pool", Connections: 1}, 1, 4, slow, read)
			trial.Roles[1].Until = Until{Kind: "role", Name: trial.Roles[0].Name}
			result := run(t, trial, nil)
			// The reader is not long enough to be waited for.
			held := decoded(t, &result.Operations[0].Service).Max()
			waited := decoded(t, result.Operations[1].Wait).Max()
			if held < stall.Nanoseconds() || waited < held*9/10 || waited > held*11/10 {
				return fmt.Errorf("held for %v, waited for %v", time.Duration(held), time.Duration(waited))
			}
			return nil
		})
	})
}

// addSpinner is for the test program as the runner of these tests.
func addSpinner() {
	if os.Getenv("RUNNER_SPINS") != "" {
		drivers = append(drivers, &spinner)
	}
}
