package main

import (
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/mattn/go-sqlite3"
	maragu "maragu.dev/goqite"
)

// goqite is a queue with a visibility timeout. A received task that is not deleted becomes visible again after five
// seconds, up to three times. Failing a task ends the timeout at once and counts as one of the three. The library
// accepts any sql.DB; as in its README this one is mattn's with one connection. It sets no PRAGMA, so mattn's defaults
// apply.
//
// The library leaves its schema to the application.
var goqite = Driver{
	Name:      "goqite",
	Module:    "maragu.dev/goqite",
	Interface: &queueInterface,
	Sharings:  []string{"own-connection", "one-connection"},
	Under:     &mattn,
	Open: func(database *Database, connection *Connection) (Client, error) {
		if database.Kind != "file" {
			return nil, errors.New("a task queue needs a database in a file")
		}
		client := &goqiteClient{}
		options := map[string]any{}
		for key, value := range connection.Options {
			if taken, err := client.take(key, value); err != nil {
				return nil, err
			} else if !taken {
				options[key] = value
			}
		}
		err := refuseUnknown(options, goqiteKeys+" "+mattnKeys+" "+uriKeys)
		client.connector = &connector{&sqlite3.SQLiteDriver{}, dsn(database, options), connection.Settings}
		return client, err
	},
	Code: mattn.Code,
}

// goqiteKeys are the options of the library: the visibility timeout, such as "5s", and the maximum number of receives.
const goqiteKeys = "timeout max_receive"

// goqiteSchema is schema_sqlite.sql of the module; the build of the runner copies it here.
//
//go:embed goqite_schema.sql
var goqiteSchema string

type goqiteClient struct {
	connector *connector
	opts      maragu.NewOpts
}

// take applies an option of the library. taken is false for other options.
func (c *goqiteClient) take(key string, value any) (taken bool, err error) {
	switch key {
	case "timeout":
		c.opts.Timeout, err = time.ParseDuration(fmt.Sprint(value))
	case "max_receive":
		_, err = fmt.Sscan(fmt.Sprint(value), &c.opts.MaxReceive)
	default:
		return false, nil
	}
	if err == nil && (c.opts.Timeout < 0 || c.opts.MaxReceive < 0) {
		err = errors.New("it is negative")
	}
	if err != nil {
		err = fmt.Errorf("option `%s`: %w", key, err)
	}
	return true, err
}

func (c *goqiteClient) Session() (Session, error) {
	db := sql.OpenDB(c.connector)
	db.SetMaxOpenConns(1)
	db.SetMaxIdleConns(1)
	if err := createGoqite(db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	opts := c.opts
	opts.DB, opts.Name = db, "tasks"
	return &queueSession{queue: &goqiteQueue{db, maragu.New(opts)}}, nil
}

// Close does nothing: each session closes its own sql.DB.
func (c *goqiteClient) Close() error { return nil }

// createGoqite creates the tables if they do not exist. The processes of a trial call it one after the other.
func createGoqite(db *sql.DB) error {
	var there bool
	err := db.QueryRowContext(background, "SELECT count(*) > 0 FROM sqlite_schema WHERE name = 'goqite'").Scan(&there)
	if err != nil || there {
		return err
	}
	_, err = db.ExecContext(background, goqiteSchema)
	return err
}

type goqiteQueue struct {
	db    *sql.DB
	queue *maragu.Queue
}

func (g *goqiteQueue) enqueue(payload string, priority int64) error {
	return g.queue.Send(background, maragu.Message{Body: []byte(payload), Priority: int(priority)})
}

func (g *goqiteQueue) claim() (id, payload string, found bool, err error) {
	message, err := g.queue.Receive(background)
	if err != nil || message == nil {
		return "", "", false, err
	}
	return string(message.ID), string(message.Body), true, nil
}

func (g *goqiteQueue) complete(id string) error { return g.queue.Delete(background, maragu.ID(id)) }

func (g *goqiteQueue) fail(id string) error { return g.queue.Extend(background, maragu.ID(id), 0) }

// settings reads the PRAGMAs on the only connection of the library.
func (g *goqiteQueue) settings(names []string) (settings map[string]any, err error) {
	conn, err := g.db.Conn(background)
	if err != nil {
		return nil, err
	}
	settings, err = readBack(conn, names)
	return settings, errors.Join(err, conn.Close())
}

func (g *goqiteQueue) close() error { return g.db.Close() }
