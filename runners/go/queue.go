package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// taskQueue is a library that keeps tasks in its own tables and accepts no SQL. docs/reference/protocol.md specifies the
// operations; the library manages its own transactions.
type taskQueue interface {
	enqueue(payload string, priority int64) error
	// claim returns found = false if there is no task.
	claim() (id, payload string, found bool, err error)
	complete(id string) error
	fail(id string) error
	settings(names []string) (map[string]any, error)
	close() error
}

// queueInterface has the operations of a taskQueue.
var queueInterface = Interface{"queue", []InterfaceOperation{
	{"enqueue", []string{"payload", "priority"}, []string{}, true},
	{"claim", []string{}, []string{"id", "payload"}, true},
	{"complete", []string{"id"}, []string{}, true},
	{"fail", []string{"id"}, []string{}, true},
}}

var invocation = regexp.MustCompile(`^\s*CALL\s+(\w+)\s*\.\s*(\w+)\s*\(([^()]*)\)\s*;?\s*$`)

// queueSession adapts a taskQueue to Session. Begin and commit do nothing, and repetitions are separate calls.
type queueSession struct {
	queue      taskQueue
	operations [][]string // by transaction and statement
}

func (s *queueSession) Close() error { return s.queue.close() }

// Begin, Commit and Rollback do nothing, because the library manages its transactions.
func (s *queueSession) Begin(string) error { return nil }
func (s *queueSession) Commit() error      { return nil }
func (s *queueSession) Rollback() error    { return nil }

// Script returns an error for any statement: it is for in-memory databases, which queues do not support.
func (s *queueSession) Script(statements []string) error {
	if len(statements) == 0 {
		return nil
	}
	return errNoSQL
}

var errNoSQL = errors.New("a task queue takes no SQL")

func (s *queueSession) Settings(names []string) (map[string]any, error) {
	return s.queue.settings(names)
}

func (s *queueSession) Prepare(transactions []Transaction, used []int, _ bool) (err error) {
	s.operations = make([][]string, len(transactions))
	for _, t := range used {
		s.operations[t] = nil
		for i := range transactions[t].Statements {
			spec := &transactions[t].Statements[i]
			operation, err := invoked(spec)
			if err != nil {
				return fmt.Errorf("%s: %w", spec.SQL, err)
			}
			s.operations[t] = append(s.operations[t], operation)
		}
	}
	return nil
}

// invoked returns the operation named by a statement, after checking it.
func invoked(spec *Statement) (string, error) {
	parts := invocation.FindStringSubmatch(spec.SQL)
	if parts == nil {
		return "", fmt.Errorf("%w, but CALL queue.enqueue(?1, ?2), CALL queue.claim(), CALL queue.complete(?1), "+
			"CALL queue.fail(?1)", errNoSQL)
	}
	at := slices.IndexFunc(queueInterface.Operations, func(o InterfaceOperation) bool { return o.Name == parts[2] })
	if parts[1] != queueInterface.Name || at < 0 {
		return "", errors.New("a queue has no operation but enqueue, claim, complete, fail")
	}
	operation := queueInterface.Operations[at]
	count := len(operation.Arguments)
	var wanted, given []string
	for place := range count {
		wanted = append(wanted, fmt.Sprintf("?%d", place+1))
	}
	for argument := range strings.SplitSeq(parts[3], ",") {
		if argument = strings.TrimSpace(argument); argument != "" {
			given = append(given, argument)
		}
	}
	if !slices.Equal(wanted, given) || len(spec.Bind)*spec.Tuples != count {
		return "", fmt.Errorf("it takes %d arguments, ?1, ?2, … in order, each bound", count)
	}
	if len(operation.Columns) == 0 && (len(spec.Yields) > 0 || spec.Required) {
		return "", errors.New("it returns no row")
	}
	_, err := newJob(spec, operation.Columns)
	return operation.Name, err
}

func (s *queueSession) Execute(call *Call, effect *Effect) (uint64, error) {
	argument := func(at int) *Value { return call.Slots[at].bound(effect.Yielded) }
	switch operation := s.operations[call.Transaction][call.Statement]; operation {
	case "enqueue":
		payload, priority := argument(0), argument(1)
		if payload.Kind != Text || priority.Kind != Integer && priority.Kind != Null {
			return 0, errors.New("a task has a text for its payload and an integer for its priority")
		}
		return 1, s.queue.enqueue(payload.Text, priority.Integer)
	case "claim":
		id, payload, found, err := s.queue.claim()
		if call.Timed {
			effect.Query = call.Clock.now()
		}
		if err != nil || !found {
			return 0, err
		}
		if call.Timed {
			effect.FirstRow = call.Clock.now()
		}
		for i, place := range call.Yields {
			effect.Yielded[place] = Value{Kind: Text, Text: [...]string{id, payload}[i]}
		}
		return 1, nil
	default:
		id := argument(0)
		if id.Kind != Text {
			return 0, errors.New("that is no id of a task: no task was claimed before")
		}
		if operation == "complete" {
			return 1, s.queue.complete(id.Text)
		}
		return 1, s.queue.fail(id.Text)
	}
}
