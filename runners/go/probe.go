package main

import (
	"math"
	"runtime/metrics"
	"sync/atomic"
	"time"
)

// Lag holds the longest delay of the probe's timer since the last tick. One goroutine notes and another takes.
type Lag struct{ due, longest atomic.Int64 }

// newLag returns a Lag whose timer is first due at due, in nanoseconds since `go`.
func newLag(due int64) *Lag {
	lag := &Lag{}
	lag.due.Store(due)
	return lag
}

// note records that the timer ran late by this many nanoseconds, and its next due time. Only one goroutine may call it.
func (l *Lag) note(late, due int64) {
	for longest := l.longest.Load(); late > longest && !l.longest.CompareAndSwap(longest, late); longest = l.longest.Load() {
	}
	l.due.Store(due)
}

// take returns and resets the longest delay, or the time for which the timer is overdue if that is longer. It covers
// the warm-up.
func (l *Lag) take(now int64) int64 { return max(l.longest.Swap(0), now-l.due.Load(), 0) }

// probe runs a timer until stop is closed, and records how late it ran. A due time that passes while the previous one
// is still late counts too, so a stall of ten periods counts as ten. Due times before from (the end of the warm-up) are
// not recorded.
func probe(clock Clock, periodMs, from int64, lag *Lag, stop <-chan struct{}) *Histogram {
	lateness := newHistogram()
	period := millis(periodMs)
	timer := time.NewTimer(time.Duration(period))
	defer timer.Stop()
	for due := period; ; {
		select {
		case <-stop:
			for now := clock.now(); due <= now; due += period {
				if due >= from {
					lateness.note(now - due)
				}
			}
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

// schedulerLatencies is a histogram of the Go runtime: how long runnable goroutines waited for a thread, sampled at
// every eighth transition out of the running state. A sleeping goroutine counts as runnable only after a processor has
// checked its timer. So if all processors are busy, that shows in `lateness`, and here only if other goroutines wait
// too.
//
// There is no `pool_wait`, because no thread pool exists: a call that blocks in C gets its own thread. The wait for a
// connection is the `wait` of transactions.
const schedulerLatencies = "/sched/latencies:seconds"

// waits returns the current histogram of the scheduler, or nil if the runtime has none.
func waits() *metrics.Float64Histogram {
	sample := []metrics.Sample{{Name: schedulerLatencies}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindFloat64Histogram {
		return nil
	}
	return sample[0].Value.Float64Histogram()
}

// waited returns the waits between two readings. Each counts as the upper bound of its bucket, or as the lower bound if
// the upper one is infinite. The runtime's buckets are at most a quarter wide.
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
			// It cannot fail within the bounds.
			_ = histogram.RecordValues(min(max(int64(seconds*1e9), 0), highest), int64(count))
		}
	}
	return histogram
}
