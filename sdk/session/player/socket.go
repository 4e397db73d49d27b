package player

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/sdk/session"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// Constants of the WebSocket, from the API description and docs/players.md.
const (
	silentFor   = 50 * time.Second // the server pings every 20 s
	writeWithin = 5 * time.Second
	firstLook   = "first"
)

// line is a WebSocket that resumes where it was interrupted.
type line struct {
	c      *Client
	cursor string                                               // of the last message received; "" begins with the present state
	over   func() bool                                          // reports whether there is nothing more to follow
	take   func(ctx context.Context, m *protocol.Message) error // handles messages not about the connection; the first pong follows everything known by then

	// replaced: the player opened too many newer connections. It is not opened again, since
	// that would end one of those.
	replaced bool
}

// errNoSocket reports that no push is available.
var errNoSocket = errors.New("there is no push")

// dial opens the WebSocket, retrying once with a new token if the first is refused.
func (l *line) dial(ctx context.Context) (*websocket.Conn, error) {
	at, err := url.Parse(l.c.account.base + "/ws?resume=" + url.QueryEscape(l.cursor))
	if err != nil {
		return nil, err
	}
	at.Scheme = "ws" + at.Scheme[len("http"):]
	stale := ""
	for {
		token, err := l.c.account.access(ctx, stale)
		if err != nil {
			return nil, err
		}
		ws, response, err := l.c.dialer.DialContext(ctx, at.String(), http.Header{"Authorization": {"Bearer " + token}})
		switch {
		case err == nil:
			return ws, nil
		case response == nil:
			return nil, fmt.Errorf("%w: %w", session.ErrUnavailable, err)
		case response.StatusCode == http.StatusUnauthorized && stale == "":
			stale = token
		default:
			return nil, fmt.Errorf("%w: the WebSocket was answered with %s", errNoSocket, response.Status)
		}
	}
}

// run handles messages until over reports true, the connection ends or ctx does. It
// returns nil if the server closed the connection in order.
func (l *line) run(ctx context.Context) error {
	if l.c.noSocket || l.replaced {
		return errNoSocket
	}
	ws, err := l.dial(ctx)
	if err != nil {
		return err
	}
	defer ws.Close()
	stop := context.AfterFunc(ctx, func() { ws.Close() })
	defer stop()
	pinged := ws.PingHandler()
	ws.SetPingHandler(func(data string) error {
		ws.SetReadDeadline(time.Now().Add(silentFor))
		return pinged(data)
	})
	if err := say(ws, &protocol.Message{Type: protocol.MessagePing, ID: firstLook}); err != nil {
		return err
	}
	for told := false; !l.over(); told = true {
		ws.SetReadDeadline(time.Now().Add(silentFor))
		var m protocol.Message
		if err := ws.ReadJSON(&m); err != nil {
			if websocket.IsCloseError(err, websocket.CloseGoingAway) && told {
				return nil
			}
			l.replaced = websocket.IsCloseError(err, protocol.CloseReplaced)
			return fmt.Errorf("%w: the push ended: %w", session.ErrUnavailable, err)
		}
		if err := l.hear(ctx, ws, &m); err != nil {
			return err
		}
	}
	return nil
}

func (l *line) hear(ctx context.Context, ws *websocket.Conn, m *protocol.Message) error {
	if m.Cursor != "" {
		l.cursor = m.Cursor
	}
	switch m.Type {
	case protocol.MessageExpiring:
		token, err := l.c.account.access(ctx, l.c.account.held().Access)
		if err != nil {
			return err
		}
		data, err := json.Marshal(&protocol.SocketAuth{AccessToken: token})
		if err != nil {
			return err
		}
		return say(ws, &protocol.Message{Type: protocol.MessageAuth, Data: data})
	case protocol.MessageError:
		var p protocol.Problem
		if json.Unmarshal(m.Data, &p) == nil {
			return &Problem{Status: int(p.Status), Code: p.Code, Detail: p.Detail}
		}
	}
	return l.take(ctx, m)
}

func read(m *protocol.Message, into any) error {
	if err := json.Unmarshal(m.Data, into); err != nil {
		return fmt.Errorf("%w: a message is not of the form described: %w", session.ErrUnavailable, err)
	}
	return nil
}

func say(ws *websocket.Conn, m *protocol.Message) error {
	ws.SetWriteDeadline(time.Now().Add(writeWithin))
	if err := ws.WriteJSON(m); err != nil {
		return fmt.Errorf("%w: %w", session.ErrUnavailable, err)
	}
	return nil
}
