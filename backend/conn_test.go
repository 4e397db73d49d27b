package backend

import (
	"bufio"
	"errors"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/identity"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// upgraded is a ResponseWriter whose connection is one end of a pipe.
type upgraded struct {
	*httptest.ResponseRecorder
	conn net.Conn
}

// Hijack implements http.Hijacker.
func (u *upgraded) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return u.conn, bufio.NewReadWriter(bufio.NewReader(u.conn), bufio.NewWriter(u.conn)), nil
}

// line is a client's WebSocket over a pipe without a buffer.
type line struct {
	*house
	ws *websocket.Conn

	mu    sync.Mutex
	mute  bool // it answers no pings
	pings int
	got   []string // the types of messages; at the end the close code
}

// pinged returns how often the client was pinged.
func (l *line) pinged() int {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pings
}

func (l *line) note(got string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.got = append(l.got, got)
}

// dial opens a WebSocket; without a token the client has yet to send one.
func (h *house) dial(token string) *line {
	h.Helper()
	here, there := net.Pipe()
	return h.dialOver(token, here, there)
}

// dialOver opens a WebSocket over a pipe, of which there is the server's end.
func (h *house) dialOver(token string, here, there net.Conn) *line {
	h.Helper()
	h.Go(func() {
		sent, err := http.ReadRequest(bufio.NewReader(there))
		if err != nil {
			h.Error(err)
			return
		}
		sent.RemoteAddr = "192.0.2.1:1234"
		h.b.ServeHTTP(&upgraded{httptest.NewRecorder(), there}, sent)
	})
	header := http.Header{}
	if token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	d := websocket.Dialer{NetDial: func(string, string) (net.Conn, error) { return here, nil }}
	ws, _, err := d.DialContext(h.Ctx, "ws://play.example"+protocol.Base+"/ws", header)
	h.Must(err)
	l := &line{house: h, ws: ws}
	pong := ws.PingHandler()
	ws.SetPingHandler(func(data string) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.pings++; l.mute {
			return nil
		}
		return pong(data)
	})
	return l
}

// connect dials, and reads until the connection ends.
func (h *house) connect(token string) *line {
	h.Helper()
	return h.reading(token, h.dial(token))
}

// reading reads until the connection ends.
func (h *house) reading(token string, l *line) *line {
	h.Helper()
	h.Go(func() {
		defer l.ws.Close()
		for {
			_, text, err := l.ws.ReadMessage()
			if end, ok := errors.AsType[*websocket.CloseError](err); ok {
				l.note(code(end.Code))
			}
			if err != nil {
				return
			}
			var m protocol.Message
			h.Must(json.Unmarshal(text, &m))
			if m.Type != protocol.MessageError { // it may come before the close frame
				l.note(m.Type)
			}
		}
	})
	if token != "" {
		l.wants("begin", protocol.MessageReady)
	}
	return l
}

// wants fails the test unless the client has received exactly these messages since the last call.
func (l *line) wants(when string, types ...string) {
	l.Helper()
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Equal(l.got, types) {
		l.Errorf("%s: received %q, want %q", when, l.got, types)
	}
	l.got = nil
}

func (l *line) auth(token string) {
	l.Helper()
	text, err := json.Marshal(outgoing{Type: protocol.MessageAuth, Data: protocol.SocketAuth{AccessToken: token}})
	l.Must(err)
	l.Must(l.ws.WriteMessage(websocket.TextMessage, text))
}

// connections returns how many WebSockets the server has, and of how many players.
func (h *house) connections() (all, players int) {
	synctest.Wait()
	d := h.b.sockets.door
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.pings.Len() != d.all {
		h.Errorf("%d connections, %d to be pinged", d.all, d.pings.Len())
	}
	return d.all, len(d.of)
}

func (h *house) login() *identity.Session {
	h.Helper()
	h.Must(h.ids.Open(h.Ctx))
	s, err := h.ids.Logins.CreateGuest(h.Ctx)
	h.Must(err)
	return s
}

func code(n int) string { return strconv.Itoa(n) }

