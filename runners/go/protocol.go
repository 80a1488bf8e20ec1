package main

import "encoding/json"

// Version of the protocol that this runner implements.
const Version = 3

// The messages of docs/reference/protocol.md, with the fields of crates/protocol/schema/*.json. If a schema has one form per
// kind, the struct here has the fields of all kinds.

// Trial contains everything needed to run one trial.
type Trial struct {
	Protocol       uint32        `json:"protocol"`
	ID             string        `json:"id"`
	Driver         string        `json:"driver"`
	Executor       string        `json:"executor"`
	Sharing        Sharing       `json:"sharing"`
	Databases      []Database    `json:"databases"`
	Connection     Connection    `json:"connection"`
	Prepare        string        `json:"prepare"` // once, each
	Retry          Retry         `json:"retry"`
	Seed           uint64        `json:"seed"`
	Transactions   []Transaction `json:"transactions"`
	Roles          []Role        `json:"roles"`
	WarmupMs       int64         `json:"warmup_ms"`
	DrainMs        int64         `json:"drain_ms"`
	TickMs         int64         `json:"tick_ms"`
	ProbeMs        int64         `json:"probe_ms"`
	RuntimeThreads *int          `json:"runtime_threads"`
}

type Sharing struct {
	Kind        string `json:"kind"` // own-connection, one-connection, pool, app-lock, writer-readers
	Connections int    `json:"connections"`
	Readers     int    `json:"readers"`
}

type Database struct {
	Kind     string   `json:"kind"` // file, memory, server
	Path     string   `json:"path"`
	Shared   bool     `json:"shared"`
	Name     string   `json:"name"`
	Setup    []string `json:"setup"`
	Teardown []string `json:"teardown"`
	URL      string   `json:"url"`
	Schema   string   `json:"schema"`

	place int // not part of the message: index of the host at which a connection starts
}

type Connection struct {
	Settings []Setting      `json:"settings"`
	ReadBack []string       `json:"read_back"`
	Options  map[string]any `json:"options"`
}

type Setting struct {
	Name string `json:"name"`
	SQL  string `json:"sql"`
}

type Retry struct {
	Attempts     int      `json:"attempts"`
	BackoffUs    int64    `json:"backoff_us"`
	Multiplier   float64  `json:"multiplier"`
	MaxBackoffUs int64    `json:"max_backoff_us"`
	On           []string `json:"on"`
}

type Transaction struct {
	Name       string      `json:"name"`
	Begin      string      `json:"begin"` // none, deferred, immediate, exclusive
	Writes     bool        `json:"writes"`
	HoldUs     int64       `json:"hold_us"`
	TimedRows  bool        `json:"timed_rows"`
	Params     []Param     `json:"params"`
	Statements []Statement `json:"statements"`
}

type Statement struct {
	SQL      string   `json:"sql"`
	Bind     []int    `json:"bind"`
	Tuples   int      `json:"tuples"`
	Repeat   int      `json:"repeat"`
	Fetch    string   `json:"fetch"` // none, first, all, buffer
	Work     Work     `json:"work"`
	Yields   []string `json:"yields"`
	Required bool     `json:"required"`
	HoldUs   int64    `json:"hold_us"`
}

type Work struct {
	Kind  string `json:"kind"` // none, read, verify
	Value string `json:"value"`
	Hash  string `json:"hash"`
}

type Param struct {
	Name   string `json:"name"`
	Source Source `json:"source"`
}

type Source struct {
	Kind     string            `json:"kind"`
	Value    json.RawMessage   `json:"value"`
	Values   []json.RawMessage `json:"values"`
	Low      json.RawMessage   `json:"low"` // an integer for `uniform`, a list for `table`
	High     int64             `json:"high"`
	Cut      []uint64          `json:"cut"`
	Width    []uint64          `json:"width"`
	Start    int64             `json:"start"`
	Step     int64             `json:"step"`
	Bytes    int               `json:"bytes"`
	Chars    int               `json:"chars"`
	Param    int               `json:"param"`
	Unit     string            `json:"unit"` // s, ms, us, iso
	Template string            `json:"template"`
	Name     string            `json:"name"`
}

type Role struct {
	Name          string `json:"name"`
	Workers       int    `json:"workers"`
	FirstWorker   int    `json:"first_worker"`
	FirstInRole   uint64 `json:"first_in_role"`
	WorkersInRole uint64 `json:"workers_in_role"`
	Order         string `json:"order"` // cycle, weighted
	Steps         []Step `json:"steps"`
	Load          Load   `json:"load"`
	Until         Until  `json:"until"`
}

type Step struct {
	Transaction int    `json:"transaction"`
	Weight      uint64 `json:"weight"`
	Stride      uint64 `json:"stride"`
	Offset      uint64 `json:"offset"`
}

type Load struct {
	Kind     string  `json:"kind"` // closed, open
	ThinkUs  int64   `json:"think_us"`
	Rate     float64 `json:"rate"`
	Arrivals string  `json:"arrivals"` // constant, poisson
}

type Until struct {
	Kind         string `json:"kind"` // count, time, role
	Transactions uint64 `json:"transactions"`
	Ms           int64  `json:"ms"`
	Name         string `json:"name"`
}

