package terminal

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/musterhq/muster/cli/client"
)

// Audit prints records of the audit log as lines, or as JSON lines.
func (t *Terminal) Audit(ctx context.Context, q client.AuditQuery) error {
	return t.Client.AuditLog().Read(ctx, q, func(r client.AuditRecord) error {
		return t.Report(r, "%s", auditLine(r))
	})
}

// auditLine formats a record as one line.
func auditLine(r client.AuditRecord) string {
	who := cmp.Or(r.KeyID, r.KeyName, "-")
	if r.KeyID != "" && r.KeyName != "" {
		who += " (" + r.KeyName + ")"
	}
	if r.ClaimedKeyID != "" {
		who = "claims " + r.ClaimedKeyID
	}
	parts := []string{
		fmt.Sprintf("%6d  %s  %-10s  %-30s", r.Seq, r.Time.Local().Format(time.DateTime), r.Door, r.Action),
		r.Outcome, who, "from " + cmp.Or(r.Source, "-"),
	}
	if r.Count > 1 {
		parts = append(parts, fmt.Sprintf("%d times", r.Count))
	}
	return strings.Join(append(parts, r.Resources...), "  ")
}
