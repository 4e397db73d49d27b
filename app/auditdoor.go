package app

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/musterhq/muster/admin"
	"github.com/musterhq/muster/audit"
	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/internal/fault"
)

// auditPage is the answer of GET /admin/v1/audit.
type auditPage struct {
	Records []audit.Line `json:"records"`
	Next    uint64       `json:"next,omitempty"` // where the next page begins; 0: there is none yet
}

// auditRoutes adds reading the audit log to the door for administrators.
func (d *domain) auditRoutes(to *admin.Door) {
	to.Handle("GET /admin/v1/audit", auth.ReadAudit, d.readAudit)
	to.Handle("GET /admin/v1/audit/verify", auth.ReadAudit, d.verifyAudit)
}

// readAudit answers ?since=&key=&action=&newest=&limit=&next=.
func (d *domain) readAudit(r *http.Request, _ []byte) (any, error) {
	q, err := auditQuery(r.URL.Query(), time.Now())
	if err != nil {
		return nil, err
	}
	entries, err := d.audit.Read(r.Context(), q)
	if err != nil {
		return nil, err
	}
	page := auditPage{Records: []audit.Line{}}
	for _, e := range entries {
		page.Records = append(page.Records, audit.Line{Seq: e.Seq, Record: *e.Value})
	}
	if len(entries) == q.Limit {
		page.Next = entries[len(entries)-1].Seq
	}
	return page, nil
}

// auditQuery parses the query.
func auditQuery(v url.Values, now time.Time) (q audit.Query, err error) {
	q = audit.Query{KeyID: v.Get("key"), Action: v.Get("action"), Newest: v.Get("newest") == "true", Limit: 100}
	if text := v.Get("since"); text != "" {
		if ago, err := time.ParseDuration(text); err == nil {
			q.Since = now.Add(-ago)
		} else if q.Since, err = time.Parse(time.RFC3339, text); err != nil {
			return q, fault.Invalid("since: %q is neither a duration such as 24h nor a time such as 2026-01-31T00:00:00Z", text)
		}
	}
	if text := v.Get("limit"); text != "" {
		if q.Limit, err = strconv.Atoi(text); err != nil || q.Limit < 1 || q.Limit > 1000 {
			return q, fault.Invalid("limit: %q is no number from 1 to 1000", text)
		}
	}
	if text := v.Get("next"); text != "" {
		if q.After, err = strconv.ParseUint(text, 10, 64); err != nil {
			return q, fault.Invalid("next: %q is not what a page before ended with", text)
		}
	}
	return q, nil
}

// verifyAudit checks the chain of records.
func (d *domain) verifyAudit(r *http.Request, _ []byte) (any, error) {
	v, err := d.audit.Verify(r.Context())
	if err != nil {
		return nil, fmt.Errorf("verify the audit log: %w", err)
	}
	return v, nil
}
