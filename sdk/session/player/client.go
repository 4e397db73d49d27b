package player

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/sdk/session"
	"github.com/musterhq/muster/sdk/session/internal/joining"
)

// Config says where the player API is and how to reach it.
type Config struct {
	// URL is the server's base URL, such as https://play.example.com; required.
	URL string
	// HTTP makes the requests; nil is a client of its own. Its transport's TLS
	// configuration counts for the WebSocket too.
	HTTP *http.Client
	// Store keeps the login over restarts of the game; nil forgets it.
	Store TokenStore
	// Connector is the game's netcode, for Join and Leave; nil only reserves.
	Connector session.Connector
	// NoSocket follows tickets by long polls alone.
	NoSocket bool
}

// Client is one player. It may be used by many goroutines. It implements
// session.Sessions, session.Matchmaking and session.Tracker.
type Client struct {
	base     string // with the path of the API
	http     *http.Client
	dialer   websocket.Dialer
	store    TokenStore
	noSocket bool
	seat     joining.Seat

	login      sync.Mutex // one login or refresh at a time
	mu         sync.Mutex // guards what follows
	tokens     Tokens
	unanswered string // the ticket asked for last, if no answer came: the server may have made one
}

var (
	_ session.Sessions    = (*Client)(nil)
	_ session.Matchmaking = (*Client)(nil)
	_ session.Tracker     = (*Client)(nil)
)

// apiPath is where the player API lies under the server's base URL.
const apiPath = "/player/v1"

const handshakeTimeout = 10 * time.Second

// New makes a client; nothing is sent yet.
func New(c Config) (*Client, error) {
	at, err := url.Parse(c.URL)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return nil, fmt.Errorf("%w: Config.URL: %q is no http or https URL", errInvalid, c.URL)
	}
	client := &Client{
		base: strings.TrimRight(c.URL, "/") + apiPath, http: c.HTTP, store: c.Store, noSocket: c.NoSocket,
		seat:   joining.Seat{Connector: c.Connector},
		dialer: websocket.Dialer{Proxy: http.ProxyFromEnvironment, HandshakeTimeout: handshakeTimeout, Subprotocols: []string{subprotocol}},
	}
	if client.http == nil {
		client.http = &http.Client{}
	}
	client.dialer.TLSClientConfig = tlsOf(client.http)
	return client, nil
}

func tlsOf(c *http.Client) *tls.Config {
	if t, ok := c.Transport.(*http.Transport); ok && t.TLSClientConfig != nil {
		return t.TLSClientConfig.Clone()
	}
	return nil
}

// PlayerID is who is logged in; "" before the first login.
func (c *Client) PlayerID() string { return c.held().PlayerID }

func (c *Client) held() Tokens {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tokens
}
