package main

import (
	"slices"
	"strings"
	"time"
)

// Record holds the counts and histograms of one step of one worker, under the mutex of the worker. Records are merged
// at the end of the trial. The size does not depend on the number of operations.
type Record struct {
	Counts
	ended, measured, rows, verified, mismatches   uint64
	errors                                        map[string]ErrorCount // by extended name
	unfinished                                    []Unfinished
	service, wait, response, lag, query, firstRow *Histogram
}

// newRecord creates a Record. shares adds the wait for a connection, open the histograms of scheduled arrivals.
func newRecord(t *Transaction, shares, open bool) *Record {
	fetches := firstFetch(t) >= 0
	return &Record{
		errors:  map[string]ErrorCount{},
		service: newHistogram(), wait: only(shares), response: only(open), lag: only(open),
		query: only(fetches), firstRow: only(fetches),
	}
}

// met counts an error of a running transaction, and keeps the first message of its code.
func (r *Record) met(code, message string) {
	count := r.errors[code]
	count.Seen++
	if count.Message == "" {
		count.Message = strings.Join(strings.Fields(message), " ")
	}
	r.errors[code] = count
	r.Errors++
	if isBusy(code) {
		r.Busy++
	}
}

// count updates the counts that start at `go`.
func (r *Record) count(e *Execution, errors []string) {
	switch e.ending {
	case Committed:
		r.Committed++
	case Empty:
		r.Empty++
	default:
		r.Failed++
	}
	r.verified += e.verified
	r.mismatches += e.mismatches
	if e.ending != Gaveup {
		for _, code := range errors {
			count := r.errors[code]
			count.Cured++
			r.errors[code] = count
		}
	}
}

// measure records a committed transaction that started after the warm-up.
func (r *Record) measure(e *Execution, start, due int64) {
	r.measured++
	r.rows += e.rows
	r.service.note(e.end - start)
	if e.had != never {
		r.wait.note(e.had - start)
	}
	if due != never {
		r.response.note(e.end - due)
		r.lag.note(start - due)
	}
	if e.query != never {
		r.query.note(e.query - start)
	}
	if e.firstRow != never {
		r.firstRow.note(e.firstRow - start)
	}
}

// mergeInto adds the record to whole.
func (r *Record) mergeInto(whole *Operation) {
	whole.Committed += r.Committed
	whole.Empty += r.Empty
	whole.Failed += r.Failed
	whole.Ended += r.ended
	whole.Measured += r.measured
	whole.Rows += r.rows
	for name, count := range map[string]uint64{"verified": r.verified, "mismatches": r.mismatches} {
		if count > 0 {
			whole.Counters[name] += count
		}
	}
	for code, count := range r.errors {
		sum := whole.Errors[code]
		sum.Seen += count.Seen
		sum.Cured += count.Cured
		if sum.Message == "" {
			sum.Message = count.Message
		}
		whole.Errors[code] = sum
	}
	whole.Unfinished = append(whole.Unfinished, r.unfinished...)
	whole.Service = merged(whole.Service, r.service)
	timers := map[string]*Histogram{
		"wait": r.wait, "response": r.response, "lag": r.lag, "query": r.query, "first_row": r.firstRow,
	}
	for name, timer := range timers {
		if timer != nil {
			whole.Timers[name] = merged(whole.Timers[name], timer)
		}
	}
}

// isBusy reports whether the error was caused by a conflict with another transaction.
func isBusy(code string) bool {
	return slices.ContainsFunc(contending, func(listed string) bool { return standsFor(listed, code) })
}

// Board lists the distinct pairs of role and transaction, and the counts reported for them so far.
type Board struct {
	trial *Trial
	keys  []boardKey
	last  []Counts
}

type boardKey struct{ role, transaction int }

func newBoard(trial *Trial) *Board {
	b := &Board{trial: trial}
	for r := range trial.Roles {
		for _, step := range trial.Roles[r].Steps {
			if key := (boardKey{r, step.Transaction}); !slices.Contains(b.keys, key) {
				b.keys = append(b.keys, key)
			}
		}
	}
	b.last = make([]Counts, len(b.keys))
	return b
}

// firstOf returns the index of a role's first pair.
func (b *Board) firstOf(role int) int {
	return slices.IndexFunc(b.keys, func(k boardKey) bool { return k.role == role })
}

// operations returns one empty entry for each pair.
func (b *Board) operations() []Operation {
	operations := make([]Operation, len(b.keys))
	for i, key := range b.keys {
		spec := &b.trial.Transactions[key.transaction]
		operations[i] = Operation{
			Role: b.trial.Roles[key.role].Name, Transaction: spec.Name, Errors: map[string]ErrorCount{},
			Unfinished: []Unfinished{}, Counters: map[string]uint64{}, Timers: map[string]*Histogram{},
		}
		newRecord(spec, false, false).mergeInto(&operations[i])
	}
	return operations
}

// tick returns the counts since the last tick for each pair that has any, and the delay of the probe's timer. lag is
// nil without a probe.
func (b *Board) tick(workers []*Worker, clock Clock, lag *Lag) Tick {
	sums := make([]Counts, len(b.keys))
	for _, w := range workers {
		w.addTo(sums)
	}
	moment := clock.now()
	tick := Tick{Type: "tick", TMs: moment / int64(time.Millisecond), Counts: []TickCount{}}
	if lag != nil {
		longest := lag.take(moment)
		tick.LagNs = &longest
	}
	for i, key := range b.keys {
		if since := sums[i].minus(&b.last[i]); since != (Counts{}) {
			names := [2]string{b.trial.Roles[key.role].Name, b.trial.Transactions[key.transaction].Name}
			tick.Counts = append(tick.Counts, TickCount{names[0], names[1], since})
		}
	}
	b.last = sums
	return tick
}

func (c *Counts) add(other *Counts) {
	c.Committed += other.Committed
	c.Empty += other.Empty
	c.Failed += other.Failed
	c.Errors += other.Errors
	c.Busy += other.Busy
}

func (c *Counts) minus(other *Counts) Counts {
	return Counts{
		c.Committed - other.Committed, c.Empty - other.Empty, c.Failed - other.Failed, c.Errors - other.Errors, c.Busy - other.Busy,
	}
}
