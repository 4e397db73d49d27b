package terminal

import (
	"context"
	"fmt"
	"strings"

	"github.com/musterhq/muster/cli/client"
)

// Events prints events as lines, or as JSON lines.
func (t *Terminal) Events(ctx context.Context, q client.EventQuery) error {
	return t.Client.Events(ctx, q, func(e client.Event) error {
		return t.Report(e, "%s", eventLine(e))
	})
}

// eventLine formats an event as one line; the resources that it concerns are ordered
// from fleet to player session.
func eventLine(e client.Event) string {
	parts := []string{fmt.Sprintf("%6d  %s  %-34s", e.Seq, e.Time.Local().Format("15:04:05.000"), e.Code)}
	for _, p := range []struct{ name, value string }{
		{"fleet", e.FleetID}, {"compute", e.ComputeName}, {"process", e.ProcessID},
		{"session", shortID(e.GameSessionID)}, {"player", e.PlayerSessionID},
	} {
		if p.value != "" {
			parts = append(parts, p.name+"="+p.value)
		}
	}
	if e.FleetID == "" && e.Resource != "" {
		parts = append(parts, e.Resource)
	}
	if e.Message != "" {
		parts = append(parts, "– "+e.Message)
	}
	if e.Principal != "" {
		parts = append(parts, "(by "+e.Principal+")")
	}
	return strings.Join(parts, "  ")
}
