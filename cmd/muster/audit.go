package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/musterhq/muster/audit"
	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/cli/terminal"
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
func (c *listAuditCommand) Run(t *streams, view *terminal.Terminal) error {
	q := client.AuditQuery{Since: c.Since, KeyID: c.Key, Action: c.Action}
	if c.Follow {
		q.Follow = time.Second
	}
	return view.Audit(t.ctx, q)
}

type verifyAuditCommand struct {
	lookFlags
	File []string `placeholder:"FILE" help:"Check what an audit sink, or 'muster admin audit -o json', wrote, instead of asking a server; several files are one log."`
}

// Run checks the chain. It fails on a break.
func (c *verifyAuditCommand) Run(t *streams) error {
	v, raw, err := c.verify(t)
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

// verify makes the server check its chain, or checks that of files.
func (c *verifyAuditCommand) verify(t *streams) (v audit.Verdict, raw json.RawMessage, err error) {
	if len(c.File) == 0 {
		api, err := c.ProvideClient()
		if err != nil {
			return v, nil, err
		}
		return api.AuditLog().Verify(t.ctx)
	}
	var files []io.Reader
	for _, name := range c.File {
		f, err := os.Open(name)
		if err != nil {
			return v, nil, err
		}
		defer f.Close()
		files = append(files, f)
	}
	if v, err = audit.VerifyExport(files...); err != nil {
		return v, nil, fmt.Errorf("%s: %w", strings.Join(c.File, ", "), err)
	}
	raw, err = json.Marshal(v)
	return v, raw, err
}
