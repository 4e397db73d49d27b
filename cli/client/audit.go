package client

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"time"

	"github.com/musterhq/muster/audit"
	"github.com/musterhq/muster/internal/wake"
)

// AuditRecord is a record of the audit log with its sequence number.
type AuditRecord = audit.Line

// AuditQuery selects the records to read.
type AuditQuery struct {
	Since, KeyID, Action string        // in the server's format; "" matches everything
	Follow               time.Duration // how long to wait before polling for more; 0 stops at the last record
}

// AuditLog reads and verifies the audit log.
type AuditLog struct{ client *Client }

// AuditLog returns the calls about the audit log.
func (c *Client) AuditLog() AuditLog { return AuditLog{c} }

// Read calls f with each record, oldest first.
func (a AuditLog) Read(ctx context.Context, q AuditQuery, f func(AuditRecord) error) error {
	values := url.Values{"since": {q.Since}, "key": {q.KeyID}, "action": {q.Action}, "limit": {"1000"}}
	for {
		var page struct{ Records []AuditRecord }
		if _, err := a.client.read(ctx, "/admin/v1/audit?"+values.Encode(), &page); err != nil {
			if ctx.Err() != nil && q.Follow > 0 {
				return nil
			}
			return err
		}
		for _, r := range page.Records {
			if err := f(r); err != nil {
				return err
			}
			values.Set("next", strconv.FormatUint(r.Seq, 10))
		}
		switch {
		case len(page.Records) == 1000: // there may be more
		case q.Follow == 0 || !wake.Sleep(ctx, q.Follow):
			return nil
		}
	}
}

// Verify has the server verify the chain; raw is the whole response.
func (a AuditLog) Verify(ctx context.Context) (v audit.Verdict, raw json.RawMessage, err error) {
	raw, err = a.client.read(ctx, "/admin/v1/audit/verify", &v)
	return v, raw, err
}