// A connection is pinged every 20 seconds. It stays for as long as its client answers and its
// login is valid, of which the client is warned once.
func TestSocket_Stays(t *testing.T) {
	t.Parallel()
	inHouse(t, func(h *house) {
		s := h.login()
		l := h.connect(s.AccessToken)
		for minute := 1; minute <= 14; minute++ {
			wait.Pass(time.Minute)
			if n := l.pinged(); n != 3*minute {
				t.Fatalf("%d pings in %d minutes", n, minute)
			}
		}
		wait.Pass(20 * time.Second)
		l.wants("less than a minute is left", protocol.MessageExpiring)
		s, err := h.ids.Tokens.Refresh(h.Ctx, s.RefreshToken)
		h.Must(err)
		l.auth(s.AccessToken)
		l.wants("a new token", protocol.MessageReady)
		wait.Pass(10 * time.Minute)
		l.wants("with the new token")
		h.Must(h.ids.Tokens.Logout(h.Ctx, s.RefreshToken))
		wait.Pass(pingEvery)
		l.wants("logged out", code(protocol.CloseUnauthorized))
	})
}

// Whatever ends a connection ends it in time, with its code; other connections are not
// delayed.
func TestSocket_Ends(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do     func(*house, *identity.Session, *line)
		within time.Duration
		code   []string
	}{
		"banned": {func(h *house, s *identity.Session, _ *line) {
			h.Must(h.ids.Accounts.Ban(h.Ctx, s.PlayerID, "", time.Now().Add(time.Hour)))
		}, 0, []string{code(protocol.CloseUnauthorized)}},
		"server stops":   {func(h *house, _ *identity.Session, _ *line) { h.Go(func() { h.b.Close(h.Ctx) }) }, 0, []string{code(websocket.CloseGoingAway)}},
		"another player": {func(h *house, _ *identity.Session, l *line) { l.auth(h.login().AccessToken) }, 0, []string{code(protocol.CloseUnauthorized)}},
		"replaced": {func(h *house, s *identity.Session, _ *line) {
			for range h.b.config.Limits.Sockets {
				defer h.connect(s.AccessToken).ws.Close()
			}
		}, 0, []string{code(protocol.CloseReplaced)}},
		"chatty": {func(h *house, _ *identity.Session, l *line) {
			for range 21 {
				h.Must(l.ws.WriteMessage(websocket.TextMessage, []byte(`{"type":"ping"}`)))
			}
		}, 0, append(slices.Repeat([]string{protocol.MessagePong}, 20), code(protocol.CloseRate))},
		"noisy": {func(h *house, _ *identity.Session, l *line) {
			for range mostStrikes {
				h.Must(l.ws.WriteMessage(websocket.TextMessage, []byte("noise")))
			}
		}, 0, []string{code(protocol.CloseBadMessage)}},
		"silent": {func(_ *house, _ *identity.Session, l *line) { l.mu.Lock(); l.mute = true; l.mu.Unlock() }, silentFor, []string{code(websocket.CloseNormalClosure)}},
		"gone":   {func(_ *house, _ *identity.Session, l *line) { l.ws.Close() }, 0, nil},
	} {
		inHouse(t, func(h *house) {
			s := h.login()
			l := h.connect(s.AccessToken)
			c.do(h, s, l)
			if c.within > 0 {
				wait.Pass(c.within - time.Second)
				if n, _ := h.connections(); n != 1 {
					t.Errorf("%s: ended too early", name)
				}
				wait.Pass(2 * time.Second)
			}
			l.wants(name, c.code...)
			wait.Pass(time.Second) // the others hang up
			if n, players := h.connections(); n+players != 0 {
				t.Errorf("%s: the door keeps %d connections of %d players", name, n, players)
			}
		})
	}
}

// A client that was silent for a while, and then is not, stays.
func TestSocket_SilentForAWhile(t *testing.T) {
	t.Parallel()
	inHouse(t, func(h *house) {
		l := h.connect(h.login().AccessToken)
		mute := func(m bool) { l.mu.Lock(); defer l.mu.Unlock(); l.mute = m }
		speak := func() {
			h.Must(l.ws.WriteMessage(websocket.TextMessage, []byte(`{"type":"ping"}`)))
			l.wants("heard", protocol.MessagePong)
		}
		for range 3 {
			speak()
			mute(true)
			wait.Pass(silentFor - time.Second)
			speak()
			mute(false)
			wait.Pass(2 * silentFor)
			l.wants("later")
		}
		l.ws.Close()
	})
}

