package main

import (
	"bytes"
	"context"
	"regexp"
	"strconv"
)

var copying = regexp.MustCompile(`(?is)^\s*COPY\s.*\sFROM\s+STDIN\s*;?\s*$`)

// isCopy reports whether a statement takes its values through the copy protocol.
func isCopy(sql string) bool { return copying.MatchString(sql) }

// copy sends the slots as rows of COPY's text format, https://www.postgresql.org/docs/current/sql-copy.html.
func (l *postgresLink) copy(ctx context.Context, call *Call, effect *Effect) (uint64, error) {
	l.buffer = l.buffer[:0]
	columns := len(call.Spec.Bind)
	for i := range call.Slots {
		var err error
		if l.buffer, err = appendCopied(l.buffer, call.Slots[i].bound(effect.Yielded)); err != nil {
			return 0, err
		}
		if (i+1)%columns == 0 {
			l.buffer = append(l.buffer, '\n')
		} else {
			l.buffer = append(l.buffer, '\t')
		}
	}
	tag, err := l.conn.PgConn().CopyFrom(ctx, bytes.NewReader(l.buffer), call.Spec.SQL)
	return uint64(tag.RowsAffected()), l.failing(err)
}

func appendCopied(to []byte, value *Value) ([]byte, error) {
	switch value.Kind {
	case Null:
		return append(to, '\\', 'N'), nil
	case Integer:
		return strconv.AppendInt(to, value.Integer, 10), nil
	case Real:
		return strconv.AppendFloat(to, value.Real, 'g', -1, 64), nil
	case Text:
		for i := range len(value.Text) {
			switch c := value.Text[i]; c {
			case '\\', '\t', '\n', '\r':
				to = append(to, '\\', map[byte]byte{'\\': '\\', '\t': 't', '\n': 'n', '\r': 'r'}[c])
			default:
				to = append(to, c)
			}
		}
		return to, nil
	}
	return to, errBlob
}
