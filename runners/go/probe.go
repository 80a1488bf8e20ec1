package main

import (
	"math"
	"runtime/metrics"
	"sync/atomic"
	"time"
)

// Lag is the longest that the probe's timer ran late, for the goroutine that says ticks.
type Lag struct{ due, longest atomic.Int64 }

// newLag takes when the timer is due first, in nanoseconds from `go`.
func newLag(due int64) *Lag {
	lag := &Lag{}
	lag.due.Store(due)
	return lag
}

// note tells that the timer ran so late, and is due next at `due`. There is one that notes and one that takes.
func (l *Lag) note(late, due int64) {
	for longest := l.longest.Load(); late > longest && !l.longest.CompareAndSwap(longest, late); longest = l.longest.Load() {
	}
	l.due.Store(due)
}

// take gives the longest since the last time, or how long the timer is overdue; in the warm-up, too.
func (l *Lag) take(now int64) int64 { return max(l.longest.Swap(0), now-l.due.Load(), 0) }

// probe is a goroutine with a timer, and how late it ran. It runs until stop is closed. A timer that is due while the
// last one is still late counts, too, so a stall of ten periods weighs as ten. Dues before `from` (the end of the
// warm-up) are not recorded.
func probe(clock Clock, periodMs, from int64, lag *Lag, stop <-chan struct{}) *Histogram {
	lateness := newHistogram()
	period := millis(periodMs)
	timer := time.NewTimer(time.Duration(period))
	defer timer.Stop()
	for due := period; ; {
		select {
		case <-stop:
			return lateness
		case <-timer.C:
		}
		now := clock.now()
		late := now - due
		for ; due <= now; due += period {
			if due >= from {
				lateness.note(now - due)
			}
		}
		lag.note(late, due)
		timer.Reset(time.Duration(due - clock.now()))
	}
}

// schedulerLatencies is what the runtime itself counts: how long goroutines that could run waited for a thread; every
// eighth time that a goroutine stops running. One that sleeps does not count as able to run until a processor has looked
// at its timer, so what keeps all of them busy shows in `lateness`, and here only if others wait as well.
//
// There is no `pool_wait`: no pool of threads is to be waited for, as a call that blocks in C gets one of its own. The wait
// for a connection is the transactions' `wait`.
const schedulerLatencies = "/sched/latencies:seconds"

// waits are the scheduler's counts so far, nil where the runtime has none.
func waits() *metrics.Float64Histogram {
	sample := []metrics.Sample{{Name: schedulerLatencies}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindFloat64Histogram {
		return nil
	}
	return sample[0].Value.Float64Histogram()
}

// waited are the waits between two readings. Each counts as the end of its bucket that is known, the longer one where
// both are; the runtime's buckets are an eighth apart.
func waited(before, after *metrics.Float64Histogram) *Histogram {
	if before == nil || after == nil {
		return nil
	}
	histogram := newHistogram()
	for i, count := range after.Counts {
		count -= before.Counts[i]
		seconds := after.Buckets[i+1]
		if math.IsInf(seconds, 1) {
			seconds = after.Buckets[i]
		}
		if count > 0 {
			// Cannot fail within the bounds.
			_ = histogram.RecordValues(min(max(int64(seconds*1e9), 0), highest), int64(count))
		}
	}
	return histogram
}
