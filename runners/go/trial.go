package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// runTrial runs the trial on the first line. If the input ends before `go`, it runs nothing and returns no error.
func runTrial(input io.Reader) error {
	lines := bufio.NewReader(input)
	line, err := readLine(lines)
	if line == nil || err != nil {
		return err
	}
	trial := &Trial{}
	if err := decode(line, trial); err != nil {
		return fmt.Errorf("not a trial: %w", err)
	}
	if err := check(trial); err != nil {
		return err
	}
	if trial.RuntimeThreads != nil {
		runtime.GOMAXPROCS(*trial.RuntimeThreads)
	}
	stage, ready, err := newStage(trial)
	if err != nil {
		return err
	}
	if err := say(ready); err != nil {
		return err
	}
	line, err = readLine(lines)
	if line == nil || err != nil {
		return err
	}
	var message struct{ Type string }
	if err := json.Unmarshal(line, &message); err != nil || message.Type != "go" {
		return fmt.Errorf("`%s` is not go", strings.TrimSpace(string(line)))
	}
	probe, err := stage.run()
	if err != nil {
		return err
	}
	result := stage.result(probe)
	if !stage.abandoned {
		if result.Connections, err = stage.settings(); err != nil {
			return err
		}
		if err := stage.close(); err != nil {
			return err
		}
	}
	return say(result)
}

// readLine returns nil at the end of the input.
func readLine(lines *bufio.Reader) ([]byte, error) {
	line, err := lines.ReadBytes('\n')
	if err == io.EOF {
		err = nil
	}
	if len(line) == 0 {
		return nil, err
	}
	return line, err
}

// millis converts milliseconds to nanoseconds; values out of range become never.
func millis(ms int64) int64 {
	if ms > never/int64(time.Millisecond) {
		return never
	}
	return ms * int64(time.Millisecond)
}

// check rejects trials that this runner does not support, or would silently run incorrectly.
func check(trial *Trial) error {
	if trial.Protocol != Version {
		return fmt.Errorf("protocol %d is not %d", trial.Protocol, Version)
	}
	if !slices.Contains(executors, trial.Executor) {
		return fmt.Errorf("executor %s is not supported", trial.Executor)
	}
	for _, role := range trial.Roles {
		var weights uint64
		for _, step := range role.Steps {
			weights += step.Weight
			if step.Transaction < 0 || step.Transaction >= len(trial.Transactions) {
				return fmt.Errorf("role `%s` has a step without its transaction", role.Name)
			}
		}
		if len(role.Steps) == 0 || role.Order == "weighted" && weights == 0 {
			return fmt.Errorf("role `%s` has no step to do", role.Name)
		}
		if role.FirstInRole+uint64(role.Workers) > role.WorkersInRole {
			return fmt.Errorf("role `%s` has more workers here than in all", role.Name)
		}
		// A chain of roles that wait for each other must end at a role with another condition.
		last := role
		for range trial.Roles {
			if last.Until.Kind != "role" {
				break
			}
			at := roleNamed(trial, last.Until.Name)
			if at < 0 {
				return fmt.Errorf("role `%s` waits for `%s`, and there is none", role.Name, last.Until.Name)
			}
			last = trial.Roles[at]
		}
		if last.Until.Kind == "role" {
			return fmt.Errorf("role `%s` never ends", role.Name)
		}
	}
	return nil
}

func roleNamed(trial *Trial, name string) int {
	return slices.IndexFunc(trial.Roles, func(r Role) bool { return r.Name == name })
}

// Stage contains what the workers of a trial share.
type Stage struct {
	trial     *Trial
	retry     *Retrying
	schedules []*Schedule // by role
	board     *Board
	databases []*Opened
	workers   []*Worker
	writeLock sync.Mutex
	abandoned bool // a transaction was still running after its drain
	// By role: the number of workers that have not ended, and the end of the last one.
	working []atomic.Int64
	over    []Moment
}

