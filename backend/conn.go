package backend

import (
	"net/netip"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/identity"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// socket is one WebSocket of a player. Its reader executes messages; its writer sends
// answers and changes, and nothing else writes.
type socket struct {
	of   *sockets
	ws   *websocket.Conn
	from netip.Addr
	out  chan protocol.Message // answers

	known   func()        // records that the connection's player is known
	entered chan struct{} // closed once the player is known
	mu      sync.Mutex    // guards what follows
	token   string
	player  identity.Claims
	resume  string

	inParty bool // as the client knows; used only by the writer

	ended  chan struct{} // closed when the connection is to end
	once   sync.Once
	code   int
	reason string
}

// end makes the connection end; the first reason is used. It never blocks.
func (c *socket) end(code int, reason string) {
	c.once.Do(func() {
		c.code, c.reason = code, reason
		close(c.ended)
	})
}

// run serves the connection until it ends.
func (c *socket) run(token, resume string) {
	defer c.of.door.leave()
	c.of.metrics.socket(1)
	defer c.of.metrics.socket(-1)
	defer c.ws.Close()
	c.ws.SetReadLimit(maxMessage)
	c.ws.SetReadDeadline(time.Now().Add(silentFor))
	c.ws.SetPongHandler(func(string) error { return c.ws.SetReadDeadline(time.Now().Add(silentFor)) })
	if token != "" {
		c.enter(token, resume)
	}
	done := make(chan struct{})
	go func() { defer close(done); c.write() }()
	c.read()
	c.end(websocket.CloseNormalClosure, "")
	<-done
	if who := c.who(); who.PlayerID != "" {
		c.of.door.drop(c, who.PlayerID)
	}
}

func (c *socket) who() identity.Claims {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.player
}

func (c *socket) held() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.token
}

// key returns the connection's player, or its network before the player is known.
func (c *socket) key() string {
	if who := c.who(); who.PlayerID != "" {
		return who.PlayerID
	}
	return networkOf(c.from)
}

// enter uses an access token: the first determines the player, later ones must be the
// same player's.
func (c *socket) enter(token, resume string) bool {
	claims, err := c.of.ids.Tokens.Check(token)
	if err != nil {
		c.end(protocol.CloseUnauthorized, "the access token is not good")
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	first := c.player.PlayerID == ""
	if !first && c.player.PlayerID != claims.PlayerID {
		c.end(protocol.CloseUnauthorized, "the access token is another player's")
		return false
	}
	c.token, c.player = token, claims
	if first {
		c.known()
		c.resume = resume
		c.of.door.take(c, claims.PlayerID, c.of.config.Limits.Sockets)
		close(c.entered)
	}
	return true
}
