package serversdk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/tracing"
	"github.com/musterhq/muster/serversdk/protocol"
)

// call is a request that is being handled.
type call struct {
	*peer
	conn  *conn
	head  protocol.Head
	frame []byte
	span  trace.Span // nil until the request runs
}

// ok returns the start of the answer to a request that succeeded.
func (c *call) ok() protocol.Response {
	return protocol.Response{Action: c.head.Action, RequestID: c.head.RequestID, StatusCode: protocol.StatusOK}
}

// handler executes a request and returns its answer, which is not used if there is an
// error. Errors that are not faults are logged and answered with a fixed text.
type handler func(context.Context, *call) (any, error)

// decoded returns a handler of requests with the members of T.
func decoded[T any](do func(context.Context, *call, T) (any, error)) handler {
	return func(ctx context.Context, c *call) (any, error) {
		in, err := protocol.Decode[T](c.frame)
		if err != nil {
			return nil, err
		}
		return do(ctx, c, in)
	}
}

// required returns an error if a member of a request is empty; pairs are names and values.
func required(pairs ...string) error {
	for pair := range slices.Chunk(pairs, 2) {
		if pair[1] == "" {
			return fault.Invalid("%s: required", pair[0])
		}
	}
	return nil
}

func handlers() map[protocol.Action]handler {
	return map[protocol.Action]handler{
		protocol.ActivateServerProcess:             decoded(activateServerProcess),
		protocol.TerminateServerProcess:            decoded(terminateServerProcess),
		protocol.ActivateGameSession:               decoded(activateGameSession),
		protocol.FinishGameSession:                 decoded(finishGameSession),
		protocol.ReportPlayers:                     decoded(reportPlayers),
		protocol.UpdatePlayerSessionCreationPolicy: decoded(updatePlayerSessionCreationPolicy),
		protocol.AcceptPlayerSession:               decoded(acceptPlayerSession),
		protocol.RemovePlayerSession:               decoded(removePlayerSession),
		protocol.DescribePlayerSessions:            decoded(describePlayerSessions),
		protocol.StartMatchBackfill:                decoded(startMatchBackfill),
		protocol.StopMatchBackfill:                 decoded(stopMatchBackfill),
		protocol.GetComputeCertificate:             getComputeCertificate,
		protocol.GetFleetRoleCredentials:           decoded(getFleetRoleCredentials),
	}
}

// handle answers one frame.
func (c *conn) handle(buf *bytes.Buffer) {
	defer c.ended()
	defer c.s.requests.Done()
	defer c.recycle(buf)
	head, err := protocol.DecodeHead(buf.Bytes())
	if err != nil {
		c.s.metrics.message(otherAction, 0)
		c.s.warnings.Warn(c.peer.key, "frame cannot be answered", "process", c.peer.key, "error", err)
		return
	}
	r := &call{peer: c.peer, conn: c, head: head, frame: buf.Bytes()}
	if !c.peer.mayAsk() {
		frame, _ := r.fail(fault.New(fault.Throttling, "the process sends more than %g requests a second, which is the limit for one; send less, and again after a pause", c.s.opts.MessageRate))
		c.answer(outgoing{frame: frame})
		return
	}
	ctx, cancel := context.WithTimeout(store.WithActor(c.s.ctx, "process/"+c.peer.key), c.s.opts.RequestTimeout)
	defer cancel()
	if head.Action == protocol.HeartbeatServerProcess {
		heartbeat(ctx, r)
		return
	}
	c.answer(outgoing{frame: r.answer(ctx), sent: r.sent})
}

// answer runs the request, or repeats its earlier answer.
func (c *call) answer(ctx context.Context) []byte {
	if c.head.RequestID == "" {
		frame, _ := c.run(ctx)
		return frame
	}
	id := string(c.head.Action) + "/" + c.head.RequestID
	frame := c.once(ctx, id, func() ([]byte, bool) { return c.run(ctx) })
	if frame == nil {
		frame, _ = c.fail(ctx.Err())
	}
	return frame
}

// run executes the request and reports whether its answer is final.
func (c *call) run(ctx context.Context) (frame []byte, final bool) {
	ctx, c.span = tracing.Start(ctx, string(c.label()), trace.SpanKindServer,
		attribute.String("muster.door", "gameserver"), attribute.String("muster.process", c.key))
	defer c.span.End()
	defer func() {
		if p := recover(); p != nil {
			frame, final = c.fail(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	do := c.s.handlers[c.head.Action]
	if do == nil {
		return c.fail(fault.Invalid("Action: %q is no request of Server SDK 5", c.head.Action))
	}
	response, err := do(ctx, c)
	if err != nil {
		return c.fail(err)
	}
	c.s.metrics.message(c.head.Action, protocol.StatusOK)
	return protocol.Encode(response), true
}

// label returns the action's name in metrics.
func (c *call) label() protocol.Action {
	if c.s.handlers[c.head.Action] == nil && c.head.Action != protocol.HeartbeatServerProcess {
		return otherAction
	}
	return c.head.Action
}

// fail returns the answer to a request that was refused or failed. Failures and
// "try again" are not final.
func (c *call) fail(err error) (frame []byte, final bool) {
	status, message := c.status(err)
	c.s.metrics.message(c.label(), status)
	if c.span != nil && status >= 400 {
		c.span.SetAttributes(attribute.String("error.type", strconv.Itoa(status)))
		if status >= 500 {
			c.span.SetStatus(codes.Error, "")
		}
	}
	return protocol.Encode(protocol.ErrorResponse{
		Response:     protocol.Response{Action: c.head.Action, RequestID: c.head.RequestID, StatusCode: status},
		ErrorMessage: message,
	}), status < 500 && status != http.StatusTooManyRequests
}

// status returns the wire form of an error. The SDKs distinguish 400, 401, 403, 404,
// 409 and 429; AWS does not publish when it uses which.
func (c *call) status(err error) (int, string) {
	f, ok := fault.As(err)
	if !ok || f.Kind == fault.InternalService {
		c.s.log.Error("request failed", "action", c.head.Action, "process", c.key, "error", err)
		if errors.Is(err, context.DeadlineExceeded) {
			return http.StatusInternalServerError, "The request was not done in time. Try again."
		}
		return http.StatusInternalServerError, "An internal error occurred."
	}
	switch f.Kind {
	case fault.NotFound:
		return http.StatusNotFound, f.Message
	case fault.Conflict:
		return http.StatusConflict, f.Message
	case fault.Unauthorized, fault.AccessDenied:
		return http.StatusForbidden, f.Message
	case fault.Throttling, fault.LimitExceeded:
		return http.StatusTooManyRequests, f.Message
	}
	return http.StatusBadRequest, f.Message
}

// sent does what must wait until an answer has been written.
func (c *call) sent(err error) {
	if err == nil && c.head.Action == protocol.ActivateServerProcess {
		c.conn.hearAfter(c.s.opts.HearAfter)
	}
}
