package app

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

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
	var secrets []string
	if o.AuditSinkSecret != "" {
		secrets = []string{o.AuditSinkSecret}
	}
	to, err := notify.NewSigned(o.AuditSink, secrets...)
	if err != nil {
		return nil, fmt.Errorf("audit-sink: %w", err)
	}
	return auditReceiver{to}, nil
}

// auditReceiver is an audit.Sink that posts records to a URL.
type auditReceiver struct{ to *notify.Signed }

// Keep implements audit.Sink: records answered with 2xx count as kept.
func (a auditReceiver) Keep(ctx context.Context, lines []byte, last uint64) error {
	return a.to.Post(ctx, map[string]string{
		"Content-Type": "application/x-ndjson", "Muster-Sequence": strconv.FormatUint(last, 10),
	}, lines)
}
