package main

import (
	"slices"
	"sync/atomic"
	"time"
)

// Counters are those of one step of one worker that `tick` shows: written by one goroutine, read by another. The
// padding keeps each on cache lines of its own (two, for processors that fetch them in pairs).
type Counters struct {
	committed, empty, failed, errors, busy atomic.Uint64
	_                                      [88]byte
}

// add does without a locked addition: there is one writer.
func add(counter *atomic.Uint64, n uint64) { counter.Store(counter.Load() + n) }

// busy is how many of these codes say that another transaction was in the way.
func busy(codes []string) uint64 {
	var n uint64
	for _, code := range codes {
		if slices.ContainsFunc(contending, func(listed string) bool { return standsFor(listed, code) }) {
			n++
		}
	}
	return n
}

// Record has the histograms and counts of one step of one worker; they are added up when the trial is over, so that
// the hot path shares nothing. Its size does not depend on the number of operations.
type Record struct {
	measured, rows, verified, mismatches          uint64
	errors                                        map[string]ErrorCount // by extended name
	service, wait, response, lag, query, firstRow *Histogram
}

// newRecord takes whether there is something to wait for, and whether arrivals are scheduled.
func newRecord(t *Transaction, shares, open bool) *Record {
	fetches := firstFetch(t) >= 0
	return &Record{
		errors:  map[string]ErrorCount{},
		service: newHistogram(), wait: only(shares), response: only(open), lag: only(open),
		query: only(fetches), firstRow: only(fetches),
	}
}

// countErrors counts those of one execution, the same code as often as it was seen.
func (r *Record) countErrors(codes []string, cured bool) {
	for _, code := range codes {
		count := r.errors[code]
		count.Seen++
		if cured {
			count.Cured++
		}
		r.errors[code] = count
	}
}

// mergeInto adds this to the whole.
func (r *Record) mergeInto(whole *Operation) {
	whole.Measured += r.measured
	whole.Rows += r.rows
	whole.Verified += r.verified
	whole.Mismatches += r.mismatches
	for code, count := range r.errors {
		sum := whole.Errors[code]
		sum.Seen += count.Seen
		sum.Cured += count.Cured
		whole.Errors[code] = sum
	}
	whole.Service = merged(whole.Service, r.service)
	whole.Wait = merged(whole.Wait, r.wait)
	whole.Response = merged(whole.Response, r.response)
	whole.Lag = merged(whole.Lag, r.lag)
	whole.Query = merged(whole.Query, r.query)
	whole.FirstRow = merged(whole.FirstRow, r.firstRow)
}

// Board has the counts of all workers, and where they belong.
type Board struct {
	trial    *Trial
	counters []Counters // one for each step of each worker: by database, role, worker and step
	places   []int      // index into keys of each of those
	keys     []boardKey // each pair once
	last     []TickCount
}

type boardKey struct{ role, transaction int }

func newBoard(trial *Trial) *Board {
	b := &Board{trial: trial}
	for r := range trial.Roles {
		for _, step := range trial.Roles[r].Steps {
			b.place(r, step.Transaction)
		}
	}
	for range trial.Databases {
		for r := range trial.Roles {
			for range trial.Roles[r].Workers {
				for _, step := range trial.Roles[r].Steps {
					b.places = append(b.places, b.place(r, step.Transaction))
				}
			}
		}
	}
	b.counters = make([]Counters, len(b.places))
	b.last = make([]TickCount, len(b.keys))
	return b
}

func (b *Board) place(role, transaction int) int {
	key := boardKey{role, transaction}
	at := slices.Index(b.keys, key)
	if at < 0 {
		at = len(b.keys)
		b.keys = append(b.keys, key)
	}
	return at
}

// firstOf is the place of a role's first step, or -1.
func (b *Board) firstOf(role int) int {
	return slices.IndexFunc(b.keys, func(k boardKey) bool { return k.role == role })
}

func (b *Board) sums() []TickCount {
	sums := make([]TickCount, len(b.keys))
	for i, key := range b.keys {
		sums[i].Role, sums[i].Transaction = b.trial.Roles[key.role].Name, b.trial.Transactions[key.transaction].Name
	}
	for i := range b.counters {
		counters, sum := &b.counters[i], &sums[b.places[i]]
		sum.Committed += counters.committed.Load()
		sum.Empty += counters.empty.Load()
		sum.Failed += counters.failed.Load()
		sum.Errors += counters.errors.Load()
		sum.Busy += counters.busy.Load()
	}
	return sums
}

// operations gives one entry for each role and transaction, with its counts so far and nothing else.
func (b *Board) operations() []Operation {
	operations := make([]Operation, len(b.keys))
	for i, sum := range b.sums() {
		empty := newRecord(&b.trial.Transactions[b.keys[i].transaction], false, false)
		operations[i] = Operation{
			Role: sum.Role, Transaction: sum.Transaction,
			Committed: sum.Committed, Empty: sum.Empty, Failed: sum.Failed, Errors: map[string]ErrorCount{},
			Service: empty.service, Query: empty.query, FirstRow: empty.firstRow,
		}
	}
	return operations
}

// tick gives what was counted since the last one, for each role and transaction that did anything, and how late the
// probe's timer ran; there may be no probe.
func (b *Board) tick(clock Clock, lag *Lag) Tick {
	now, moment := b.sums(), clock.now()
	tick := Tick{Type: "tick", TMs: moment / int64(time.Millisecond), Counts: []TickCount{}}
	if lag != nil {
		longest := lag.take(moment)
		tick.LagNs = &longest
	}
	for i, last := range b.last {
		since := now[i]
		since.Committed -= last.Committed
		since.Empty -= last.Empty
		since.Failed -= last.Failed
		since.Errors -= last.Errors
		since.Busy -= last.Busy
		if since.Committed+since.Empty+since.Failed+since.Errors > 0 {
			tick.Counts = append(tick.Counts, since)
		}
	}
	b.last = now
	return tick
}
