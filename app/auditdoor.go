package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/musterhq/muster/audit"
	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/limit"
)

// auditRecord is a record with its number.
type auditRecord struct {
	Seq uint64 `json:"seq"`
	*audit.Record
}

// auditPage is the answer of GET /admin/v1/audit.
type auditPage struct {
	Records []auditRecord `json:"records"`
	Next    uint64        `json:"next,omitempty"` // where the next page begins; 0: there is none yet
}

// auditDoor answers those who may read the audit log.
func (a *App) auditDoor(callers *callers, answer func(r *http.Request) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := callers.administer(r, nil, auth.ReadAudit)
		var out any
		if err == nil {
			out, err = answer(r)
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		if err != nil {
			limit.Advise(w.Header(), err)
			w.WriteHeader(auditStatus(err))
			out = map[string]string{"message": a.auditMessage(err)}
		}
		json.NewEncoder(w).Encode(out) // a caller who is gone needs no answer
	})
}

func auditStatus(err error) int {
	f, ok := fault.As(err)
	if !ok {
		return http.StatusInternalServerError
	}
	switch f.Kind {
	case fault.MissingAuthentication, fault.InvalidSignature, fault.UnrecognizedClient:
		return http.StatusUnauthorized
	case fault.AccessDenied:
		return http.StatusForbidden
	case fault.InvalidRequest:
		return http.StatusBadRequest
	case fault.Throttling:
		return http.StatusTooManyRequests
	}
	return http.StatusInternalServerError
}

func (a *App) auditMessage(err error) string {
	if f, ok := fault.As(err); ok {
		return f.Message
	}
	a.log.Error("the audit log was not read", "error", err)
	return "internal failure; the log of the server tells why"
}

// readAudit answers ?since=&key=&action=&newest=&limit=&next=.
func (a *App) readAudit(r *http.Request) (any, error) {
	q, err := auditQuery(r.URL.Query(), time.Now())
	if err != nil {
		return nil, err
	}
	entries, err := a.domain.audit.Read(r.Context(), q)
	if err != nil {
		return nil, err
	}
	page := auditPage{Records: []auditRecord{}}
	for _, e := range entries {
		page.Records = append(page.Records, auditRecord{e.Seq, e.Value})
	}
	if len(entries) == q.Limit {
		page.Next = entries[len(entries)-1].Seq
	}
	return page, nil
}

// auditQuery reads what to look for.
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

// verifyAudit walks the chain.
func (a *App) verifyAudit(r *http.Request) (any, error) {
	v, err := a.domain.audit.Verify(r.Context())
	if err != nil {
		return nil, fmt.Errorf("verify the audit log: %w", err)
	}
	return v, nil
}
