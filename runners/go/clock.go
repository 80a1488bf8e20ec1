package main

import (
	"math"
	"sync"
	"time"
)

// never is the end of what has not ended, and the time of what did not happen.
const never = math.MaxInt64

// Clock tells the nanoseconds since `go`, by the system's monotonic clock.
type Clock struct{ start time.Time }

func (c Clock) now() int64 { return int64(time.Since(c.start)) }

// Moment is when a role is over: its last worker has ended, or its drain has passed.
type Moment struct {
	come  chan struct{} // closed when it has come
	mutex sync.Mutex
	at    int64 // nanoseconds since `go`, under the mutex
}

// comes is for whoever brings it about, once. The clock is read after the channel is closed: for whoever reads the clock and
// then finds the moment not to have come, it does not come before that reading.
func (m *Moment) comes(clock Clock) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	close(m.come)
	m.at = clock.now()
}

// known is when it came, never until it does.
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

// End is when a role's last transaction may start, and its window ends: a time known beforehand, or the end of another role.
type End struct {
	time int64   // nanoseconds since `go`, or never
	role *Moment // when the other role is over; nil where time decides
}

// known is the time itself, never until it is known.
func (e End) known() int64 {
	if e.role != nil {
		return e.role.known()
	}
	return e.time
}

func (e End) isPast(now int64) bool { return now > e.known() }

// sleep waits until due, or until it is too late anyway.
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
	}
}

// pauseUs sleeps so many microseconds; most pauses are none, and cost nothing.
func pauseUs(micros int64) {
	if micros > 0 {
		time.Sleep(time.Duration(micros) * time.Microsecond)
	}
}
