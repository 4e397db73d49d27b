package backend

import (
	"context"
	"time"

	"github.com/musterhq/muster/internal/fault"
)

// finishWithin bounds what goes on though its client has gone.
const finishWithin = 10 * time.Second

// finishing is for what takes two writes: a client that hangs up between them
// must not leave one without the other.
func finishing(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), finishWithin)
}

// decided tells whether an error says that nothing was begun. After others, such
// as the end of our patience, it may have been: the watcher finds out.
func decided(err error) bool {
	f, is := fault.As(err)
	return is && f.Kind != fault.InternalService
}
