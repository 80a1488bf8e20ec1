package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"testing"
)

// readJSON reads a file of the protocol.
func readJSON(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile("../../crates/protocol/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

type generatorVectors struct {
	Streams []struct{ Name, Fnv1a64 string }
	Words   []struct {
		Seed   uint64
		Stream string
		Row    uint64
		Words  []string
	}
	Transaction string
	Params      []Param
	Draws       []struct {
		Seed   uint64
		Row    uint64
		Worker int
		Values []json.RawMessage
	}
}

func TestWordsAreThoseOfTheVectors(t *testing.T) {
	var v generatorVectors
	readJSON(t, "vectors/generator.json", &v)
	if len(v.Streams) < 4 || len(v.Words) < 24 {
		t.Fatalf("%d streams and %d words", len(v.Streams), len(v.Words))
	}
	for _, s := range v.Streams {
		if got := fmt.Sprintf("%016x", fnv1a64(s.Name)); got != s.Fnv1a64 {
			t.Errorf("fnv1a64(%q) = %s, not %s", s.Name, got, s.Fnv1a64)
		}
	}
	for _, w := range v.Words {
		stream := newStream(w.Seed, w.Stream)
		for i, want := range w.Words {
			if got := fmt.Sprintf("%016x", stream.wordAt(w.Row, uint64(i))); got != want {
				t.Errorf("seed %d row %d word %d = %s, not %s", w.Seed, w.Row, i, got, want)
			}
		}
	}
}

// transactionOf creates a transaction with one statement that binds all parameters in order.
func transactionOf(name string, params []Param, repeat, tuples int) *Transaction {
	s := Statement{Repeat: repeat, Tuples: tuples}
	for i := range params {
		s.Bind = append(s.Bind, i)
	}
	return &Transaction{Name: name, Params: params, Statements: []Statement{s}}
}

func TestDrawsAreThoseOfTheVectors(t *testing.T) {
	var v generatorVectors
	readJSON(t, "vectors/generator.json", &v)
	if len(v.Draws) < 20 {
		t.Fatalf("%d draws", len(v.Draws))
	}
	values := &Values{}
	for _, draw := range v.Draws {
		params, err := newParams(draw.Seed, transactionOf(v.Transaction, v.Params, 1, 1), draw.Worker, nil)
		if err != nil {
			t.Fatal(err)
		}
		params.draw(draw.Row, values)
		for i, got := range params.slots(values, 0, 0) {
			if want := scalar(draw.Values[i]); got != want {
				t.Errorf("seed %d row %d `%s` = %v, not %v", draw.Seed, draw.Row, v.Params[i].Name, got, want)
			}
		}
	}
}

func TestRowsOfAnOperationFollowEachOther(t *testing.T) {
	var list []Param
	for i, n := range []int{0, 1, 7, 8, 9, 31, 32, 33, 100} {
		list = append(list, Param{"h" + strconv.Itoa(n), Source{Kind: "hex", Bytes: n}},
			Param{"t" + strconv.Itoa(n), Source{Kind: "text", Chars: n}}, Param{"s" + strconv.Itoa(n), Source{Kind: "sha256-of", Param: 3 * i}})
	}
	list = append(list, Param{"f", Source{Kind: "format", Template: "{worker}{row}{{row}}-{worker}"}})
	one, err := newParams(11, transactionOf("op", list, 1, 1), 42, nil)
	if err != nil {
		t.Fatal(err)
	}
	many, err := newParams(11, transactionOf("op", list, 3, 2), 42, nil)
	if err != nil {
		t.Fatal(err)
	}
	drawn, single := &Values{}, &Values{}
	for _, operation := range []uint64{0, 5, 1 << 33} {
		many.draw(operation, drawn)
		for repetition := range 3 {
			slots := many.slots(drawn, 0, repetition)
			for tuple := range 2 {
				one.draw(operation*6+uint64(repetition*2+tuple), single)
				if got := slots[tuple*len(list):][:len(list)]; !reflect.DeepEqual(got, one.slots(single, 0, 0)) {
					t.Errorf("operation %d repetition %d tuple %d: %v", operation, repetition, tuple, got)
				}
			}
		}
	}
	if last := one.slots(single, 0, 0)[len(list)-1].Text; last != fmt.Sprintf("42%d{%d}-42", uint64(1<<33)*6+5, uint64(1<<33)*6+5) {
		t.Errorf("format gave %q", last)
	}
}

func TestAHashOfItselfIsThatOfNothing(t *testing.T) {
	list := []Param{{"s", Source{Kind: "sha256-of", Param: 0}}}
	params, err := newParams(1, transactionOf("t", list, 1, 1), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	values := &Values{}
	params.draw(0, values)
	want := "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	if got := values.slots[0].Text; got != want {
		t.Errorf("%s", got)
	}
}

func TestABindBeyondTheListIsRefused(t *testing.T) {
	spec := transactionOf("t", nil, 1, 1)
	spec.Statements[0].Bind = []int{0}
	if _, err := newParams(1, spec, 0, nil); err == nil {
		t.Error("accepted")
	}
}

func TestDrawingAllocatesItsTextsAlone(t *testing.T) {
	list := []Param{
		{"id", Source{Kind: "sequence", Step: 1}}, {"u", Source{Kind: "uniform", Low: []byte("1"), High: 1_000_000}},
		{"h", Source{Kind: "hex", Bytes: 20}}, {"s", Source{Kind: "sha256-of", Param: 2}}, {"t", Source{Kind: "text", Chars: 50}},
		{"f", Source{Kind: "format", Template: "w{worker}_{row}"}}, {"n", Source{Kind: "now", Unit: "iso"}},
	}
	params, err := newParams(1, transactionOf("t", list, 10, 1), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	values, operation := &Values{}, uint64(0)
	params.draw(1<<40, values)
	if n := testing.AllocsPerRun(100, func() { operation++; params.draw(operation, values) }); n != 10*5 {
		t.Errorf("%v allocations in an operation", n)
	}
}
