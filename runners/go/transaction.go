package main

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Plan is a transaction as run by one role.
type Plan struct {
	index     int // in the trial
	spec      *Transaction
	yields    [][]int // for each statement the indices of its yields in the worker's yielded values
	yieldsAny bool
	timed     int // index of the statement timed by `query` and `first_row`, or -1
}

func newPlan(index int, spec *Transaction, place func(string) int) Plan {
	plan := Plan{index: index, spec: spec, timed: firstFetch(spec)}
	for _, s := range spec.Statements {
		places := make([]int, len(s.Yields))
		for i, name := range s.Yields {
			places[i] = place(name)
		}
		plan.yields = append(plan.yields, places)
		plan.yieldsAny = plan.yieldsAny || len(places) > 0
	}
	return plan
}

// firstFetch returns the index of the first statement that fetches all its rows, or -1 if there is none or the
// transaction does not time rows.
func firstFetch(t *Transaction) int {
	if !t.TimedRows {
		return -1
	}
	return slices.IndexFunc(t.Statements, func(s Statement) bool { return s.Fetch == "all" || s.Fetch == "buffer" })
}

// Retrying is a Retry whose error names have been checked.
type Retrying struct{ Retry }

func newRetrying(retry Retry, dialect string) (*Retrying, error) {
	for _, name := range retry.On {
		if !isName(dialect, name) {
			return nil, fmt.Errorf("`%s` is no result code of %s", name, dialect)
		}
	}
	return &Retrying{retry}, nil
}

// covers reports whether this error is retried; a listed primary code covers its extended codes.
func (r *Retrying) covers(seen string) bool {
	return slices.ContainsFunc(r.On, func(listed string) bool { return standsFor(listed, seen) })
}

// pause returns the pause between attempt done (from 1) and the next.
func (r *Retrying) pause(done int) time.Duration {
	grown := float64(r.BackoffUs) * math.Pow(r.Multiplier, float64(done-1))
	return time.Duration(min(grown, float64(r.MaxBackoffUs)) * float64(time.Microsecond))
}

// Memory is the state that a worker keeps between transactions, and its buffers.
type Memory struct {
	committed []Value  // the yielded values as of the last commit, because a rolled back transaction yields nothing
	errors    []string // codes of the errors of this execution
	effect    Effect
	call      Call
}

func newMemory(names int) *Memory {
	m := &Memory{committed: make([]Value, names)}
	m.effect.Yielded = make([]Value, names)
	return m
}

// Ending is the outcome of an execution.
type Ending uint8

const (
	Committed Ending = iota
	Empty
	Gaveup
)

// Execution is a completed execution. Times are in nanoseconds since `go`, or never.
type Execution struct {
	ending     Ending
	had        int64 // when the connection was acquired, if it is shared
	end        int64 // end of the commit or of the last failed attempt
	query      int64 // of the last attempt, as are firstRow and rows
	firstRow   int64
	rows       uint64
	verified   uint64 // over all attempts, as is mismatches
	mismatches uint64
}

// run runs the transaction to its end on an acquired connection. shares reports whether the time of the acquisition is
// recorded.
func (p *Plan) run(session Session, params *Params, values *Values, w *Worker, shares bool) (Execution, error) {
	e, m, clock := Execution{had: never}, w.memory, w.clock
	if shares {
		e.had = clock.now()
	}
	m.errors = m.errors[:0]
	m.call.Clock = clock
	m.effect.Verified, m.effect.Mismatches = 0, 0
	for done := 1; ; done++ {
		m.effect.Query, m.effect.FirstRow = never, never
		var err error
		e.ending, e.rows, err = p.attempt(session, params, values, m)
		if err == nil {
			e.end = clock.now()
			if p.yieldsAny {
				copy(m.committed, m.effect.Yielded)
			}
			break
		}
		code, err := p.afterError(session, w, err)
		if err != nil {
			return e, err
		}
		if done >= w.retry.Attempts || !w.retry.covers(code) {
			e.ending, e.rows, e.end = Gaveup, 0, clock.now()
			break
		}
		if pause := w.retry.pause(done); pause > 0 {
			time.Sleep(pause)
		}
	}
	e.query, e.firstRow = m.effect.Query, m.effect.FirstRow
	e.verified, e.mismatches = m.effect.Verified, m.effect.Mismatches
	return e, nil
}

// afterError rolls back the transaction and its yielded values. It returns the error code, or the error if it is not
// from the database.
func (p *Plan) afterError(session Session, w *Worker, err error) (string, error) {
	code, is := codeOf(err)
	if !is {
		return "", fmt.Errorf("%s: %w", p.spec.Name, err)
	}
	w.met(code, err.Error())
	if err := session.Rollback(); err != nil {
		return "", fmt.Errorf("ROLLBACK: %w", err)
	}
	m := w.memory
	m.errors = append(m.errors, code)
	copy(m.effect.Yielded, m.committed)
	return code, nil
}

// attempt runs the transaction once. It returns the outcome and the number of rows of all its statements.
func (p *Plan) attempt(session Session, params *Params, values *Values, m *Memory) (ending Ending, rows uint64, err error) {
	spec := p.spec
	if err := session.Begin(spec.Begin); err != nil {
		return ending, 0, err
	}
	pauseUs(spec.HoldUs)
	call := &m.call
	call.Transaction = p.index
statements:
	for at := range spec.Statements {
		statement := &spec.Statements[at]
		call.Statement, call.Spec, call.Yields = at, statement, p.yields[at]
		for repetition := range statement.Repeat {
			call.Slots = params.slots(values, at, repetition)
			call.Timed = at == p.timed && repetition == 0
			seen, err := session.Execute(call, &m.effect)
			if err != nil {
				return ending, 0, err
			}
			rows += seen
			if statement.Required && seen == 0 {
				ending = Empty
				break statements
			}
		}
		pauseUs(statement.HoldUs)
	}
	if spec.Begin != "none" {
		err = session.Commit()
	}
	return ending, rows, err
}
