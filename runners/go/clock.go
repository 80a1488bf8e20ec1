package main

import (
	"math"
	"sync"
	"time"
)

// never is the end time of a role that has not ended, and the time of an event that did not happen.
const never = math.MaxInt64

// Clock measures nanoseconds since `go`, with the monotonic clock of the system.
type Clock struct{ start time.Time }

func (c Clock) now() int64 { return int64(time.Since(c.start)) }

// Moment is the end of a role: its last worker has ended, or its drain has passed.
type Moment struct {
	come  chan struct{} // closed at the end of the role
	mutex sync.Mutex
	at    int64 // nanoseconds since `go`, under the mutex
}

// comes marks the end of the role and must be called once. It reads the clock after closing the channel: if a goroutine
// reads the clock and then finds the channel open, the end lies after that reading.
func (m *Moment) comes(clock Clock) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	close(m.come)
	m.at = clock.now()
}

// known returns the time of the end, or never before it.
func (m *Moment) known() int64 {
	select {
	case <-m.come:
		m.mutex.Lock()
		defer m.mutex.Unlock()
		return m.at
	default:
		return never
	}
}

// End is the time up to which a role's transactions may start, and the end of its window: a fixed time, or the end of
// another role.
type End struct {
	time int64   // nanoseconds since `go`, or never
	role *Moment // end of the other role; nil if time applies
}

// known returns the time, or never as long as it is unknown.
func (e End) known() int64 {
	if e.role != nil {
		return e.role.known()
	}
	return e.time
}

func (e End) isPast(now int64) bool { return now > e.known() }

// sleep waits until due, or until just after the end if that is earlier.
func (e End) sleep(clock Clock, due int64) {
	if e.time < due {
		due = e.time + 1
	}
	left := due - clock.now()
	if left <= 0 {
		return
	}
	var over chan struct{}
	if e.role != nil {
		over = e.role.come
	}
	select {
	case <-time.After(time.Duration(left)):
	case <-over:
		// The end lies a little after the channel is closed: a transaction that began between them would have had no pause.
		for !e.isPast(clock.now()) {
		}
	}
}

// pauseUs sleeps for micros microseconds; 0 returns at once.
func pauseUs(micros int64) {
	if micros > 0 {
		time.Sleep(time.Duration(micros) * time.Microsecond)
	}
}
