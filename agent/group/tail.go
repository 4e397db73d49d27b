package group

import (
	"context"
	"errors"
	"slices"

	"github.com/musterhq/muster/agent/logs"
	"github.com/musterhq/muster/hosts/protocol"
)

// tailLines is how many lines the engine is asked for.
const tailLines = 1000

// Tail returns the last bytes that the container of a running game server has written, at
// most so many, and what the containers of its group used lately.
func (i *Instance) Tail(ctx context.Context, processID string, most int) (out protocol.Tailed, err error) {
	v := i.seen.Load()
	at := slices.IndexFunc(v.report.Groups, func(g protocol.GroupStatus) bool { return g.ProcessID == processID && processID != "" })
	if at < 0 {
		return out, errors.New("the process does not run on this host any more")
	}
	name := v.report.Groups[at].Name
	of, ok := v.running[name]
	wanted := slices.IndexFunc(v.desired.Groups, func(g protocol.Group) bool { return g.Name == name })
	if !ok || wanted < 0 {
		return out, errors.New("the containers of the game server do not run now")
	}
	out.Used = of.Used()
	if most == 0 {
		return out, nil
	}
	last := logs.Last{Most: most}
	if err := of.LastLines(ctx, gameOf(v.desired.Groups[wanted]), tailLines, &last); err != nil {
		return out, errors.New("the container engine does not return the output: " + err.Error())
	}
	out.Streams = []protocol.Stream{{Name: logs.Output, Text: last.Bytes()}}
	return out, nil
}
