package client

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"time"
)

// AuditRecord is a record of the audit log (audit.Record) with its sequence number.
type AuditRecord struct {
	Seq          uint64    `json:"seq"`
	Time         time.Time `json:"time"`
	Door         string    `json:"door"`
	Action       string    `json:"action"`
	Resources    []string  `json:"resources,omitempty"`
	KeyID        string    `json:"key_id,omitempty"`
	KeyName      string    `json:"key_name,omitempty"`
	Role         string    `json:"role,omitempty"`
	ClaimedKeyID string    `json:"claimed_key_id,omitempty"`
	Source       string    `json:"source,omitempty"`
	UserAgent    string    `json:"user_agent,omitempty"`
	RequestID    string    `json:"request_id,omitempty"`
	Outcome      string    `json:"outcome"`
	Count        int       `json:"count,omitempty"`
	Previous     string    `json:"previous"`
}

// AuditQuery selects the records to read.
type AuditQuery struct {
	Since, KeyID, Action string        // in the server's format; "" matches everything
	Follow               time.Duration // how long to wait before polling for more; 0 stops at the last record
}

// Audit calls f with each record, oldest first.
func (c *Client) Audit(ctx context.Context, q AuditQuery, f func(AuditRecord) error) error {
	values := url.Values{"since": {q.Since}, "key": {q.KeyID}, "action": {q.Action}, "limit": {"1000"}}
	for {
		var page struct{ Records []AuditRecord }
		if _, err := c.query(ctx, "/admin/v1/audit", values, &page); err != nil {
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
		case q.Follow == 0 || !wait(ctx, q.Follow):
			return nil
		}
	}
}

// AuditVerdict is the result of verifying the chain of records (audit.Verdict).
type AuditVerdict struct {
	Records uint64 `json:"records"`
	From    uint64 `json:"from"`
	Last    uint64 `json:"last"`
	Hash    string `json:"hash"`
	Problem string `json:"problem,omitempty"`
}

// VerifyAudit has the server verify the chain; raw is the whole response.
func (c *Client) VerifyAudit(ctx context.Context) (v AuditVerdict, raw json.RawMessage, err error) {
	raw, err = c.read(ctx, "/admin/v1/audit/verify", &v)
	return v, raw, err
}
