package serversdk

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/serversdk/protocol"
)

// Limits of what ProcessReady contains.
const (
	maxPort     = 65535
	maxLogPaths = 100
	maxLogPath  = 1024 // bytes
	maxCrash    = 4096 // bytes of what ProcessEnding says of a crash
)

// activateServerProcess is ProcessReady.
func activateServerProcess(ctx context.Context, c *call, in protocol.ActivateServerProcessRequest) (any, error) {
	if err := checkReady(in); err != nil {
		return nil, err
	}
	err := c.s.opts.Computes.Ready(ctx, compute.ReadyInput{
		Ref: c.ref(), Port: in.Port, LogPaths: in.LogPaths,
		SDK: compute.SDK{
			Version: cut(in.SDKVersion), Language: cut(in.SDKLanguage),
			ToolName: cut(in.SDKToolName), ToolVersion: cut(in.SDKToolVersion),
		},
	})
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.health.heard = time.Now()
	return c.ok(), nil
}

// checkReady enforces the limits of ProcessReady. Port 0, no port for players, is
// allowed, since the C++ SDK allows it.
func checkReady(in protocol.ActivateServerProcessRequest) error {
	if in.Port < 0 || in.Port > maxPort {
		return fault.Invalid("Port: must be 0 to %d", maxPort)
	}
	if len(in.LogPaths) > maxLogPaths {
		return fault.Invalid("LogPaths: has %d entries; at most %d are allowed", len(in.LogPaths), maxLogPaths)
	}
	for i, path := range in.LogPaths {
		if len(path) > maxLogPath {
			return fault.Invalid("LogPaths.%d: has %d bytes; at most %d are allowed", i+1, len(path), maxLogPath)
		}
	}
	return nil
}

// hearAfter makes the process count as hearing if the connection is still open after a
// while.
func (c *conn) hearAfter(wait time.Duration) {
	time.AfterFunc(wait, func() {
		if !c.isOpen() || !c.s.begin() {
			return
		}
		defer c.s.requests.Done()
		c.peer.hear(c.s.ctx)
	})
}

func (c *conn) isOpen() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.closed
}

// heartbeat answers without the store, and then acts on the report. The report is recorded
// before the answer, so that reports of a process that waits for answers count in order.
func heartbeat(ctx context.Context, c *call) {
	in, err := protocol.Decode[protocol.HeartbeatServerProcessRequest](c.frame)
	if err != nil {
		frame, _ := c.fail(err)
		c.conn.answer(outgoing{frame: frame})
		return
	}
	c.mu.Lock()
	unhealthy := c.health.report(time.Now(), in.HealthStatus)
	c.mu.Unlock()
	c.conn.answer(outgoing{frame: protocol.Encode(c.ok())})
	c.s.metrics.message(c.head.Action, http.StatusOK)
	c.s.metrics.heartbeats.WithLabelValues(strconv.FormatBool(in.HealthStatus)).Inc()
	c.hear(ctx)
	if unhealthy {
		c.giveUp(ctx, fmt.Sprintf("the process reported ill health %d times in a row", maxIll))
	}
}

// terminateServerProcess is ProcessEnding. The socket stays open until the process
// closes it, because the process still waits for the answer.
func terminateServerProcess(ctx context.Context, c *call, in protocol.TerminateServerProcessRequest) (any, error) {
	if len(in.Crash) > maxCrash {
		return nil, fault.Invalid("Crash: has %d bytes; at most %d are allowed", len(in.Crash), maxCrash)
	}
	if in.Crash != "" {
		return c.ok(), c.s.opts.Computes.Exited(ctx, c.ref(), in.Crash)
	}
	err := c.s.opts.Computes.End(ctx, c.ref())
	if fault.Is(err, fault.NotFound) { // an ended process may repeat it
		err = nil
	}
	return c.ok(), err
}
