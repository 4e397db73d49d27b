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

// Of the WebSocket, as the description and docs/players.md have it.
const (
	subprotocol  = "muster.player.v1"
	silentFor    = 50 * time.Second // the server pings every 20
	writeWithin  = 5 * time.Second
	typeTicket   = "match.ticket"
	typeAuth     = "auth"
	typeExpiring = "token.expiring"
	typePing     = "ping"
	typePong     = "pong"
	typeError    = "error"
	firstLook    = "first"
)

// errNoSocket says that tickets are followed without push.
var errNoSocket = errors.New("there is no push")

// dial opens the WebSocket, once more with another token if the first is refused.
func (f *follower) dial(ctx context.Context) (*websocket.Conn, error) {
	at, err := url.Parse(f.c.base + "/ws?resume=" + url.QueryEscape(f.cursor))
	if err != nil {
		return nil, err
	}
	at.Scheme = "ws" + at.Scheme[len("http"):]
	stale := ""
	for {
		token, err := f.c.access(ctx, stale)
		if err != nil {
			return nil, err
		}
		ws, response, err := f.c.dialer.DialContext(ctx, at.String(), http.Header{"Authorization": {"Bearer " + token}})
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

// push follows by WebSocket until all is over, the connection ends or ctx does. A
// connection that the server ended in order gives no error.
func (f *follower) push(ctx context.Context) error {
	ws, err := f.dial(ctx)
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
	// Its answer comes after all that is known by now.
	if err := say(ws, &protocol.Message{Type: typePing, ID: firstLook}); err != nil {
		return err
	}
	for told := false; !f.over(); told = true {
		ws.SetReadDeadline(time.Now().Add(silentFor))
		var m protocol.Message
		if err := ws.ReadJSON(&m); err != nil {
			if websocket.IsCloseError(err, websocket.CloseGoingAway) && told {
				return nil
			}
			return fmt.Errorf("%w: the push ended: %w", session.ErrUnavailable, err)
		}
		if err := f.take(ctx, ws, &m); err != nil {
			return err
		}
	}
	return nil
}

// take acts on a message.
func (f *follower) take(ctx context.Context, ws *websocket.Conn, m *protocol.Message) error {
	if m.Cursor != "" {
		f.cursor = m.Cursor
	}
	switch m.Type {
	case typeTicket:
		var t protocol.Ticket
		if err := json.Unmarshal(m.Data, &t); err != nil {
			return fmt.Errorf("%w: a message is not of the form described: %w", session.ErrUnavailable, err)
		}
		f.see(&t)
	case typePong:
		return f.unseen(ctx)
	case typeExpiring:
		token, err := f.c.access(ctx, f.c.held().Access)
		if err != nil {
			return err
		}
		data, err := json.Marshal(&protocol.SocketAuth{AccessToken: token})
		if err != nil {
			return err
		}
		return say(ws, &protocol.Message{Type: typeAuth, Data: data})
	case typeError:
		var p protocol.Problem
		if json.Unmarshal(m.Data, &p) == nil {
			return &Problem{Status: int(p.Status), Code: p.Code, Detail: p.Detail}
		}
	}
	return nil
}

// unseen asks for tickets that the push did not tell of: those that were forgotten
// or never were.
func (f *follower) unseen(ctx context.Context) error {
	for id, k := range f.open {
		for k.seq == 0 && f.open[id] != nil && ctx.Err() == nil {
			if err := f.poll(ctx, id, 0); err != nil {
				f.trouble(id, err)
				if f.open[id] != nil {
					return err
				}
			}
			if k.missed > 0 && f.open[id] != nil {
				rest(ctx, k.missed)
			}
		}
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
