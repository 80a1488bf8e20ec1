package main

import (
	"sync"
	"time"
)

// Worker repeats the steps of its role until the role ends.
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
	warm     int64  // end of the warm-up in nanoseconds since `go`
	choice   Stream // for the choice between steps

	// Held while results are recorded, and not during a transaction, which may block in a call. It guards the records of
	// the steps and the following fields, which are in nanoseconds since `go`.
	mutex      sync.Mutex
	running    *Task // nil between transactions, and after it was abandoned
	abandoned  bool
	start, due int64 // of the running transaction; due is never in a closed loop
	inside     int64 // the part of the window spent in transactions
	committed  int64 // time of the last commit
	stall      int64 // longest time between two commits
	ended      int64 // when the worker ended or was abandoned
}

// ID identifies a worker.
type ID struct {
	database int
	role     int    // index in the trial
	place    uint64 // in the role, over all processes
	index    int    // among all workers of its database
}

// Task is one step of a role, as run by this worker.
type Task struct {
	step   *Step
	plan   Plan
	params *Params
	record *Record
	place  int    // index of its counts on the board
	times  uint64 // number of executions started by this worker
}

// run works until the role ends, its drain has passed, or an error occurs that is not from the database.
func (w *Worker) run() error {
	values := &Values{}
	// This worker's transactions have the numbers place, place + all, place + 2 * all, … in its role.
	number, all, at := w.id.place, w.role.WorkersInRole, 0
	for w.role.Until.Kind != "count" || number < w.role.Until.Transactions {
		due := int64(never)
		if w.schedule != nil {
			if due = w.schedule.take(w.end.time); due == never {
				// Nothing more arrives, but the role lasts until its end.
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

// begin starts a transaction unless the end of the role has passed. It reads the clock under the mutex: once a worker
// is found between transactions after its end, it starts no other.
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

// met records an error of the running transaction at once, because the transaction may never end.
func (w *Worker) met(code, message string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.running != nil {
		w.running.record.met(code, message)
	}
}

// finish records a completed transaction. It returns false if the transaction was abandoned.
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

// within returns the part of the window between two times; to must have passed.
func (w *Worker) within(from, to int64) int64 {
	return max(min(to, w.end.known())-max(from, w.warm), 0)
}

// leave ends the worker. It returns false if the worker was abandoned.
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

// abandon is called at the end of the drain. If the worker is in a transaction, that becomes unfinished, and its
// outcome is not recorded.
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

// addTo adds the worker's counts to those of the board.
func (w *Worker) addTo(sums []Counts) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for _, task := range w.steps {
		sums[task.place].add(&task.record.Counts)
	}
}

// resultInto adds the worker's records to the operations. In a role with a number of transactions, the window ends with
// this worker.
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

// byWeight returns the first step whose cumulative weight exceeds the draw.
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
