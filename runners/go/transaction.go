package main

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Plan is a transaction as one role runs it.
type Plan struct {
	index     int // in the trial
	spec      *Transaction
	yields    [][]int // for each statement the places of its yields among the worker's yielded values
	yieldsAny bool
	timed     int // the statement that `query` and `first_row` belong to, or -1
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

// firstFetch finds the first statement that fetches all its rows, or -1 where that is not to be timed.
func firstFetch(t *Transaction) int {
	if !t.TimedRows {
		return -1
	}
	return slices.IndexFunc(t.Statements, func(s Statement) bool { return s.Fetch == "all" || s.Fetch == "buffer" })
}

// Retrying is Retry with its names checked.
type Retrying struct{ Retry }

func newRetrying(retry Retry, dialect string) (*Retrying, error) {
	for _, name := range retry.On {
		if !isName(dialect, name) {
			return nil, fmt.Errorf("`%s` is no result code of %s", name, dialect)
		}
	}
	return &Retrying{retry}, nil
}

// covers says whether a retry may cure this code; a primary code stands for its extended ones.
func (r *Retrying) covers(seen string) bool {
	return slices.ContainsFunc(r.On, func(listed string) bool { return standsFor(listed, seen) })
}

// pause is that between try `done` (from 1) and the next.
func (r *Retrying) pause(done int) time.Duration {
	grown := float64(r.BackoffUs) * math.Pow(r.Multiplier, float64(done-1))
	return time.Duration(min(grown, float64(r.MaxBackoffUs)) * float64(time.Microsecond))
}

// Memory is what a worker keeps from one transaction to the next, and room for what it needs in one.
type Memory struct {
	committed []Value  // the yielded values as of the last commit: a transaction rolled back has yielded nothing
	errors    []string // codes of the errors of this execution
	effect    Effect
	call      Call
}

func newMemory(names int) *Memory {
	m := &Memory{committed: make([]Value, names)}
	m.effect.Yielded = make([]Value, names)
	return m
}

// Ending is what became of an execution.
type Ending uint8

const (
	Committed Ending = iota
	Empty
	Gaveup
)

// Execution is one, over; times in nanoseconds from `go`, never where there is none.
type Execution struct {
	ending     Ending
	had        int64 // when the connection was had, if that was to be waited for
	end        int64 // when the commit, or the last failure, was over
	query      int64 // of the last try, as the next two
	firstRow   int64
	rows       uint64
	verified   uint64 // over all tries, as the next
	mismatches uint64
}

// run runs it to its end on a connection that is held already; shares says whether the time until then is of interest.
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

// afterError rolls back, and takes back what was yielded. It returns the code; what is no error of a database goes on up.
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

// attempt is one try. It returns how it ended and the rows of all its statements.
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
