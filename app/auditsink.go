package app

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/musterhq/muster/audit"
	"github.com/musterhq/muster/notify"
)

// auditSink returns the sink for records of the audit log, nil for none.
func (o *Options) auditSink() (audit.Sink, error) {
	scheme, _, isURL := strings.Cut(o.AuditSink, "://")
	switch {
	case o.AuditSinkSecret != "" && !isURL:
		return nil, errors.New("audit-sink-secret: it signs requests, so audit-sink must be a URL")
	case o.AuditSink == "":
		return nil, nil
	case !isURL:
		return audit.File(o.AuditSink), nil
	case scheme != "http" && scheme != "https":
		return nil, fmt.Errorf("audit-sink: %s:// is neither http:// nor https://; a file is named without a scheme", scheme)
	}
	receiver := &auditReceiver{url: o.AuditSink}
	return receiver, receiver.sign(o.AuditSinkSecret)
}

// auditReceiver is an audit.Sink that posts records to a URL.
type auditReceiver struct {
	url string
	to  atomic.Pointer[notify.Signed]
}

// sign makes the sink sign later requests with secret, or not at all if it is "".
func (a *auditReceiver) sign(secret string) error {
	var secrets []string
	if secret != "" {
		secrets = []string{secret}
	}
	to, err := notify.NewSigned(a.url, secrets...)
	if err != nil {
		return fmt.Errorf("audit-sink: %w", err)
	}
	a.to.Store(to)
	return nil
}

// Keep implements audit.Sink: records answered with 2xx count as kept.
func (a *auditReceiver) Keep(ctx context.Context, lines []byte, last uint64) error {
	return a.to.Load().Post(ctx, map[string]string{
		"Content-Type": "application/x-ndjson", "Muster-Sequence": strconv.FormatUint(last, 10),
	}, lines)
}

// signAudit makes the sink of the audit log, if it is a URL, sign with another secret.
func (d *domain) signAudit(secret string) error {
	to, ok := d.auditSink.(*auditReceiver)
	if !ok {
		return nil
	}
	return to.sign(secret)
}
