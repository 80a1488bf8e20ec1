package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// cursor is an executed statement positioned at or before one of its rows.
type cursor interface {
	next() (more bool, err error)
	// read converts every column to a Go value.
	read(row []Value) error
}

// Job is Work with its columns resolved.
type Job struct {
	reads       bool // every column is read
	verifies    bool // and the columns value and hash are compared
	value, hash int
	row         []Value // the current row, if there are columns
	scratch     []byte
}

func newJob(spec *Statement, columns []string) (Job, error) {
	if len(columns) < len(spec.Yields) {
		return Job{}, fmt.Errorf("it has columns %q, and yields %q", columns, spec.Yields)
	}
	job := Job{reads: spec.Work.Kind != "none", row: make([]Value, len(columns))}
	if spec.Work.Kind == "verify" {
		job.verifies = true
		job.value, job.hash = slices.Index(columns, spec.Work.Value), slices.Index(columns, spec.Work.Hash)
		if job.value < 0 || job.hash < 0 {
			return job, fmt.Errorf("no columns `%s` and `%s` to verify among %q", spec.Work.Value, spec.Work.Hash, columns)
		}
	}
	return job, nil
}

// fetch fetches as many rows as the statement requests and does its work on each. It returns the number of rows.
func (j *Job) fetch(c cursor, call *Call, effect *Effect) (count uint64, err error) {
	mode := call.Spec.Fetch
	if call.Timed && mode == "all" {
		effect.Query = call.Clock.now()
	}
	var kept []Value
	for {
		more, err := c.next()
		if err != nil {
			return count, err
		}
		if !more {
			break
		}
		if mode == "buffer" || j.reads && mode != "none" || count == 0 && len(call.Yields) > 0 {
			if err := c.read(j.row); err != nil {
				return count, err
			}
		}
		if mode == "buffer" {
			kept = append(kept, j.row...)
			continue
		}
		if err := j.work(j.row, count, call, effect); err != nil {
			return count, err
		}
		count++
		if mode == "first" {
			return count, nil
		}
	}
	if call.Timed && mode == "buffer" {
		effect.Query = call.Clock.now()
	}
	for row := range slices.Chunk(kept, max(len(j.row), 1)) {
		if err := j.work(row, count, call, effect); err != nil {
			return count, err
		}
		count++
	}
	return count, nil
}

// work does the requested work on a row, which has been read if necessary.
func (j *Job) work(row []Value, count uint64, call *Call, effect *Effect) error {
	if j.verifies && call.Spec.Fetch != "none" {
		effect.Verified++
		if !j.agree(&row[j.value], &row[j.hash]) {
			effect.Mismatches++
		}
	}
	if count > 0 {
		return nil
	}
	if call.Timed {
		effect.FirstRow = call.Clock.now()
	}
	for i, place := range call.Yields {
		if row[i].Kind == Other {
			return errBlob
		}
		effect.Yielded[place] = row[i]
	}
	return nil
}

// agree reports whether hash is the hexadecimal SHA-256 of the bytes that value encodes. It is false for values that
// are not text.
func (j *Job) agree(value, hash *Value) bool {
	var expected [sha256.Size]byte
	if value.Kind != Text || hash.Kind != Text || len(hash.Text) != 2*len(expected) || !j.decode(hash.Text) {
		return false
	}
	copy(expected[:], j.scratch)
	return j.decode(value.Text) && sha256.Sum256(j.scratch) == expected
}

// decode decodes hexadecimal digits into scratch.
func (j *Job) decode(digits string) bool {
	j.scratch = append(j.scratch[:0], digits...)
	n, err := hex.Decode(j.scratch, j.scratch)
	j.scratch = j.scratch[:n]
	return err == nil
}

// notCounted lists the verbs after which SQLite's change count is still that of an earlier statement.
var notCounted = []string{"CREATE", "DROP", "ALTER", "PRAGMA", "ATTACH", "DETACH", "VACUUM", "ANALYZE", "REINDEX",
	"SAVEPOINT", "RELEASE", "BEGIN", "COMMIT", "END", "ROLLBACK"}

// comments matches those before the first word of a statement.
var comments = regexp.MustCompile(`^(\s|--[^\n]*(\n|$)|/\*(?s:.*?)\*/)*`)

// isCounted reports whether SQLite counts the changes of a statement without columns.
func isCounted(sql string) bool {
	words := strings.Fields(comments.ReplaceAllString(sql, ""))
	return len(words) > 0 && !slices.Contains(notCounted, strings.ToUpper(words[0]))
}