// Pings of a client are answered with their data, and its close frame with the same code.
func TestSocket_ControlFrames(t *testing.T) {
	t.Parallel()
	inHouse(t, func(h *house) {
		l := h.dial(h.login().AccessToken)
		l.ws.SetPongHandler(func(data string) error { l.note("pong " + data); return nil })
		h.reading("", l)
		l.wants("begin", protocol.MessageReady)
		for _, data := range []string{"one", ""} {
			h.Must(l.ws.WriteControl(websocket.PingMessage, []byte(data), time.Now().Add(time.Second)))
			l.wants("pinged", "pong "+data)
		}
		h.Must(l.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(4321, "bye"), time.Now().Add(time.Second)))
		l.wants("closed", code(4321))
	})
}

// A client without a token has five seconds to send one.
func TestSocket_Auth(t *testing.T) {
	t.Parallel()
	inHouse(t, func(h *house) {
		silent, known := h.connect(""), h.connect("")
		known.auth(h.login().AccessToken)
		known.wants("in time", protocol.MessageReady)
		wait.Pass(authWithin)
		silent.wants("too late", code(protocol.CloseAuthTimeout))
		known.wants("later")
		known.ws.Close()
	})
}

// Clients that do not read delay neither the pings nor the changes of others, nor the commits of
// these: no time passes until all others have been sent theirs. They are disconnected.
func TestSocket_DeafAmongMany(t *testing.T) {
	t.Parallel()
	inHouse(t, func(h *house) {
		var tokens []string
		var all []*line
		for i := range 40 {
			_, token := h.guest()
			tokens = append(tokens, token)
			if i%2 == 0 {
				all = append(all, h.connect(token))
				continue
			}
			_, _, err := h.dial(token).ws.ReadMessage() // the greeting, and nothing after it
			h.Must(err)
		}
		begin := time.Now()
		h.b.sockets.door.mu.Lock()
		players := slices.Collect(maps.Keys(h.b.sockets.door.of))
		h.b.sockets.door.mu.Unlock()
		for _, token := range tokens {
			h.start(token)
		}
		h.b.sockets.door.wake(players) // who does not read is being written to already
		for _, l := range all {
			synctest.Wait()
			l.mu.Lock()
			if !slices.Contains(l.got, protocol.MessageTicket) {
				t.Errorf("a client that reads received %q, no ticket", l.got)
			}
			l.mu.Unlock()
		}
		if took := time.Since(begin); took != 0 {
			t.Errorf("changes took %s because of clients that do not read", took)
		}
		wait.Pass(writeWithin)
		if left, _ := h.connections(); left != len(all) {
			t.Errorf("%d connections are left, want the %d that read", left, len(all))
		}
		_, _, err := h.dial(h.login().AccessToken).ws.ReadMessage() // the greeting, and not the ping after it
		h.Must(err)
		wait.Pass(pingEvery)
		for _, l := range all {
			if n := l.pinged(); n != 1 {
				t.Errorf("a client that reads was pinged %d times", n)
			}
		}
		wait.Pass(writeWithin)
		if left, _ := h.connections(); left != len(all) {
			t.Errorf("%d connections are left after a ping that nobody reads", left)
		}
		for _, l := range all {
			l.ws.Close()
		}
	})
}

// slow is a connection whose Close waits, as one over TLS does for a client that does not
// read.
type slow struct {
	net.Conn
	closing, release chan struct{}
	once             sync.Once
}

func (s *slow) Close() error {
	s.once.Do(func() { close(s.closing) })
	<-s.release
	return s.Conn.Close()
}

// While a connection is being closed, its lock is free: commits that change the player's
// rows take it.
func TestSocket_SlowClose(t *testing.T) {
	t.Parallel()
	inHouse(t, func(h *house) {
		player, token := h.guest()
		here, there := net.Pipe()
		s := &slow{Conn: there, closing: make(chan struct{}), release: make(chan struct{})}
		h.reading(token, h.dialOver(token, here, s))
		c := h.b.sockets.door.of[player][0]
		c.end(websocket.CloseGoingAway, "test")
		<-s.closing
		if c.mu.TryLock() {
			c.mu.Unlock()
		} else {
			t.Error("a connection is closed with its lock held")
		}
		close(s.release)
	})
}
