package agent

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/musterhq/muster/agent/link"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/tracing"
	"github.com/musterhq/muster/internal/wake"
)

const (
	maxUploads  = 5 // archives packed and sent at the same time
	uploadTries = 5
)

// uploads collect the logs of ended processes and send them to Muster.
type uploads struct {
	server *server
	log    *slog.Logger
	root   string                   // for archives that are being sent
	slots  chan struct{}            // holds a value for each archive being packed and sent
	done   chan protocol.LogsStored // results for the link to send
	busy   sync.Map                 // ids of processes whose logs are being collected
}

func newUploads(s *server, root string, log *slog.Logger) *uploads {
	return &uploads{server: s, log: log, root: root, slots: make(chan struct{}, maxUploads), done: make(chan protocol.LogsStored, 64)}
}

// collect packs the logs of a process and sends them in another goroutine. If i is nil,
// there are none.
func (u *uploads) collect(ctx context.Context, i member, c protocol.Collect) {
	result := protocol.LogsStored{InstanceID: c.InstanceID, ProcessID: c.ProcessID}
	if i == nil {
		result.Problem = "the instance is gone, and its logs with it"
		go u.tell(ctx, result)
		return
	}
	if _, busy := u.busy.LoadOrStore(c.ProcessID, true); busy {
		return // Muster asks again on each connection; the result of the first request suffices
	}
	go func() { // Run does not wait for it: if the agent ends first, Muster asks again
		u.slots <- struct{}{}
		defer func() { <-u.slots }()
		defer u.busy.Delete(c.ProcessID)
		ctx, span := tracing.Start(ctx, "upload logs", trace.SpanKindInternal,
			attribute.String("muster.instance.id", c.InstanceID), attribute.String("muster.process.id", c.ProcessID))
		var err error
		defer func() { tracing.End(span, err) }()
		if result.Bytes, err = u.ship(ctx, i, c); err != nil {
			u.log.Warn("logs not sent", "instance", c.InstanceID, "process_id", c.ProcessID, "error", err)
			result.Problem = err.Error()
		}
		u.tell(ctx, result)
	}()
}

// tell sends a result over the link. It waits at most a minute for one.
func (u *uploads) tell(ctx context.Context, result protocol.LogsStored) {
	late := time.NewTimer(time.Minute)
	defer late.Stop()
	select {
	case u.done <- result:
	case <-late.C: // Muster asks again
	case <-ctx.Done():
	}
}

// ship packs and sends the logs of a process, and then removes its own log folder.
func (u *uploads) ship(ctx context.Context, i member, c protocol.Collect) (int64, error) {
	file, err := os.CreateTemp(u.root, "logs-*.zip")
	if err != nil {
		return 0, fmt.Errorf("pack logs: %w", err)
	}
	defer os.Remove(file.Name())
	defer file.Close()
	if err := i.PackLogs(file, c); err != nil {
		return 0, fmt.Errorf("pack logs: %w", err)
	}
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, fmt.Errorf("pack logs: %w", err)
	}
	wait := link.FirstWait
	for try := 1; ; try++ {
		err := u.server.putLogs(ctx, c, file, size)
		if err == nil {
			return size, i.DropLogs(c.ProcessID)
		}
		if try == uploadTries || !wake.Sleep(ctx, link.Jitter(wait)) {
			return 0, err
		}
		wait = link.Longer(wait)
	}
}
