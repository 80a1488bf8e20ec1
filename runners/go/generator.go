package main

// The counter-based generator of docs/reference/protocol.md: SplitMix64 with random access.

const gamma = 0x9E3779B97F4A7C15

func mix64(z uint64) uint64 {
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

func fnv1a64(text string) uint64 {
	hash := uint64(0xCBF29CE484222325)
	for i := range len(text) {
		hash = (hash ^ uint64(text[i])) * 0x100000001B3
	}
	return hash
}

// Stream is a named sequence of words for one seed.
type Stream struct{ key uint64 }

func newStream(seed uint64, name string) Stream {
	return Stream{mix64(seed + gamma*fnv1a64(name))}
}

// word returns word 0 of a row.
func (s Stream) word(row uint64) uint64 {
	return mix64(s.key + (row+1)*gamma)
}

// wordAt returns the word of a row at this index.
func (s Stream) wordAt(row, index uint64) uint64 {
	first := s.word(row)
	if index == 0 {
		return first
	}
	return mix64(first + index*gamma)
}

// unit returns a fraction in [0, 1), exact in a double.
func unit(word uint64) float64 {
	return float64(word>>11) * (1.0 / (1 << 53))
}

// below returns an integer in [0, width), where width is at most 2^53.
func below(word, width uint64) uint64 {
	return uint64(unit(word) * float64(width))
}
