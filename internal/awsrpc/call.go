package awsrpc

import (
	"context"
	"log/slog"
)

// call is one request on its way.
type call struct {
	id        string
	principal Principal
	attrs     []slog.Attr // added by handlers, for the log record
}

type callKey struct{}

func callFrom(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// Annotate adds attributes to the log record of the request that ctx belongs
// to; outside of a request it does nothing. Only the goroutine that runs the
// handler may call it, before the handler returns.
func Annotate(ctx context.Context, attrs ...slog.Attr) {
	if c := callFrom(ctx); c != nil {
		c.attrs = append(c.attrs, attrs...)
	}
}
