package main

import (
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Pool lends connections for the duration of a transaction.
type Pool interface {
	// Take blocks until a connection is free.
	Take() (Lease, error)
	Close() error
}

// Lease is a connection borrowed from a Pool.
type Lease interface {
	Session() Session
	Give()
}

// Opened holds all connections to one database.
type Opened struct {
	own      []Session // one per worker in the order of the roles, if each worker has its own
	mutex    sync.Mutex
	one      Session // under the mutex, if all workers share it
	writer   Pool    // for transactions that write; nil if there is one pool only
	pool     Pool
	sessions []Session // all of them, in the order of opening
	closers  []func() error
	settings []ConnectionSettings
}

// Handle gives a worker access to a connection.
type Handle struct {
	own       Session
	writeLock *sync.Mutex // must be held by a transaction that writes; nil if none
	shared    *Opened
	// During a transaction:
	held  *sync.Mutex
	lease Lease
}

// take blocks until a connection is free. shares reports whether the connection or a lock is shared with other workers.
func (h *Handle) take(writes bool) (session Session, shares bool, err error) {
	switch {
	case h.own != nil && (h.writeLock == nil || !writes):
		return h.own, false, nil
	case h.own != nil:
		h.writeLock.Lock()
		h.held = h.writeLock
		return h.own, true, nil
	case h.shared.one != nil:
		h.shared.mutex.Lock()
		h.held = &h.shared.mutex
		return h.shared.one, true, nil
	case writes && h.shared.writer != nil:
		h.lease, err = h.shared.writer.Take()
	default:
		h.lease, err = h.shared.pool.Take()
	}
	if err != nil {
		return nil, true, err
	}
	return h.lease.Session(), true, nil
}

// give releases what take acquired.
func (h *Handle) give() {
	if h.held != nil {
		h.held.Unlock()
		h.held = nil
	}
	if h.lease != nil {
		h.lease.Give()
		h.lease = nil
	}
}

// opener opens, configures, fills and prepares all connections to one database.
type opener struct {
	Opened
	trial  *Trial
	driver *Driver
	index  int
}

func openAll(trial *Trial, d *Driver, index int) (*Opened, error) {
	o := &opener{trial: trial, driver: d, index: index}
	var all, writing, reading []int
	for r := range trial.Roles {
		for _, step := range trial.Roles[r].Steps {
			all = append(all, step.Transaction)
			if trial.Transactions[step.Transaction].Writes {
				writing = append(writing, step.Transaction)
			} else {
				reading = append(reading, step.Transaction)
			}
		}
	}
	var err error
	switch sharing := trial.Sharing; sharing.Kind {
	case "own-connection", "app-lock":
		err = o.openOwn()
	case "one-connection":
		o.one, err = o.openOne("shared", 0, all)
	case "pool":
		o.pool, err = o.openPool("pool", sharing.Connections, all)
	case "writer-readers":
		if o.writer, err = o.openPool("writer", 1, writing); err == nil {
			o.pool, err = o.openPool("reader", sharing.Readers, reading)
		}
	default:
		err = fmt.Errorf("sharing %s is not supported", sharing.Kind)
	}
	return &o.Opened, err
}

func (o *opener) openOwn() error {
	for _, role := range o.trial.Roles {
		var used []int
		for _, step := range role.Steps {
			used = append(used, step.Transaction)
		}
		for w := range role.Workers {
			session, err := o.openOne(role.Name, role.FirstWorker+w, used)
			if err != nil {
				return err
			}
			o.own = append(o.own, session)
		}
	}
	return nil
}

// openOne opens a connection through a client of its own. In a cluster it tries the host at index place first.
func (o *opener) openOne(label string, place int, used []int) (Session, error) {
	database := o.trial.Databases[o.index]
	database.place = place
	client, err := o.driver.Open(&database, &o.trial.Connection)
	if err != nil {
		return nil, err
	}
	o.closers = append(o.closers, client.Close)
	return o.openFrom(client, label, used)
}

func (o *opener) openFrom(client Client, label string, used []int) (Session, error) {
	session, err := client.Session()
	if err != nil {
		return nil, err
	}
	return session, o.ready(session, label, used)
}

// ready configures and prepares a newly opened session. used may contain duplicates.
func (o *opener) ready(session Session, label string, used []int) error {
	used = slices.Clone(used)
	slices.Sort(used)
	database := &o.trial.Databases[o.index]
	first := len(o.sessions) == 0
	o.sessions = append(o.sessions, session)
	if database.Kind == "memory" && first {
		if err := session.Script(database.Setup); err != nil {
			return err
		}
	} else if database.Kind == "memory" && !database.Shared {
		return fmt.Errorf("memory database `%s` is private to one connection, and a second was asked for", database.Name)
	}
	settings, err := session.Settings(o.trial.Connection.ReadBack)
	if err != nil {
		return err
	}
	o.settings = append(o.settings, ConnectionSettings{o.index, label, settings})
	return session.Prepare(o.trial.Transactions, slices.Compact(used), o.trial.Prepare == "each")
}

// openPool creates the driver's own kind of pool if it has one, otherwise a stack of sessions, because database/sql's
// pool lends connections without their prepared statements. All connections are opened, configured and prepared before
// the first is lent.
func (o *opener) openPool(label string, size int, used []int) (Pool, error) {
	if size < 1 {
		return nil, fmt.Errorf("sharing %s needs at least one connection", o.trial.Sharing.Kind)
	}
	database, connection := &o.trial.Databases[o.index], &o.trial.Connection
	if o.driver.Pool == nil {
		client, err := o.driver.Open(database, connection)
		if err != nil {
			return nil, err
		}
		o.closers = append(o.closers, client.Close)
		pool := &stack{}
		for range size {
			session, err := o.openFrom(client, label, used)
			if err != nil {
				return nil, err
			}
			pool.free = append(pool.free, &lent{session, pool})
		}
		slices.Reverse(pool.free)
		return pool, nil
	}
	pool, err := o.driver.Pool(database, connection, size)
	if err != nil {
		return nil, err
	}
	o.closers = append(o.closers, pool.Close)
	for range size {
		lease, err := pool.Take()
		if err != nil {
			return nil, err
		}
		defer lease.Give()
		if err := o.ready(lease.Session(), label, used); err != nil {
			return nil, err
		}
	}
	return pool, nil
}

// close closes all connections.
func (o *Opened) close() error {
	var err error
	for _, session := range o.sessions {
		err = errors.Join(err, session.Close())
	}
	for _, closer := range o.closers {
		err = errors.Join(err, closer())
	}
	return err
}

// stack lends the session that came back last, as database/sql does. Requests that wait are served in their order.
type stack struct {
	mutex   sync.Mutex
	free    []*lent
	waiting []chan *lent
}

// lent is a session and the stack to which it returns.
type lent struct {
	session Session
	home    *stack
}

func (s *stack) Take() (Lease, error) {
	s.mutex.Lock()
	if last := len(s.free) - 1; last >= 0 {
		free := s.free[last]
		s.free = s.free[:last]
		s.mutex.Unlock()
		return free, nil
	}
	turn := make(chan *lent, 1)
	s.waiting = append(s.waiting, turn)
	s.mutex.Unlock()
	return <-turn, nil
}

func (s *stack) Close() error { return nil }

func (l *lent) Session() Session { return l.session }

func (l *lent) Give() {
	s := l.home
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if len(s.waiting) > 0 {
		s.waiting[0] <- l
		s.waiting = s.waiting[1:]
		return
	}
	s.free = append(s.free, l)
}
