package main

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// postgres is PostgreSQL by pgx itself, without database/sql: statements prepared by name, values encoded for the types
// that the server has told, results in binary.
var postgres = Driver{
	Name:     "postgres",
	Module:   "github.com/jackc/pgx/v5",
	Dialect:  postgresDialect,
	Accesses: []string{"per-worker", "pool"},
	Open: func(database *Database, connection *Connection) (Client, error) {
		place, err := parseServerURL(database.URL, "postgres", "5432")
		if err != nil {
			return nil, err
		}
		keys, err := place.keys(connection.Options, postgresKeys)
		if err != nil {
			return nil, err
		}
		client := &serverClient{pragmas: connection.Pragmas, place: database.place}
		for _, host := range place.hosts {
			config, err := postgresConfig(&place, host, keys, database.Schema)
			if err != nil {
				return nil, err
			}
			client.hosts = append(client.hosts, func(ctx context.Context) (link, error) { return openPostgres(ctx, config) })
		}
		return client, nil
	},
	Code: postgresCode,
}

func postgresCode(err error) (string, bool) {
	var said *pgconn.PgError
	if errors.As(err, &said) {
		return cmp.Or(serverCodes.Postgres[said.Code], "sqlstate_"+said.Code), true
	}
	if code, is := connectionCode(err); is {
		return code, true
	}
	var connecting *pgconn.ConnectError
	return "CONNECTION_REFUSED", errors.As(err, &connecting)
}

// postgresKeys are those of a connection string that change how a connection works, as listed for pgconn.ParseConfig.
const postgresKeys = "application_name channel_binding min_protocol_version max_protocol_version options require_auth " +
	"sslcert sslkey sslmode sslnegotiation sslpassword sslrootcert sslsni"

func postgresConfig(place *serverURL, host string, keys url.Values, schema string) (*pgx.ConnConfig, error) {
	keys = maps.Clone(keys)
	keys.Set("search_path", pgx.Identifier{schema}.Sanitize())
	address := url.URL{Scheme: "postgres", User: url.UserPassword(place.user, place.password), Host: host,
		Path: place.database, RawQuery: keys.Encode()}
	config, err := pgx.ParseConfig(address.String())
	if err != nil {
		return nil, err
	}
	config.ConnectTimeout = connectPatience
	config.DialFunc = func(ctx context.Context, _, address string) (net.Conn, error) {
		conn, err := dialSocket(ctx, address)
		if err != nil {
			return nil, err
		}
		return &patientConn{socket: conn}, nil
	}
	return config, nil
}

// postgresLink is one connection.
type postgresLink struct {
	conn       *pgconn.PgConn
	each       bool
	brackets   [2]*pgconn.StatementDescription // BEGIN and COMMIT, where statements are prepared once
	statements [][]postgresStatement           // by transaction and statement
	values     [][]byte
	formats    []int16
	buffer     []byte
	cursor     postgresCursor
}

type postgresStatement struct {
	description *pgconn.StatementDescription // nil for COPY
	results     []int16                      // format of each column
	job         Job
}

func openPostgres(ctx context.Context, config *pgx.ConnConfig) (link, error) {
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	return &postgresLink{conn: conn.PgConn()}, nil
}

func (l *postgresLink) gone() bool { return l.conn.IsClosed() }

// close tells the server, and does not wait long for it.
func (l *postgresLink) close() error {
	ctx, cancel := context.WithTimeout(background, connectPatience)
	defer cancel()
	return l.conn.Close(ctx)
}

// failing is an error as it came, or told to be one of the connection where that is closed now.
func (l *postgresLink) failing(err error) error {
	if err == nil || !l.gone() {
		return err
	}
	if _, named := postgresCode(err); named {
		return err
	}
	return lost{err}
}

// script sends one statement by the simple protocol, as pgx does where nothing is bound.
func (l *postgresLink) script(sql string) error {
	return l.failing(l.conn.Exec(background, sql).Close())
}

func (l *postgresLink) set(name, value string) error {
	return l.script("SET SESSION " + name + " = " + value)
}

func (l *postgresLink) show(name string) (any, error) {
	results, err := l.conn.Exec(background, "SHOW "+name).ReadAll()
	if err != nil {
		return nil, l.failing(err)
	}
	if len(results) == 0 || len(results[0].Rows) == 0 {
		return nil, nil
	}
	return printed(string(results[0].Rows[0][0])), nil
}

