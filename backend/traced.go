package backend

import (
	"context"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// otherMessage is the name of the spans of messages whose type no client should send: what
// players make up is not repeated.
const otherMessage = "_OTHER"

// traced executes a message in a span of its own. Pings have none, like the heartbeats of
// game servers.
func (c *socket) traced(m *protocol.Message) outgoing {
	ctx := context.Background()
	if c.spans == nil || m.Type == protocol.MessagePing {
		return c.handle(ctx, m)
	}
	name := otherMessage
	switch m.Type {
	case protocol.MessageAuth, protocol.MessageStart, protocol.MessageCancel, protocol.MessageAccept:
		name = m.Type
	}
	ctx, span := c.spans.Message(ctx, name, attribute.String("muster.door", "player"),
		attribute.String("rpc.method", name), attribute.String("network.protocol.name", "websocket"))
	defer span.End()
	out := c.handle(ctx, m)
	if p, ok := out.Data.(*protocol.Problem); ok {
		failed(span, p)
	}
	return out
}

// failed describes a message that was refused, or failed.
func failed(span trace.Span, p *protocol.Problem) {
	span.SetAttributes(attribute.String("error.type", p.Code), attribute.String("aws.request_id", strings.TrimPrefix(p.Instance, "urn:uuid:")))
	if p.Status >= 500 {
		span.SetStatus(codes.Error, "")
	}
}
