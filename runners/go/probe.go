package main

import "time"

// probe is a goroutine with a timer, and how late it ran. It runs until stop is closed. A timer that is due while the
// last one is still late counts, too, so a stall of ten periods weighs as ten. Dues before `from` (the end of the
// warm-up) are not recorded.
func probe(clock Clock, periodMs, from int64, stop <-chan struct{}) *Histogram {
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
		for ; due <= now; due += period {
			if due >= from {
				lateness.note(now - due)
			}
		}
		timer.Reset(time.Duration(due - clock.now()))
	}
}
