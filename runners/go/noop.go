package main

// noop is a driver without a database. Its figures show the overhead of the runner.
var noop = Driver{
	Name: "noop",
	Open: func(_ *Database, connection *Connection) (Client, error) {
		return noopClient{}, refuseUnknown(connection.Options, "")
	},
	Code: func(error) (string, bool) { return "", false },
}

type noopClient struct{}

func (noopClient) Session() (Session, error) { return &noopSession{}, nil }
func (noopClient) Close() error              { return nil }

// noopSession answers every statement with one row of no columns, so that no transaction ends empty.
type noopSession struct{ bound Value }

func (*noopSession) Script([]string) error                    { return nil }
func (*noopSession) Prepare([]Transaction, []int, bool) error { return nil }
func (*noopSession) Begin(string) error                       { return nil }
func (*noopSession) Commit() error                            { return nil }
func (*noopSession) Rollback() error                          { return nil }
func (*noopSession) Close() error                             { return nil }

func (*noopSession) Settings(names []string) (map[string]any, error) {
	settings := map[string]any{}
	for _, name := range names {
		settings[name] = nil
	}
	return settings, nil
}

func (s *noopSession) Execute(call *Call, effect *Effect) (uint64, error) {
	for i := range call.Slots {
		s.bound = *call.Slots[i].bound(effect.Yielded)
	}
	if call.Timed {
		effect.Query, effect.FirstRow = call.Clock.now(), call.Clock.now()
	}
	return 1, nil
}
