package main

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
)

func TestTheHistogramOfTheVector(t *testing.T) {
	var v struct {
		Values    []int64
		Encoded   string
		Quantiles [][2]float64
	}
	readJSON(t, "vectors/histogram.json", &v)
	mine := newHistogram()
	for _, value := range v.Values {
		mine.note(value)
	}
	theirs, err := hdrhistogram.Decode([]byte(v.Encoded))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(mine)
	if err != nil {
		t.Fatal(err)
	}
	var encoded string
	if err := json.Unmarshal(text, &encoded); err != nil {
		t.Fatal(err)
	}
	back, err := hdrhistogram.Decode([]byte(encoded))
	if err != nil {
		t.Fatal(err)
	}
	for name, h := range map[string]*hdrhistogram.Histogram{"recorded": mine.Histogram, "decoded": theirs, "sent": back} {
		if !h.Equals(theirs) || h.TotalCount() != int64(len(v.Values)) {
			t.Errorf("%s: it has %d values, and differs", name, h.TotalCount())
		}
		for _, pair := range v.Quantiles {
			if got := h.ValueAtQuantile(100 * pair[0]); got != int64(pair[1]) {
				t.Errorf("%s: quantile %v is %d, not %v", name, pair[0], got, pair[1])
			}
		}
	}
}

func TestTooLongCountsAsTheLongestAndNegativeAsNothing(t *testing.T) {
	h := newHistogram()
	h.note(math.MaxInt64)
	h.note(-5)
	if h.TotalCount() != 2 || h.Max() < highest || h.Min() != 0 {
		t.Errorf("%d values from %d to %d", h.TotalCount(), h.Min(), h.Max())
	}
	var none *Histogram
	none.note(7)
	if text, err := json.Marshal(Operation{Service: h}); err != nil || !json.Valid(text) {
		t.Errorf("%s %v", text, err)
	}
}

func TestMergingAdds(t *testing.T) {
	a, b := newHistogram(), newHistogram()
	a.note(10)
	b.note(1_000_000)
	whole := merged(merged(nil, a), b)
	if whole.TotalCount() != 2 || whole.ValueAtQuantile(50) != 10 {
		t.Errorf("%d values, half below %d", whole.TotalCount(), whole.ValueAtQuantile(50))
	}
	if a.TotalCount() != 1 {
		t.Error("the part was changed")
	}
}