func (l *postgresLink) begin() error  { return l.bracket(0) }
func (l *postgresLink) commit() error { return l.bracket(1) }

var bracketSQL = [2]string{"BEGIN", "COMMIT"}

// bracket begins or ends a transaction: prepared, as whatever else is sent often, unless nothing is.
func (l *postgresLink) bracket(which int) error {
	if l.brackets[which] == nil {
		return l.script(bracketSQL[which])
	}
	_, err := l.conn.ExecStatement(background, l.brackets[which], nil, nil, nil).Close()
	return l.failing(err)
}

func (l *postgresLink) rollback() error {
	const idle = 'I'
	if l.conn.TxStatus() == idle {
		return nil
	}
	return l.script("ROLLBACK")
}

func (l *postgresLink) prepare(transactions []Transaction, used []int, each bool) (err error) {
	l.each = each
	if l.statements, err = prepareAll(transactions, used, l.prepareOne); err != nil || each {
		return l.failing(err)
	}
	for which, sql := range bracketSQL {
		if l.brackets[which], err = l.conn.Prepare(background, "litelab_"+sql, sql, nil); err != nil {
			return l.failing(err)
		}
	}
	return nil
}

func (l *postgresLink) prepareOne(spec *Statement, number int) (statement postgresStatement, err error) {
	given := len(spec.Bind) * spec.Tuples
	if isCopy(spec.SQL) {
		if given == 0 {
			return statement, errors.New("its rows are what is bound, and nothing is")
		}
		statement.job, err = newJob(spec, nil)
		return statement, err
	}
	name := fmt.Sprintf("litelab_%d", number)
	if l.each {
		// The unnamed statement: it tells the types, and is gone with the next.
		name = ""
	}
	if statement.description, err = l.conn.Prepare(background, name, spec.SQL, nil); err != nil {
		return statement, err
	}
	if wanted := len(statement.description.ParamOIDs); wanted != given {
		return statement, fmt.Errorf("it has %d parameters, and %d are bound", wanted, given)
	}
	var columns []string
	for _, field := range statement.description.Fields {
		columns = append(columns, field.Name)
		statement.results = append(statement.results, formatOf(field.DataTypeOID))
	}
	statement.job, err = newJob(spec, columns)
	return statement, err
}

func (l *postgresLink) execute(call *Call, effect *Effect) (count uint64, err error) {
	statement := &l.statements[call.Transaction][call.Statement]
	if statement.description == nil {
		return l.copy(call, effect)
	}
	if err := l.bind(statement.description.ParamOIDs, call.Slots, effect.Yielded); err != nil {
		return 0, err
	}
	var reader *pgconn.ResultReader
	if l.each {
		reader = l.conn.ExecParams(background, call.Spec.SQL, l.values, statement.description.ParamOIDs, l.formats, statement.results)
	} else {
		reader = l.conn.ExecStatement(background, statement.description, l.values, l.formats, statement.results)
	}
	if len(statement.job.row) == 0 {
		tag, err := reader.Close()
		return changed(tag), l.failing(err)
	}
	l.cursor = postgresCursor{reader, statement.description.Fields}
	count, err = statement.job.fetch(&l.cursor, call, effect)
	// What a fetch of the first row leaves is read and dropped here, and an error of the server's comes with it.
	if _, closing := reader.Close(); err == nil {
		err = closing
	}
	return count, l.failing(err)
}

// changed counts as SQLite does: rows that a statement has written.
func changed(tag pgconn.CommandTag) uint64 {
	if tag.Insert() || tag.Update() || tag.Delete() || strings.HasPrefix(tag.String(), "COPY") || strings.HasPrefix(tag.String(), "MERGE") {
		return uint64(tag.RowsAffected())
	}
	return 0
}

// Types whose binary form is read and written here, by their OID in pg_type; of all others the text is sent.
const (
	boolOID, byteaOID, int8OID, int2OID, int4OID, oidOID = 16, 17, 20, 21, 23, 26
	float4OID, float8OID, numericOID                     = 700, 701, 1700
)

const textFormat, binaryFormat int16 = 0, 1

