package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// inspect opens connections as an application would and reports the settings in effect. All connections are open at the
// same time, as in the pool of the application.
func inspect(input io.Reader) (*Inspection, error) {
	text, err := readLine(bufio.NewReader(input))
	if err != nil {
		return nil, err
	}
	request := &Inspect{}
	if err := decode(text, request); err != nil {
		return nil, fmt.Errorf("not an inspect request: %w", err)
	}
	if request.Protocol != Version {
		return nil, fmt.Errorf("protocol %d is not %d", request.Protocol, Version)
	}
	driver, err := driverNamed(request.Driver)
	if err != nil {
		return nil, err
	}
	if request.DSN != nil {
		return inspectDSN(driver, request)
	}
	database := &Database{Kind: "file", Path: request.Database}
	if err := driver.fits(database); err != nil {
		return nil, err
	}
	client, err := driver.Open(database, &Connection{request.Settings, request.ReadBack, request.Options})
	if err != nil {
		return nil, err
	}
	answer := &Inspection{Connections: []ConnectionSettings{}}
	var open []Session
	for range request.Connections {
		session, err := client.Session()
		if err != nil {
			return nil, err
		}
		open = append(open, session)
		settings, err := session.Settings(request.ReadBack)
		if err != nil {
			return nil, err
		}
		answer.Connections = append(answer.Connections, ConnectionSettings{0, "connection", settings})
	}
	for _, session := range open {
		err = errors.Join(err, session.Close())
	}
	return answer, errors.Join(err, client.Close())
}
