package main

import (
	"encoding/json"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Bounds in nanoseconds. Longer values are recorded as one hour.
const (
	lowest  = 1
	highest = 3_600_000_000_000
	digits  = 3
)

// Histogram counts values in nanoseconds. Its JSON form is the base64 of HdrHistogram's V2 compressed encoding.
type Histogram struct{ *hdrhistogram.Histogram }

func newHistogram() *Histogram {
	return &Histogram{hdrhistogram.New(lowest, highest, digits)}
}

// only returns a new histogram if wanted, otherwise nil.
func only(wanted bool) *Histogram {
	if !wanted {
		return nil
	}
	return newHistogram()
}

// note records a value; on a nil histogram it does nothing. Two clock readings can come from different processors, so a
// negative value is recorded as 0.
func (h *Histogram) note(nanos int64) {
	if h != nil {
		// It cannot fail within the bounds.
		_ = h.RecordValue(min(max(nanos, 0), highest))
	}
}

// merged adds part to whole, which may be nil.
func merged(whole, part *Histogram) *Histogram {
	if whole == nil {
		whole = newHistogram()
	}
	whole.Merge(part.Histogram)
	return whole
}

// MarshalJSON returns the wire form.
func (h *Histogram) MarshalJSON() ([]byte, error) {
	encoded, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return nil, err
	}
	return json.Marshal(string(encoded))
}
