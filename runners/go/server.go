package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Timeouts of server connections, so that a dead or stopped server does not block a run forever.
const (
	connectPatience = 5 * time.Second
	answerPatience  = 30 * time.Second
	// reopenPatience limits the attempts of a worker to replace a lost connection; after it the trial fails. A killed
	// server that starts again must first replay its log.
	reopenPatience = 30 * time.Second
	reopenPause    = 50 * time.Millisecond
)

// serverURL contains the parts of Database.URL.
type serverURL struct {
	hosts          []string // with their ports
	user, password string
	database       string
	query          url.Values
}

var serverForm = regexp.MustCompile(`^([a-z]+)://(?:([^@/?]*)@)?([^@/?]+)(?:/([^?]*))?(?:\?(.*))?$`)

// parseServerURL parses `scheme://user:password@host:port,host:port/database?key=value`. Its errors never contain the
// password.
func parseServerURL(text, scheme, port string) (s serverURL, err error) {
	parts := serverForm.FindStringSubmatch(text)
	if parts == nil || parts[1] != scheme {
		return s, fmt.Errorf("the url is to be %s://user:password@host:port", scheme)
	}
	user, password, _ := strings.Cut(parts[2], ":")
	if s.user, err = url.PathUnescape(user); err == nil {
		s.password, err = url.PathUnescape(password)
	}
	if err != nil {
		return s, errors.New("user or password in the url: % is to be followed by two hex digits")
	}
	if s.database, err = url.PathUnescape(parts[4]); err != nil {
		return s, fmt.Errorf("the url's database: %w", err)
	}
	if s.query, err = url.ParseQuery(parts[5]); err != nil {
		return s, fmt.Errorf("the url's keys: %w", err)
	}
	for host := range strings.SplitSeq(parts[3], ",") {
		if !strings.Contains(host[strings.LastIndex(host, "]")+1:], ":") {
			host += ":" + port
		}
		name, number, err := net.SplitHostPort(host)
		if _, wrong := strconv.ParseUint(number, 10, 16); err != nil || wrong != nil || name == "" {
			return s, fmt.Errorf("`%s` in the url is no host:port", host)
		}
		s.hosts = append(s.hosts, host)
	}
	return s, nil
}

// keys merges the keys of the url with the options and rejects those that the driver does not document.
func (s *serverURL) keys(options map[string]any, documented string) (url.Values, error) {
	keys := map[string]any{}
	for name, values := range s.query {
		keys[name] = values[len(values)-1]
	}
	for name, value := range options {
		keys[name] = value
	}
	if err := refuseUnknown(keys, documented); err != nil {
		return nil, err
	}
	all := url.Values{}
	for name, value := range keys {
		all.Set(name, fmt.Sprint(value))
	}
	return all, nil
}

// link is one open connection to a server, with its prepared statements.
type link interface {
	// show returns the value that the server reports for a session variable.
	show(name string) (any, error)
	script(sql string) error
	prepare(transactions []Transaction, used []int, each bool) error
	begin() error
	commit() error
	// rollback sends ROLLBACK if a transaction is open.
	rollback() error
	execute(call *Call, effect *Effect) (uint64, error)
	// gone reports whether the connection is unusable: closed, or to a server that accepts no more statements.
	gone() bool
	close() error
}

// serverClient opens connections to the hosts of a url. Each connection starts at the next host.
type serverClient struct {
	hosts    []func(context.Context) (link, error)
	settings []Setting
	place    int
}

func (c *serverClient) Session() (Session, error) {
	s := &serverSession{client: c, host: c.place % len(c.hosts)}
	c.place++
	return s, s.open()
}

func (c *serverClient) Close() error { return nil }

// serverSession is a connection that is replaced when it is lost.
type serverSession struct {
	client *serverClient
	host   int // the first to try
	link   link
	// To prepare again on a new connection:
	transactions []Transaction
	used         []int
	each         bool
}

// open tries each host once, starting with the next one in turn.
func (s *serverSession) open() (err error) {
	for range s.client.hosts {
		if err = s.openAt(s.host); err == nil {
			return nil
		}
		s.host = (s.host + 1) % len(s.client.hosts)
	}
	return err
}