// newStage opens all databases and creates the workers.
func newStage(trial *Trial) (*Stage, *Ready, error) {
	s := &Stage{trial: trial, board: newBoard(trial)}
	d, err := driverNamed(trial.Driver)
	if err != nil {
		return nil, nil, err
	}
	for i := range trial.Transactions {
		if t := &trial.Transactions[i]; d.Interface != nil && t.Begin != "none" {
			return nil, nil, fmt.Errorf("transaction `%s`: a library's operations are transactions of their own; write begin = \"none\"", t.Name)
		}
	}
	if kind := trial.Sharing.Kind; !slices.Contains(d.sharings(), kind) {
		return nil, nil, fmt.Errorf("sharing %s is not supported by %s", kind, d.Name)
	}
	for i := range trial.Databases {
		if err := d.fits(&trial.Databases[i]); err != nil {
			return nil, nil, err
		}
	}
	if s.retry, err = newRetrying(trial.Retry, d.dialect()); err != nil {
		return nil, nil, err
	}
	s.working, s.over = make([]atomic.Int64, len(trial.Roles)), make([]Moment, len(trial.Roles))
	for r := range trial.Roles {
		role := &trial.Roles[r]
		s.over[r].come = make(chan struct{})
		if workers := role.Workers * len(trial.Databases); workers > 0 {
			s.working[r].Store(int64(workers))
		} else {
			close(s.over[r].come) // at time 0
		}
		schedule, err := newSchedule(trial.Seed, role)
		if err != nil {
			return nil, nil, err
		}
		s.schedules = append(s.schedules, schedule)
	}
	ready := &Ready{Type: "ready", Connections: []ConnectionSettings{}}
	for index := range trial.Databases {
		opened, err := openAll(trial, d, index)
		if err != nil {
			return nil, nil, err
		}
		s.databases = append(s.databases, opened)
		ready.Connections = append(ready.Connections, opened.settings...)
		if err := s.addWorkers(index, opened); err != nil {
			return nil, nil, err
		}
	}
	return s, ready, nil
}

func (s *Stage) addWorkers(database int, opened *Opened) error {
	own := opened.own
	for r := range s.trial.Roles {
		role := &s.trial.Roles[r]
		for w := range role.Workers {
			handle := Handle{shared: opened}
			if len(own) > 0 {
				handle.own, own = own[0], own[1:]
			}
			if s.trial.Sharing.Kind == "app-lock" {
				handle.writeLock = &s.writeLock
			}
			id := ID{database: database, role: r, place: role.FirstInRole + uint64(w), index: role.FirstWorker + w}
			worker, err := s.newWorker(id, role, handle)
			if err != nil {
				return err
			}
			s.workers = append(s.workers, worker)
		}
	}
	return nil
}

func (s *Stage) newWorker(id ID, role *Role, handle Handle) (*Worker, error) {
	trial := s.trial
	names := map[string]int{}
	place := func(name string) int {
		if _, known := names[name]; !known {
			names[name] = len(names)
		}
		return names[name]
	}
	w := &Worker{
		id: id, role: role, handle: handle, retry: s.retry, schedule: s.schedules[id.role], end: s.end(role),
		warm: millis(trial.WarmupMs), choice: newStream(trial.Seed, role.Name+".step"),
	}
	for at := range role.Steps {
		step := &role.Steps[at]
		spec := &trial.Transactions[step.Transaction]
		params, err := newParams(trial.Seed, spec, id.index, place)
		if err != nil {
			return nil, err
		}
		shares := trial.Sharing.Kind != "own-connection" && (trial.Sharing.Kind != "app-lock" || spec.Writes)
		w.steps = append(w.steps, &Task{
			step: step, plan: newPlan(step.Transaction, spec, place), params: params,
			record: newRecord(spec, shares, w.schedule != nil),
			place:  slices.Index(s.board.keys, boardKey{id.role, step.Transaction}),
		})
	}
	w.memory = newMemory(len(names))
	return w, nil
}

func (s *Stage) end(role *Role) End {
	switch role.Until.Kind {
	case "time":
		return End{time: millis(role.Until.Ms)}
	case "role":
		return End{time: never, role: &s.over[roleNamed(s.trial, role.Until.Name)]}
	}
	return End{time: never}
}

// run starts all workers together and ticks until the last has ended or was abandoned. It returns what the probe
// measured. It returns at the first fault of
// a worker: the others may wait for what the faulty one still holds, and there will be no result.
func (s *Stage) run() (map[string]*Histogram, error) {
	var clock Clock
	var waiting sync.WaitGroup
	start, ended := make(chan struct{}), make(chan error, len(s.workers))
	for _, w := range s.workers {
		waiting.Add(1)
		go func() {
			waiting.Done()
			<-start
			if err := work(w); w.leave() {
				s.left(w.id.role, clock)
				ended <- err
			}
		}()
	}
	waiting.Wait()
	stop, lateness := make(chan struct{}), make(chan *Histogram, 1)
	var before atomic.Pointer[metrics.Float64Histogram]
	if s.trial.ProbeMs > 0 {
		// Read here, not in a timer, because workers may leave it no processor.
		before.Store(waits())
	}
	clock = Clock{time.Now()}
	for _, w := range s.workers {
		w.clock = clock
	}
	close(start)
	drained := make(chan int, len(s.trial.Roles))
	for r := range s.trial.Roles {
		if s.trial.Roles[r].Until.Kind != "count" {
			go func() {
				s.drain(r, clock)
				drained <- r
			}()
		}
	}

	var lag *Lag
	if s.trial.ProbeMs > 0 {
		lag = newLag(millis(s.trial.ProbeMs))
		if s.trial.WarmupMs > 0 {
			time.AfterFunc(time.Duration(millis(s.trial.WarmupMs)), func() { before.Store(waits()) })
		}
		go func() { lateness <- probe(clock, s.trial.ProbeMs, millis(s.trial.WarmupMs), lag, stop) }()
	}
	ticker := time.NewTicker(time.Duration(millis(max(s.trial.TickMs, 1))))
	defer ticker.Stop()
	for working := len(s.workers); working > 0; {
		select {
		case err := <-ended:
			if err != nil {
				return nil, err
			}
			working--
		case r := <-drained:
			working -= s.abandon(r, clock)
		case <-ticker.C:
			if err := say(s.board.tick(s.workers, clock, lag)); err != nil {
				return nil, err
			}
		}
	}
	// The last tick, so that all ticks add up to the result.
	if err := say(s.board.tick(s.workers, clock, lag)); err != nil {
		return nil, err
	}
	close(stop)
	if s.trial.ProbeMs == 0 {
		return nil, nil
	}
	timers := map[string]*Histogram{"probe": <-lateness}
	if scheduler := waited(before.Load(), waits()); scheduler != nil {
		timers["scheduler"] = scheduler
	}
	return timers, nil
}