// Inspect requests the settings in effect on connections opened as an application would open them.
type Inspect struct {
	Protocol    uint32         `json:"protocol"`
	Driver      string         `json:"driver"`
	Database    string         `json:"database"`
	Connections int            `json:"connections"`
	Options     map[string]any `json:"options"`
	Settings    []Setting      `json:"settings"`
	ReadBack    []string       `json:"read_back"`
	// DSN is the complete data source name in the driver's own syntax; nil to compose it from Database and Options.
	DSN *string `json:"dsn,omitempty"`
}

type Inspection struct {
	Connections []ConnectionSettings `json:"connections"`
	Upgrade     string               `json:"upgrade,omitempty"`  // empty if it was not tried
	Replaced    *ConnectionSettings  `json:"replaced,omitempty"` // nil without a pool of database/sql
}

type ConnectionSettings struct {
	Database int            `json:"database"`
	Label    string         `json:"label"`
	Settings map[string]any `json:"settings"`
}

type Ready struct {
	Type        string               `json:"type"`
	Connections []ConnectionSettings `json:"connections"`
}

type Tick struct {
	Type   string      `json:"type"`
	TMs    int64       `json:"t_ms"`
	Counts []TickCount `json:"counts"`
	LagNs  *int64      `json:"lag_ns,omitempty"`
}

type TickCount struct {
	Role        string `json:"role"`
	Transaction string `json:"transaction"`
	Counts
}

type Counts struct {
	Committed uint64 `json:"committed"`
	Empty     uint64 `json:"empty"`
	Failed    uint64 `json:"failed"`
	Errors    uint64 `json:"errors"`
	Busy      uint64 `json:"busy"`
}

type Result struct {
	Type       string         `json:"type"`
	ElapsedNs  int64          `json:"elapsed_ns"`
	MeasuredNs int64          `json:"measured_ns"`
	Operations []Operation    `json:"operations"`
	Workers    []WorkerResult `json:"workers"`
	// Timers are the lateness of the probe's timer and the waits of the scheduler; empty without a probe.
	Timers map[string]*Histogram `json:"timers,omitempty"`
	// Connections are those of Ready with their settings after all workers have ended; empty if a transaction is
	// unfinished.
	Connections []ConnectionSettings `json:"connections,omitempty"`
}

type Operation struct {
	Role        string                `json:"role"`
	Transaction string                `json:"transaction"`
	Committed   uint64                `json:"committed"`
	Empty       uint64                `json:"empty"`
	Failed      uint64                `json:"failed"`
	Ended       uint64                `json:"ended"`
	Measured    uint64                `json:"measured"`
	Rows        uint64                `json:"rows"`
	Counters    map[string]uint64     `json:"counters,omitempty"`
	Errors      map[string]ErrorCount `json:"errors"`
	Unserved    uint64                `json:"unserved"`
	Unfinished  []Unfinished          `json:"unfinished"`
	Service     *Histogram            `json:"service"`
	Timers      map[string]*Histogram `json:"timers,omitempty"`
}

// Unfinished is a transaction that was still running when the drain had passed, with its age in nanoseconds.
type Unfinished struct {
	ServiceNs  int64  `json:"service_ns"`
	ResponseNs *int64 `json:"response_ns"`
}

type ErrorCount struct {
	Seen  uint64 `json:"seen"`
	Cured uint64 `json:"cured"`
	// Message is the database's message of the first of these errors, on one line.
	Message string `json:"message,omitempty"`
}

type WorkerResult struct {
	Role      string `json:"role"`
	Worker    int    `json:"worker"`
	Database  int    `json:"database"`
	Committed uint64 `json:"committed"`
	Ended     uint64 `json:"ended"`
	InsideNs  int64  `json:"inside_ns"`
	OutsideNs int64  `json:"outside_ns"`
	StallNs   int64  `json:"stall_ns"`
}

type Failed struct {
	Type   string  `json:"type"`
	Reason string  `json:"reason"`
	Code   *string `json:"code"`
}

type Description struct {
	Protocol uint32              `json:"protocol"`
	Runner   string              `json:"runner"`
	Language string              `json:"language"`
	Runtime  string              `json:"runtime"`
	Drivers  []DriverDescription `json:"drivers"`
}

type DriverDescription struct {
	Name      string       `json:"name"`
	Version   string       `json:"version"`
	SQLite    *SQLiteBuild `json:"sqlite"`
	Sharings  []string     `json:"sharings"`
	Executors []string     `json:"executors"`
	Interface *Interface   `json:"interface,omitempty"`
	Dialect   string       `json:"dialect,omitempty"` // sqlite if absent
}

// Interface is what a library offers in place of SQL.
type Interface struct {
	Name       string               `json:"name"`
	Operations []InterfaceOperation `json:"operations"`
}

type InterfaceOperation struct {
	Name      string   `json:"name"`
	Arguments []string `json:"arguments"`
	Columns   []string `json:"columns"`
	Writes    bool     `json:"writes"`
}

type SQLiteBuild struct {
	Version        string   `json:"version"`
	SourceID       string   `json:"source_id"`
	CompileOptions []string `json:"compile_options"`
}
