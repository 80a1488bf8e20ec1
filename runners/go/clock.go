package main

import (
	"math"
	"sync/atomic"
	"time"
)

// never is the end of what has not ended, and the time of what did not happen.
const never = math.MaxInt64

// slice is how long a pause may outlast the event that should end it, in nanoseconds.
const slice = 10_000_000

// Clock tells the nanoseconds since `go`, by the system's monotonic clock.
type Clock struct{ start time.Time }

func (c Clock) now() int64 { return int64(time.Since(c.start)) }

// End is when a role's last transaction may start: a time known beforehand, or the end of another role.
type End struct {
	time int64         // nanoseconds since `go`, or never
	role *atomic.Int64 // when the other role ended, never until it does; nil where time decides
}

func (e End) isPast(now int64) bool {
	return now > e.time || e.role != nil && e.role.Load() != never
}

// known is the time itself, once it is known.
func (e End) known() int64 {
	if e.role != nil {
		return e.role.Load()
	}
	return e.time
}

// sleep waits until due, or until it is too late anyway.
func (e End) sleep(clock Clock, due int64) {
	for {
		now := clock.now()
		if now >= due || e.isPast(now) {
			return
		}
		wake := due
		if e.time < due {
			wake = e.time + 1
		}
		left := wake - now
		if e.role != nil {
			left = min(left, slice)
		}
		time.Sleep(time.Duration(left))
	}
}

// pauseUs sleeps so many microseconds; most pauses are none, and cost nothing.
func pauseUs(micros int64) {
	if micros > 0 {
		time.Sleep(time.Duration(micros) * time.Microsecond)
	}
}
