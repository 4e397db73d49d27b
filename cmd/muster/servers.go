package main

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/cli/terminal"
)

// serversCommand is `muster admin servers`.
type serversCommand struct{ watchFlags }

// Run lists the servers that share the state.
func (c *serversCommand) Run(t *streams, view *terminal.Terminal) error {
	head := []string{"HOST", "ADDRESS", "ROLE", "RELEASE", "KNOWS LEVEL", "STATE HAS", "SEEN", ""}
	level := 0
	read := func(ctx context.Context) ([]client.Server, error) {
		all, err := view.Client.Servers(ctx)
		level = all.Level
		return all.Servers, err
	}
	return terminal.List(t.ctx, view, read, head, func(s client.Server) []string {
		host, _, _ := strings.Cut(s.Name, "/")
		seen := time.Duration(s.SilentSeconds * float64(time.Second)).Round(time.Second)
		return []string{
			host, cmp.Or(s.Address, "-"), string(s.Role), cmp.Or(s.Release, "unknown"), strconv.Itoa(s.Level), strconv.Itoa(level), seen.String() + " ago", noteOn(s),
		}
	})
}

// noteOn returns what an operator should know about a server, or "".
func noteOn(s client.Server) string {
	var notes []string
	if s.Holds {
		notes = append(notes, "the level of the state waits for it")
	}
	if s.Unsupported != "" {
		notes = append(notes, s.Unsupported)
	}
	return strings.Join(notes, "; ")
}
