package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/musterhq/muster/console/client"
	"github.com/musterhq/muster/console/terminal"
	"github.com/musterhq/muster/internal/plain"
)

// auditCommand is `muster admin audit`.
type auditCommand struct {
	List   listAuditCommand   `cmd:"" default:"withargs" help:"Show who asked for what."`
	Verify verifyAuditCommand `cmd:"" help:"Check that no record was removed or changed."`
}

type listAuditCommand struct {
	lookFlags
	Since  string `placeholder:"TIME" help:"Only records since a time (2026-01-31T00:00:00Z), or of the last so long (24h)."`
	Key    string `placeholder:"ID" help:"Only requests with this access key."`
	Action string `placeholder:"NAME" help:"Only this action, such as DeleteFleet or muster:ManageKeys."`
	Follow bool   `short:"f" help:"Go on with new records until stopped."`
}

// Run shows the audit log, oldest first.
func (c *listAuditCommand) Run(t *streams) error {
	view, err := c.terminal(t)
	if err != nil {
		return err
	}
	q := client.AuditQuery{Since: c.Since, KeyID: c.Key, Action: c.Action}
	if c.Follow {
		q.Follow = time.Second
	}
	return view.Audit(t.ctx, q)
}

type verifyAuditCommand struct{ lookFlags }

// Run has the server walk the chain; a break makes it fail.
func (c *verifyAuditCommand) Run(t *streams) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	v, raw, err := api.VerifyAudit(t.ctx)
	if err != nil {
		return err
	}
	switch {
	case c.json():
		err = terminal.WriteJSON(t.out, raw)
	case v.Problem == "":
		_, err = fmt.Fprintf(t.out, "%d records, from %d to %d, are as they were written; the last one's SHA-256 is %s\n", v.Records, v.From, v.Last, plain.Line(v.Hash))
	}
	if err == nil && v.Problem != "" {
		err = errors.New("the audit log is not as it was written: " + plain.Line(v.Problem))
	}
	return err
}