func formatOf(oid uint32) int16 {
	switch oid {
	case boolOID, byteaOID, int8OID, int2OID, int4OID, float4OID, float8OID:
		return binaryFormat
	}
	return textFormat
}

// bind encodes the slots for the types of the parameters into buffers that are used again.
func (l *postgresLink) bind(oids []uint32, slots, yielded []Value) error {
	l.values, l.formats, l.buffer = l.values[:0], l.formats[:0], l.buffer[:0]
	// As many as are needed beforehand: the values stay where they are as the buffer grows.
	need := 0
	for i := range slots {
		need += len(slots[i].bound(yielded).Text) + 24
	}
	l.buffer = slices.Grow(l.buffer, need)
	for i := range slots {
		value, from, format := slots[i].bound(yielded), len(l.buffer), textFormat
		switch {
		case value.Kind == Null:
			l.values, l.formats = append(l.values, nil), append(l.formats, textFormat)
			continue
		case value.Kind == Integer && oids[i] == int8OID:
			format, l.buffer = binaryFormat, binary.BigEndian.AppendUint64(l.buffer, uint64(value.Integer))
		case value.Kind == Integer && oids[i] == int4OID && int64(int32(value.Integer)) == value.Integer:
			format, l.buffer = binaryFormat, binary.BigEndian.AppendUint32(l.buffer, uint32(value.Integer))
		case value.Kind == Integer:
			l.buffer = strconv.AppendInt(l.buffer, value.Integer, 10)
		case value.Kind == Real && oids[i] == float8OID:
			format, l.buffer = binaryFormat, binary.BigEndian.AppendUint64(l.buffer, math.Float64bits(value.Real))
		case value.Kind == Real:
			l.buffer = strconv.AppendFloat(l.buffer, value.Real, 'g', -1, 64)
		case value.Kind == Text && oids[i] == byteaOID:
			format, l.buffer = binaryFormat, append(l.buffer, value.Text...)
		case value.Kind == Text:
			l.buffer = append(l.buffer, value.Text...)
		default:
			return errBlob
		}
		l.values, l.formats = append(l.values, l.buffer[from:len(l.buffer):len(l.buffer)]), append(l.formats, format)
	}
	return nil
}

// postgresCursor is at a row of a result.
type postgresCursor struct {
	reader *pgconn.ResultReader
	fields []pgconn.FieldDescription
}

func (c *postgresCursor) next() (bool, error) {
	if c.reader.NextRow() {
		return true, nil
	}
	_, err := c.reader.Close()
	return false, err
}

func (c *postgresCursor) read(row []Value) error {
	for i, cell := range c.reader.Values() {
		value, err := postgresValue(c.fields[i].DataTypeOID, cell)
		if err != nil {
			return err
		}
		row[i] = value
	}
	return nil
}

// postgresValue is a column in the form of formatOf, nil for NULL.
func postgresValue(oid uint32, cell []byte) (Value, error) {
	if cell == nil {
		return Value{}, nil
	}
	switch {
	case oid == int8OID && len(cell) == 8:
		return Value{Kind: Integer, Integer: int64(binary.BigEndian.Uint64(cell))}, nil
	case oid == int4OID && len(cell) == 4:
		return Value{Kind: Integer, Integer: int64(int32(binary.BigEndian.Uint32(cell)))}, nil
	case oid == int2OID && len(cell) == 2:
		return Value{Kind: Integer, Integer: int64(int16(binary.BigEndian.Uint16(cell)))}, nil
	case oid == boolOID && len(cell) == 1:
		return Value{Kind: Integer, Integer: int64(cell[0])}, nil
	case oid == float8OID && len(cell) == 8:
		return Value{Kind: Real, Real: math.Float64frombits(binary.BigEndian.Uint64(cell))}, nil
	case oid == float4OID && len(cell) == 4:
		return Value{Kind: Real, Real: float64(math.Float32frombits(binary.BigEndian.Uint32(cell)))}, nil
	case oid == byteaOID:
		return Value{Kind: Other}, nil
	case formatOf(oid) == binaryFormat:
		return Value{}, fmt.Errorf("a column of type %d has %d bytes", oid, len(cell))
	case oid == numericOID, oid == oidOID:
		return decimal(string(cell)), nil
	}
	return Value{Kind: Text, Text: string(cell)}, nil
}