func work(w *Worker) (err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("panic: %v", panicked)
		}
	}()
	return w.run()
}

// left records that a worker has ended or was abandoned.
func (s *Stage) left(role int, clock Clock) {
	if s.working[role].Add(-1) == 0 {
		s.over[role].comes(clock)
	}
}

// drain waits until a role has ended and its drain has passed.
func (s *Stage) drain(role int, clock Clock) {
	end := s.end(&s.trial.Roles[role])
	end.sleep(clock, never)
	time.Sleep(time.Duration(min(end.known(), never-millis(s.trial.DrainMs)) + millis(s.trial.DrainMs) - clock.now()))
}

// abandon abandons the workers of a role that are still in a transaction, and returns their number.
func (s *Stage) abandon(role int, clock Clock) (count int) {
	for _, w := range s.workers {
		if w.id.role == role && w.abandon() {
			s.left(role, clock)
			count++
		}
	}
	s.abandoned = s.abandoned || count > 0
	return count
}

func (s *Stage) result(timers map[string]*Histogram) *Result {
	result := &Result{Type: "result", Operations: s.board.operations(), Workers: []WorkerResult{}, Timers: timers}
	for _, w := range s.workers {
		result.ElapsedNs = max(result.ElapsedNs, w.ended)
		result.Workers = append(result.Workers, w.resultInto(result.Operations))
	}
	for r, schedule := range s.schedules {
		end := s.end(&s.trial.Roles[r]).known()
		if schedule != nil && end != never {
			// Arrivals belong to the role, not to a step: they count for its first step.
			result.Operations[s.board.firstOf(r)].Unserved += schedule.unserved(end)
		}
	}
	result.MeasuredNs = max(result.ElapsedNs-millis(s.trial.WarmupMs), 0)
	return result
}

// settings reads the settings of all connections again.
func (s *Stage) settings() ([]ConnectionSettings, error) {
	all := []ConnectionSettings{}
	for _, opened := range s.databases {
		for at, session := range opened.sessions {
			before := opened.settings[at]
			settings, err := settingsAtEnd(session, s.trial.Connection.ReadBack)
			if err != nil {
				return nil, err
			}
			all = append(all, ConnectionSettings{before.Database, before.Label, settings})
		}
	}
	return all, nil
}

// settingsAtEnd waits for a lock held by another process of the trial. It returns no settings if the database cannot be
// queried; the core checks the state of the database itself.
func settingsAtEnd(session Session, names []string) (map[string]any, error) {
	const patience = 10 * time.Second
	for begun := time.Now(); ; time.Sleep(time.Millisecond) {
		settings, err := session.Settings(names)
		if err == nil {
			return settings, nil
		}
		code, is := codeOf(err)
		if !is {
			return nil, err
		}
		locked := standsFor("SQLITE_BUSY", code) || standsFor("SQLITE_LOCKED", code)
		if !locked || time.Since(begun) > patience {
			return map[string]any{}, nil
		}
	}
}

// close runs `teardown` on the first connection of each database, and closes all connections.
func (s *Stage) close() error {
	for i, opened := range s.databases {
		if len(opened.sessions) > 0 {
			if err := opened.sessions[0].Script(s.trial.Databases[i].Teardown); err != nil {
				return err
			}
		}
	}
	var err error
	for _, opened := range s.databases {
		err = errors.Join(err, opened.close())
	}
	return err
}

// say writes one line of JSON at once, because the core reads while the trial runs.
func say(message any) error {
	line, err := json.Marshal(message)
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(append(line, '\n'))
	return err
}
