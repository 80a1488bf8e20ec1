package main

import (
	"encoding/json"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Bounds in nanoseconds; what takes longer than an hour counts as an hour.
const (
	lowest  = 1
	highest = 3_600_000_000_000
	digits  = 3
)

// Histogram counts nanoseconds; in JSON it is the base64 of HdrHistogram's V2 compressed form.
type Histogram struct{ *hdrhistogram.Histogram }

func newHistogram() *Histogram {
	return &Histogram{hdrhistogram.New(lowest, highest, digits)}
}

// only makes one where it is wanted.
func only(wanted bool) *Histogram {
	if !wanted {
		return nil
	}
	return newHistogram()
}

// note counts a value, none where there is no histogram. Two readings of the clock may be on different processors, so
// a negative value counts as 0.
func (h *Histogram) note(nanos int64) {
	if h != nil {
		// Cannot fail within the bounds.
		_ = h.RecordValue(min(max(nanos, 0), highest))
	}
}

// merged adds part to whole, either of which may be missing.
func merged(whole, part *Histogram) *Histogram {
	if part == nil {
		return whole
	}
	if whole == nil {
		whole = newHistogram()
	}
	whole.Merge(part.Histogram)
	return whole
}

// MarshalJSON gives the wire form.
func (h *Histogram) MarshalJSON() ([]byte, error) {
	encoded, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return nil, err
	}
	return json.Marshal(string(encoded))
}
