package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
)

// alphabet contains the 64 characters of a `text` source, six bits each, lowest first; charsPerWord of them come from
// one word.
const (
	alphabet     = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_ "
	charsPerWord = 10
)

// Kind selects the valid field of a Value.
type Kind uint8

const (
	Null Kind = iota
	Integer
	Real
	Text
	Other   // a column that can be read, but neither bound nor reported
	yielded // Integer is the index in the worker's yielded values, resolved when the statement is executed
)

// Value is the value of one SQL parameter or of one yielded column.
type Value struct {
	Kind    Kind
	Integer int64
	Real    float64
	Text    string
}

// bound returns the value to bind at this execution.
func (v *Value) bound(memory []Value) *Value {
	if v.Kind == yielded {
		return &memory[v.Integer]
	}
	return v
}

// boxed returns the value in the types of database/sql.
func (v *Value) boxed() any {
	switch v.Kind {
	case Integer:
		return v.Integer
	case Real:
		return v.Real
	case Text:
		return v.Text
	}
	return nil
}

// scalar converts a JSON scalar; booleans become 0 and 1.
func scalar(raw json.RawMessage) Value {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var decoded any
	if decoder.Decode(&decoded) != nil {
		return Value{}
	}
	switch v := decoded.(type) {
	case bool:
		if v {
			return Value{Kind: Integer, Integer: 1}
		}
		return Value{Kind: Integer}
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return Value{Kind: Integer, Integer: i}
		}
		if r, err := v.Float64(); err == nil {
			return Value{Kind: Real, Real: r}
		}
	case string:
		return Value{Kind: Text, Text: v}
	}
	return Value{}
}

// Values contains the values of one operation in the order in which its statements bind them.
type Values struct {
	slots []Value
	text  []byte // buffer for the value being drawn, like bytes
	bytes []byte
	now   time.Time // read once per operation, so that two columns with the same time agree
}

// written returns the value drawn into text.
func (v *Values) written() Value { return Value{Kind: Text, Text: string(v.text)} }

// Params draws the values of one transaction for one worker.
type Params struct {
	sources    []source
	statements []layout
	readsClock bool
}

// source is a Param with everything resolved that does not depend on the row.
type source struct {
	stream Stream
	kind   string
	bytes  int // of a `hex` source
	draw   func(p *Params, row uint64, into *Values) Value
}

// layout is the part of an operation's slots that belongs to one statement.
type layout struct {
	bind  []int
	rows  uint64 // repeat * tuples
	from  int    // index of its first slot
	slots int    // number per execution
}

// newParams prepares the parameters of a transaction. place returns the index of a yielded name in the worker's yielded
// values.
func newParams(seed uint64, t *Transaction, worker int, place func(string) int) (*Params, error) {
	p := &Params{}
	for i := range t.Params {
		s, err := resolve(&t.Params[i].Source, i, worker, place)
		if err != nil {
			return nil, fmt.Errorf("parameter `%s.%s`: %w", t.Name, t.Params[i].Name, err)
		}
		s.stream = newStream(seed, t.Name+"."+t.Params[i].Name)
		p.sources = append(p.sources, s)
		p.readsClock = p.readsClock || s.kind == "now"
	}
	from := 0
	for _, s := range t.Statements {
		if slices.ContainsFunc(s.Bind, func(i int) bool { return i < 0 || i >= len(p.sources) }) {
			return nil, fmt.Errorf("transaction `%s` binds a parameter that it does not have", t.Name)
		}
		slots := len(s.Bind) * s.Tuples
		p.statements = append(p.statements, layout{s.Bind, uint64(s.Repeat) * uint64(s.Tuples), from, slots})
		from += s.Repeat * slots
	}
	return p, nil
}

// slots returns the slots of one repetition of a statement.
func (p *Params) slots(values *Values, statement, repetition int) []Value {
	l := &p.statements[statement]
	from := l.from + repetition*l.slots
	return values.slots[from : from+l.slots]
}

// draw draws all values of an operation.
func (p *Params) draw(operation uint64, into *Values) {
	into.slots = into.slots[:0]
	if p.readsClock {
		into.now = time.Now().UTC()
	}
	for i := range p.statements {
		l := &p.statements[i]
		first := operation * l.rows
		for row := first; row != first+l.rows; row++ {
			for _, index := range l.bind {
				into.slots = append(into.slots, p.sources[index].draw(p, row, into))
			}
		}
	}
}

