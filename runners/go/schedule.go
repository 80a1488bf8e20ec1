package main

import (
	"fmt"
	"math"
	"sync"
)

// Schedule generates the arrivals of an open loop: one for all workers of a role, starting at `go`.
type Schedule struct {
	rate    float64
	phase   float64 // from `go` to the first of constant arrivals, in gaps: 1, or less if several processes share the role
	poisson bool
	stream  Stream

	mutex   sync.Mutex
	number  uint64
	elapsed float64 // seconds from `go` to the last arrival taken; exponential gaps only
	left    []int64 // arrivals taken by a worker that could not start them before the end
}

// newSchedule returns nil for a closed loop.
func newSchedule(seed uint64, role *Role) (*Schedule, error) {
	if role.Load.Kind != "open" {
		return nil, nil
	}
	rate := role.Load.Rate
	if !(rate > 0) || math.IsInf(rate, 1) {
		return nil, fmt.Errorf("role `%s`: a rate of %v is none", role.Name, rate)
	}
	stream := newStream(seed, fmt.Sprintf("%s.arrivals.%d", role.Name, role.FirstInRole))
	phase := float64(role.FirstInRole+uint64(role.Workers)) / float64(role.WorkersInRole)
	return &Schedule{rate: rate, poisson: role.Load.Arrivals == "poisson", phase: phase, stream: stream}, nil
}

// take returns the time of the next arrival in nanoseconds since `go`. If that is after end, it returns never and keeps
// the arrival.
func (s *Schedule) take(end int64) int64 {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	// Each gap precedes its arrival, so nothing is due at `go` itself. Equal gaps are multiplied, not added, so that
	// rounding errors do not accumulate.
	elapsed := (float64(s.number) + s.phase) / s.rate
	if s.poisson {
		elapsed = s.elapsed - math.Log(1-unit(s.stream.word(s.number)))/s.rate
	}
	due := int64(min(elapsed*1e9, never/2))
	if due > end {
		return never
	}
	s.number++
	s.elapsed = elapsed
	return due
}

// leave returns an arrival that was taken and not started.
func (s *Schedule) leave(due int64) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.left = append(s.left, due)
}

// unserved counts the arrivals due until end that no worker has started. It consumes the rest of the schedule.
func (s *Schedule) unserved(end int64) (count uint64) {
	for s.take(end) != never {
		count++
	}
	for _, due := range s.left {
		if due <= end {
			count++
		}
	}
	return count
}
