package backend

import (
	"context"
	"time"

	"github.com/musterhq/muster/internal/fault"
)

// finishWithin is the time limit for work that goes on after its client has gone.
const finishWithin = 10 * time.Second

// finishing returns a context for two writes that must not be separated by a client that
// hangs up between them.
func finishing(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), finishWithin)
}

// decided reports whether an error means that nothing was begun. After another error,
// such as a timeout, it may have been, and the watcher finds out.
func decided(err error) bool {
	f, is := fault.As(err)
	return is && f.Kind != fault.InternalService
}