func (s *serverSession) openAt(host int) error {
	ctx, cancel := context.WithTimeout(background, connectPatience)
	defer cancel()
	link, err := s.client.hosts[host](ctx)
	if err != nil {
		return err
	}
	for _, setting := range s.client.settings {
		if err := link.script(setting.SQL); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", setting.SQL, err), link.close())
		}
	}
	if s.transactions != nil {
		if err := link.prepare(s.transactions, s.used, s.each); err != nil {
			return errors.Join(err, link.close())
		}
	}
	s.link = link
	return nil
}

// reopen replaces a lost connection, starting with the next host, for up to reopenPatience.
func (s *serverSession) reopen() error {
	// Closing a lost connection may return an error.
	_ = s.link.close()
	s.host = (s.host + 1) % len(s.client.hosts)
	for start := time.Now(); ; time.Sleep(reopenPause) {
		err := s.open()
		if err == nil {
			return nil
		}
		if time.Since(start) > reopenPatience {
			return fmt.Errorf("no connection again within %v: %w", reopenPatience, err)
		}
	}
}

func (s *serverSession) Script(statements []string) error {
	for _, sql := range statements {
		if err := s.link.script(sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}

func (s *serverSession) Settings(names []string) (map[string]any, error) {
	settings := map[string]any{}
	for _, name := range names {
		value, err := s.link.show(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		settings[name] = value
	}
	return settings, nil
}

func (s *serverSession) Prepare(transactions []Transaction, used []int, each bool) error {
	s.transactions, s.used, s.each = transactions, used, each
	return s.link.prepare(transactions, used, each)
}

// Begin sends the same statement for every mode except "none", because a server has only one.
func (s *serverSession) Begin(mode string) error {
	if mode == "none" {
		return nil
	}
	return s.link.begin()
}

func (s *serverSession) Commit() error { return s.link.commit() }

func (s *serverSession) Rollback() error {
	if !s.link.gone() {
		if err := s.link.rollback(); err == nil || !s.link.gone() {
			return err
		}
	}
	return s.reopen()
}

func (s *serverSession) Execute(call *Call, effect *Effect) (uint64, error) {
	return s.link.execute(call, effect)
}

func (s *serverSession) Close() error { return s.link.close() }

// prepareAll prepares the statements of the used transactions, indexed by transaction and statement.
func prepareAll[S any](transactions []Transaction, used []int, prepare func(spec *Statement) (S, error)) ([][]S, error) {
	statements := make([][]S, len(transactions))
	for _, t := range used {
		specs := transactions[t].Statements
		statements[t] = make([]S, len(specs))
		for i := range specs {
			var err error
			if statements[t][i], err = prepare(&specs[i]); err != nil {
				return nil, fmt.Errorf("%s: %w", specs[i].SQL, err)
			}
		}
	}
	return statements, nil
}

// lost is a connection error that has no name of its own.
type lost struct{ error }

func (l lost) Unwrap() error { return l.error }

// connectionCode returns the name of an error that is not an answer of a server.
func connectionCode(err error) (string, bool) {
	var timed interface{ Timeout() bool }
	var operation *net.OpError
	var name *net.DNSError
	var gone lost
	switch {
	case errors.As(err, &name):
		return "CONNECTION_REFUSED", true
	case errors.As(err, &timed) && timed.Timeout():
		return "CONNECTION_TIMEOUT", true
	case errors.As(err, &operation) && operation.Op == "dial":
		return "CONNECTION_REFUSED", true
	case operation != nil, errors.As(err, &gone), errors.Is(err, net.ErrClosed), errors.Is(err, io.ErrUnexpectedEOF):
		return "CONNECTION_LOST", true
	}
	return "", false
}

// printed converts a value printed by a server: to a number if possible.
func printed(text string) any {
	if integer, err := strconv.ParseInt(text, 10, 64); err == nil {
		return integer
	}
	if number, err := strconv.ParseFloat(text, 64); err == nil && strings.ContainsAny(text, "0123456789") {
		return number
	}
	return text
}

// decimal converts a decimal number of any length as SQLite would: to an integer if it is one, otherwise to the nearest
// real.
func decimal(text string) Value {
	whole, fraction, _ := strings.Cut(text, ".")
	if strings.Trim(fraction, "0") == "" {
		if integer, err := strconv.ParseInt(whole, 10, 64); err == nil {
			return Value{Kind: Integer, Integer: integer}
		}
	}
	if number, err := strconv.ParseFloat(text, 64); err == nil {
		return Value{Kind: Real, Real: number}
	}
	return Value{Kind: Text, Text: text}
}