// resolve creates the function described in docs/reference/protocol.md, "Values". `at` is the index of the parameter itself.
func resolve(s *Source, at, worker int, place func(string) int) (source, error) {
	constant := func(v Value) func(*Params, uint64, *Values) Value {
		return func(*Params, uint64, *Values) Value { return v }
	}
	out := source{kind: s.Kind}
	switch s.Kind {
	case "value":
		out.draw = constant(scalar(s.Value))
	case "worker":
		out.draw = constant(Value{Kind: Integer, Integer: int64(worker)})
	case "yielded":
		out.draw = constant(Value{Kind: yielded, Integer: int64(place(s.Name))})
	case "choice":
		var values []Value
		for _, raw := range s.Values {
			values = append(values, scalar(raw))
		}
		out.draw = func(p *Params, row uint64, _ *Values) Value {
			if i := below(p.sources[at].stream.word(row), uint64(len(values))); i < uint64(len(values)) {
				return values[i]
			}
			return Value{}
		}
	case "uniform":
		var low int64
		if err := json.Unmarshal(s.Low, &low); err != nil {
			return out, err
		}
		width := uint64(s.High - low + 1)
		out.draw = func(p *Params, row uint64, _ *Values) Value {
			return Value{Kind: Integer, Integer: low + int64(below(p.sources[at].stream.word(row), width))}
		}
	case "table":
		var low []int64
		if err := json.Unmarshal(s.Low, &low); err != nil {
			return out, err
		}
		if len(low) != len(s.Cut) || len(s.Width) != len(s.Cut) || len(low) == 0 {
			return out, fmt.Errorf("a table of %d, %d and %d intervals", len(s.Cut), len(low), len(s.Width))
		}
		out.draw = func(p *Params, row uint64, _ *Values) Value {
			stream := p.sources[at].stream
			u := stream.word(row) >> 11
			i := min(sort.Search(len(s.Cut), func(i int) bool { return u < s.Cut[i] }), len(low)-1)
			return Value{Kind: Integer, Integer: low[i] + int64(below(stream.wordAt(row, 1), s.Width[i]))}
		}
	case "sequence":
		out.draw = func(_ *Params, row uint64, _ *Values) Value {
			return Value{Kind: Integer, Integer: s.Start + s.Step*int64(row)}
		}
	case "hex":
		out.bytes = s.Bytes
		out.draw = func(p *Params, row uint64, into *Values) Value {
			into.bytes = randomBytes(into.bytes[:0], p.sources[at].stream, row, s.Bytes)
			into.text = hex.AppendEncode(into.text[:0], into.bytes)
			return into.written()
		}
	case "text":
		out.draw = func(p *Params, row uint64, into *Values) Value {
			into.text = randomText(into.text[:0], p.sources[at].stream, row, s.Chars)
			return into.written()
		}
	case "sha256-of":
		out.draw = func(p *Params, row uint64, into *Values) Value {
			digest := p.digest(s.Param, at, row, into)
			into.text = hex.AppendEncode(into.text[:0], digest[:])
			return into.written()
		}
	case "now":
		out.draw = func(_ *Params, _ uint64, into *Values) Value { return into.wallClock(s.Unit) }
	case "format":
		literals := strings.Split(strings.ReplaceAll(s.Template, "{worker}", strconv.Itoa(worker)), "{row}")
		out.draw = func(_ *Params, row uint64, into *Values) Value {
			into.text = into.text[:0]
			for i, literal := range literals {
				if i > 0 {
					into.text = strconv.AppendUint(into.text, row, 10)
				}
				into.text = append(into.text, literal...)
			}
			return into.written()
		}
	default:
		return out, fmt.Errorf("`%s` is no source", s.Kind)
	}
	return out, nil
}

// digest hashes the raw bytes of a `hex` source, or the text of any other. A parameter that refers to itself or to a
// later one hashes no bytes.
func (p *Params) digest(of, at int, row uint64, into *Values) [32]byte {
	into.bytes = into.bytes[:0]
	switch {
	case of < 0 || of >= len(p.sources):
	case p.sources[of].kind == "hex":
		into.bytes = randomBytes(into.bytes, p.sources[of].stream, row, p.sources[of].bytes)
	case of < at:
		value := p.sources[of].draw(p, row, into)
		into.bytes = into.bytes[:0]
		switch value.Kind {
		case Integer:
			into.bytes = strconv.AppendInt(into.bytes, value.Integer, 10)
		case Real:
			into.bytes = strconv.AppendFloat(into.bytes, value.Real, 'f', -1, 64)
		case Text:
			into.bytes = append(into.bytes, value.Text...)
		}
	}
	return sha256.Sum256(into.bytes)
}

// randomBytes appends the words of the row in big-endian order, cut to count bytes.
func randomBytes(to []byte, stream Stream, row uint64, count int) []byte {
	end := len(to) + count
	for i := uint64(0); len(to) < end; i++ {
		to = binary.BigEndian.AppendUint64(to, stream.wordAt(row, i))
	}
	return to[:end]
}

func randomText(to []byte, stream Stream, row uint64, chars int) []byte {
	var word uint64
	for i := range chars {
		if i%charsPerWord == 0 {
			word = stream.wordAt(row, uint64(i/charsPerWord))
		}
		to = append(to, alphabet[word&63])
		word >>= 6
	}
	return to
}

func (v *Values) wallClock(unit string) Value {
	switch unit {
	case "s":
		return Value{Kind: Integer, Integer: v.now.Unix()}
	case "ms":
		return Value{Kind: Integer, Integer: v.now.UnixMilli()}
	case "us":
		return Value{Kind: Integer, Integer: v.now.UnixMicro()}
	}
	return Value{Kind: Text, Text: v.now.Format("2006-01-02T15:04:05.000Z")}
}
