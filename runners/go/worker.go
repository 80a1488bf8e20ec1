package main

import "time"

// Worker repeats its role's steps until the role ends.
type Worker struct {
	id       ID
	role     *Role
	handle   Handle
	steps    []*Task
	memory   *Memory
	retry    *Retrying
	schedule *Schedule // nil in a closed loop
	end      End
	warm     int64  // end of the warm-up in nanoseconds from `go`
	choice   Stream // of the draws between steps

	// What it leaves when it is done, in nanoseconds: when it ended, and its time after the warm-up in transactions
	// and between them.
	ended, inside, outside int64
	// When it last committed something, and the longest time between two such moments.
	committed, stall int64
}

// ID says who a worker is.
type ID struct {
	database int
	role     int    // index in the trial
	place    uint64 // in the role, over all processes
	index    int    // among all workers of its database
	counters int    // index of its first step's counters on the board
}

// Task is one step of a role, as this worker does it.
type Task struct {
	step     *Step
	plan     Plan
	params   *Params
	record   *Record
	counters *Counters
	times    uint64 // how often this worker has started it
}

// run works until the role ends, or something goes wrong that is not SQLite's.
func (w *Worker) run(clock Clock) error {
	values := &Values{}
	// The worker's own transactions have the numbers place, place + all, place + 2 * all, … in its role.
	number, all, at := w.id.place, w.role.WorkersInRole, 0
	for w.role.Until.Kind != "count" || number < w.role.Until.Transactions {
		due := int64(never)
		if w.schedule != nil {
			if due = w.schedule.take(w.end.time); due == never {
				// Nothing more arrives, but the role lasts until its time.
				w.end.sleep(clock, never)
				break
			}
		}
		if w.role.Order == "weighted" {
			at = w.byWeight(number)
		}
		task := w.steps[at]
		operation := task.times*task.step.Stride + task.step.Offset + w.id.place
		task.params.draw(operation, values)
		if w.schedule != nil {
			w.end.sleep(clock, due)
		}
		start := clock.now()
		if w.end.isPast(start) {
			if w.schedule != nil {
				w.schedule.leave(due)
			}
			break
		}
		task.times++
		number += all

		session, shares, err := w.handle.take(task.plan.spec.Writes)
		if err != nil {
			return err
		}
		e, err := task.plan.run(session, task.params, values, w.memory, w.retry, clock, shares)
		w.handle.give()
		if err != nil {
			return err
		}
		task.count(&e, w.memory.errors)
		if e.ending == Committed {
			w.stall, w.committed = max(w.stall, e.end-w.committed), e.end
		}
		if start >= w.warm {
			task.measure(&e, start, due)
		}
		w.inside += max(e.end-max(start, w.warm), 0)
		if at++; e.ending == Empty || at == len(w.steps) {
			at = 0
		}
		if think := w.role.Load.ThinkUs; think > 0 {
			w.end.sleep(clock, clock.now()+think*int64(time.Microsecond))
		}
	}
	w.ended = clock.now()
	w.outside = max(w.ended-w.warm, 0) - w.inside
	w.stall = max(w.stall, w.ended-w.committed)
	return nil
}

// byWeight chooses the first step whose cumulative weight exceeds the draw.
func (w *Worker) byWeight(number uint64) int {
	var sum uint64
	for _, step := range w.role.Steps {
		sum += step.Weight
	}
	drawn, cumulative := below(w.choice.word(number), sum), uint64(0)
	for at, step := range w.role.Steps {
		if cumulative += step.Weight; cumulative > drawn {
			return at
		}
	}
	return 0
}

// count counts what counts from `go` on.
func (t *Task) count(e *Execution, errors []string) {
	switch e.ending {
	case Committed:
		add(&t.counters.committed, 1)
	case Empty:
		add(&t.counters.empty, 1)
	default:
		add(&t.counters.failed, 1)
	}
	t.record.verified += e.verified
	t.record.mismatches += e.mismatches
	if len(errors) > 0 {
		add(&t.counters.errors, uint64(len(errors)))
		add(&t.counters.busy, busy(errors))
		t.record.countErrors(errors, e.ending != Gaveup)
	}
}

// measure counts what counts after the warm-up.
func (t *Task) measure(e *Execution, start, due int64) {
	if e.ending != Committed {
		return
	}
	r := t.record
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
