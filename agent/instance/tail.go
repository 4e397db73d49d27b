package instance

import (
	"context"
	"errors"

	"github.com/musterhq/muster/agent/logs"
	"github.com/musterhq/muster/hosts/protocol"
)

// errNotHere is the error about a process that does not run in an instance.
var errNotHere = errors.New("the process does not run on this host any more")

// Tail returns the last bytes of a running process's output and errors, at most so many of
// each, and what it used lately.
func (i *Instance) Tail(_ context.Context, processID string, most int) (out protocol.Tailed, err error) {
	at := i.slots.find(processID)
	if at == nil {
		return out, errNotHere
	}
	r, ok := at.supervisor.Running()
	if !ok || r.ID != processID {
		return out, errNotHere
	}
	if i.m.Used != nil {
		out.Used = i.m.Used(r.PID)
	}
	if most == 0 {
		return out, nil
	}
	for _, of := range []struct{ name, path string }{{logs.Output, r.Stdout}, {logs.Errors, r.Stderr}} {
		text, size, err := logs.Tail(of.path, most)
		if err != nil {
			i.log.Warn("the end of a process's log cannot be read", "process_id", processID, "error", err)
			return out, errors.New("the log cannot be read; the log of the agent has the cause")
		}
		out.Streams = append(out.Streams, protocol.Stream{Name: of.name, Text: text, End: size})
	}
	return out, nil
}
