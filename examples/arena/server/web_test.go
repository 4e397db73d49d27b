package server_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/examples/arena/server"
	"github.com/musterhq/muster/examples/arena/wire"
)

// startWeb runs a server with WebSockets. It returns their URL and a function that waits for
// the result.
func startWeb(t *testing.T, ctx context.Context, sessions server.PlayerSessions) (url string, wait func() server.Result) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan server.Result, 1)
	s := server.New(listen(t), sessions, server.Options{TicksASecond: 200, Seed: 1, EmptyFor: 1, Web: l})
	go func() { done <- s.Run(ctx) }()
	return "ws://" + l.Addr().String() + "/", func() server.Result { return <-done }
}

// page is a player in a browser.
type page struct {
	*testing.T
	ws *websocket.Conn
}

func dial(t *testing.T, url string) page {
	t.Helper()
	ws, _, err := websocket.DefaultDialer.DialContext(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	return page{t, ws}
}

func (p page) say(m wire.Message) {
	p.Helper()
	if err := p.ws.WriteMessage(websocket.BinaryMessage, wire.Append(nil, m)); err != nil {
		p.Fatal(err)
	}
}

// hear returns the next message of a kind.
func hear[M wire.Message](p page) M {
	p.Helper()
	for {
		_, packet, err := p.ws.ReadMessage()
		if err != nil {
			p.Fatalf("%v instead of a %T", err, *new(M))
		}
		m, err := wire.Decode(packet)
		if err != nil {
			p.Fatalf("% x: %v", packet, err)
		}
		if found, ok := m.(M); ok {
			return found
		}
	}
}

func TestWeb_PageAndBotPlay(t *testing.T) {
	t.Parallel()
	sessions := reserve("page")
	url, wait := startWeb(t, t.Context(), sessions)
	p := dial(t, url)
	p.say(wire.Join{PlayerSessionID: "page"})
	welcome := hear[wire.Welcome](p)
	p.say(wire.Join{PlayerSessionID: "page"}) // as if the answer were lost
	if again := hear[wire.Welcome](p); again != welcome {
		t.Errorf("welcomed with %+v, then with %+v", welcome, again)
	}
	p.say(wire.Input{Key: welcome.Key, Sequence: 7, Move: 3})
	for hear[wire.Snapshot](p).LastInput != 7 {
	}
	p.say(wire.Leave{Key: welcome.Key})
	if over := hear[wire.Over](p); over.Reason != wire.OverLeft {
		t.Errorf("over because of %s", over.Reason)
	}
	if r := wait(); r.End != server.EndEmpty || r.Players != 1 {
		t.Errorf("got %+v", r)
	}
	if _, _, err := p.ws.ReadMessage(); !websocket.IsCloseError(err, websocket.CloseNormalClosure) {
		t.Errorf("the connection ended with %v", err)
	}
}

func TestWeb_Refuses(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	url, wait := startWeb(t, ctx, reserve("page"))
	first, second := dial(t, url), dial(t, url)
	first.say(wire.Join{PlayerSessionID: "page"})
	welcome := hear[wire.Welcome](first)
	second.say(wire.Join{PlayerSessionID: "page"})
	if r := hear[wire.Refused](second); r.Reason != wire.RefusedSession {
		t.Errorf("refused because of %s", r.Reason)
	}
	second.say(wire.Input{Key: welcome.Key, Sequence: 9}) // another connection's key
	second.say(wire.Leave{Key: welcome.Key})
	first.say(wire.Input{Key: welcome.Key, Sequence: 1})
	for hear[wire.Snapshot](first).LastInput != 1 {
	}
	if err := second.ws.WriteMessage(websocket.BinaryMessage, []byte(strings.Repeat("x", wire.MaxPacket+1))); err != nil {
		t.Fatal(err)
	}
	var closed *websocket.CloseError
	if _, _, err := second.ws.ReadMessage(); !errors.As(err, &closed) || closed.Code != websocket.CloseMessageTooBig {
		t.Errorf("a message that is too long: %v", err)
	}
	cancel() // the server is to stop: the players are told before the connections end
	if over := hear[wire.Over](first); over.Reason != wire.OverTerminating {
		t.Errorf("over because of %s", over.Reason)
	}
	if r := wait(); r.End != server.EndTerminating {
		t.Errorf("got %+v", r)
	}
}
