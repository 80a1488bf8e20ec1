package main

import (
	"sync"
	"time"
)

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
	clock    Clock
	warm     int64  // end of the warm-up in nanoseconds from `go`
	choice   Stream // of the draws between steps

	// Held while something is recorded, and not during a transaction, which may hang in a call. It guards the records of the
	// steps and what follows, in nanoseconds from `go`.
	mutex      sync.Mutex
	running    *Task // nil between transactions, and when it was abandoned
	abandoned  bool
	start, due int64 // of the transaction that is running; due never in a closed loop
	inside     int64 // the part of the window that was spent in transactions
	committed  int64 // when it last committed something
	stall      int64 // the longest time between two such moments
	ended      int64 // when the worker had ended, or its drain
}

// ID says who a worker is.
type ID struct {
	database int
	role     int    // index in the trial
	place    uint64 // in the role, over all processes
	index    int    // among all workers of its database
}

// Task is one step of a role, as this worker does it.
type Task struct {
	step   *Step
	plan   Plan
	params *Params
	record *Record
	place  int    // of its counts on the board
	times  uint64 // how often this worker has started it
}

// run works until the role ends, its drain has passed, or something goes wrong that is not a database's.
func (w *Worker) run() error {
	values := &Values{}
	// The worker's own transactions have the numbers place, place + all, place + 2 * all, … in its role.
	number, all, at := w.id.place, w.role.WorkersInRole, 0
	for w.role.Until.Kind != "count" || number < w.role.Until.Transactions {
		due := int64(never)
		if w.schedule != nil {
			if due = w.schedule.take(w.end.time); due == never {
				// Nothing more arrives, but the role lasts until its time.
				w.end.sleep(w.clock, never)
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
			w.end.sleep(w.clock, due)
		}
		if !w.begin(task, due) {
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
		e, err := task.plan.run(session, task.params, values, w, shares)
		w.handle.give()
		if err != nil {
			return err
		}
		if !w.finish(&e) {
			break
		}
		if at++; e.ending == Empty || at == len(w.steps) {
			at = 0
		}
		if think := w.role.Load.ThinkUs; think > 0 {
			w.end.sleep(w.clock, w.clock.now()+think*int64(time.Microsecond))
		}
	}
	return nil
}

// begin starts a transaction now, unless it is too late. The clock is read under the mutex: of a worker that is found between
// transactions after its end, none begins any more.
func (w *Worker) begin(task *Task, due int64) bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.start = w.clock.now()
	if w.end.isPast(w.start) {
		return false
	}
	w.running, w.due = task, due
	return true
}

// met records an error of the transaction under way, which may never end.
func (w *Worker) met(code, message string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.running != nil {
		w.running.record.met(code, message)
	}
}

// finish records what has ended, unless it was abandoned.
func (w *Worker) finish(e *Execution) bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.running == nil {
		return false
	}
	record := w.running.record
	w.running = nil
	record.count(e, w.memory.errors)
	w.inside += w.within(w.start, e.end)
	if e.ending == Committed {
		w.stall, w.committed = max(w.stall, e.end-w.committed), e.end
		if w.warm < e.end && e.end <= w.end.known() {
			record.ended++
		}
		if w.start >= w.warm {
			record.measure(e, w.start, w.due)
		}
	}
	return true
}

// within is the part of the window between two moments, of which the second is past.
func (w *Worker) within(from, to int64) int64 {
	return max(min(to, w.end.known())-max(from, w.warm), 0)
}

// leave is the worker's own end, unless it was abandoned.
func (w *Worker) leave() bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.abandoned {
		return false
	}
	w.running = nil // after a fault
	w.rest()
	return true
}

// abandon is the end of the drain: if the worker is in a transaction, that is unfinished, and nothing that becomes of it is
// recorded.
func (w *Worker) abandon() bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.running == nil {
		return false
	}
	w.rest()
	unfinished := Unfinished{ServiceNs: w.ended - w.start}
	if w.due != never {
		response := w.ended - w.due
		unfinished.ResponseNs = &response
	}
	w.running.record.unfinished = append(w.running.record.unfinished, unfinished)
	w.inside += w.within(w.start, w.ended)
	w.running, w.abandoned = nil, true
	return true
}

func (w *Worker) rest() {
	w.ended = w.clock.now()
	w.stall = max(w.stall, w.ended-w.committed)
}

// addTo adds its counts to those of the board.
func (w *Worker) addTo(sums []Counts) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for _, task := range w.steps {
		sums[task.place].add(&task.record.Counts)
	}
}

// resultInto adds its records to the operations. The window of a role of a number of transactions is that of its worker here.
func (w *Worker) resultInto(operations []Operation) WorkerResult {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	window := max(min(w.end.known(), w.ended)-w.warm, 0)
	result := WorkerResult{
		Role: w.role.Name, Worker: w.id.index, Database: w.id.database,
		InsideNs: w.inside, OutsideNs: window - w.inside, StallNs: w.stall,
	}
	for _, task := range w.steps {
		task.record.mergeInto(&operations[task.place])
		result.Committed += task.record.Committed
		result.Ended += task.record.ended
	}
	return result
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
