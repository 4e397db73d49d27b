package player

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/sdk/session"
	"github.com/musterhq/muster/sdk/session/internal/joining"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// Config says where the player API is and how to reach it.
type Config struct {
	// URL is the server's base URL, such as https://play.example.com; required.
	URL string
	// HTTP makes the requests; nil uses a new client. Its transport's TLS
	// configuration is used for the WebSocket too.
	HTTP *http.Client
	// Store keeps the login across restarts of the game; if nil, the login is lost.
	Store TokenStore
	// Connector is the game's netcode, for Join and Leave; nil only reserves.
	Connector session.Connector
	// NoSocket follows tickets with long polls only.
	NoSocket bool
}

// Client is one player. It is safe for concurrent use. It implements
// session.Sessions, session.Matchmaking and session.Tracker.
type Client struct {
	account    account
	dialer     websocket.Dialer
	noSocket   bool
	seat       joining.Seat
	unanswered atomic.Pointer[string] // the ticket requested last, if no answer came: the server may have created it
}

var (
	_ session.Sessions    = (*Client)(nil)
	_ session.Matchmaking = (*Client)(nil)
	_ session.Tracker     = (*Client)(nil)
)

const handshakeTimeout = 10 * time.Second

// New returns a client. It sends nothing. Errors: ErrInvalid for a URL that is
// neither http nor https.
func New(c Config) (*Client, error) {
	at, err := url.Parse(c.URL)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return nil, fmt.Errorf("%w: Config.URL: %q is no http or https URL", errInvalid, c.URL)
	}
	client := &Client{
		account:  account{transport: transport{base: strings.TrimRight(c.URL, "/") + protocol.Base, http: cmp.Or(c.HTTP, &http.Client{})}, store: c.Store},
		noSocket: c.NoSocket,
		seat:     joining.Seat{Connector: c.Connector},
		dialer:   websocket.Dialer{Proxy: http.ProxyFromEnvironment, HandshakeTimeout: handshakeTimeout, Subprotocols: []string{protocol.Subprotocol}},
	}
	if t, ok := client.account.http.Transport.(*http.Transport); ok {
		client.dialer.TLSClientConfig = t.TLSClientConfig.Clone() // of nil is nil
	}
	return client, nil
}

// PlayerID returns the id of the player who is logged in; "" before the first login.
func (c *Client) PlayerID() string { return c.account.held().PlayerID }
