package agent

import (
	"context"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/agent/relay"
	"github.com/musterhq/muster/hosts/protocol"
)

// relayFile stores the relay's port below Root: processes that outlive an agent connect
// to it again.
const relayFile = "relay.json"

type relayState struct{ Port int }

// startRelay opens the relay, on the port of a former agent if there was one. If it
// cannot be opened, there is none: processes connect directly.
func (a *Agent) startRelay() (stop func()) {
	if a.opts.Server == "" {
		return func() {}
	}
	path := filepath.Join(a.opts.Root, relayFile)
	var kept relayState
	_ = readJSON(path, &kept) // without the file a port is picked
	r, err := relay.Listen(relay.Options{Dial: a.dialRelay, Dir: a.opts.Root, Port: kept.Port, Log: a.opts.Log})
	if err != nil && kept.Port != 0 {
		a.log.Error("the relay's port is taken; its game servers cannot come back", "port", kept.Port, "error", err)
		r, err = relay.Listen(relay.Options{Dial: a.dialRelay, Dir: a.opts.Root, Log: a.opts.Log})
	}
	if err != nil {
		a.log.Error("there is no relay; game servers connect directly", "error", err)
		return func() {}
	}
	if err := writeJSON(path, relayState{r.Port()}); err != nil {
		a.log.Warn("the relay's port is not kept", "error", err)
	}
	a.relay = r
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.Run(ctx)
	}()
	return func() {
		cancel()
		<-ended
	}
}

// dialRelay opens the relay's WebSocket, once there is a credential and a process to
// relay.
func (a *Agent) dialRelay(ctx context.Context) (*websocket.Conn, error) {
	select {
	case <-a.relayed:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	dialer := websocket.Dialer{HandshakeTimeout: shaking, TLSClientConfig: a.opts.TLS, Proxy: http.ProxyFromEnvironment}
	url := "ws" + strings.TrimPrefix(a.server(), "http") + protocol.PathRelay
	ws, _, err := dialer.DialContext(ctx, url, http.Header{"Authorization": {a.identity().bearer()}})
	return ws, err
}

// admit allows a process of a relayed fleet to connect here, and returns its token, or
// "" for a process that connects directly. It changes the URL and token in the wish to
// those for the process.
func (i *instance) admit(w *protocol.Desired, id, pass string) string {
	if i.a.relay == nil || !w.Relay && !i.a.opts.RelayAll && pass == "" {
		return ""
	}
	i.a.relayOnce.Do(func() { close(i.a.relayed) })
	if pass == "" {
		pass = relay.NewToken()
		w.SDKURL, w.AuthToken = i.a.relay.URL(), pass
	}
	i.a.relay.Admit(id, pass, func() string { return i.wished().AuthToken })
	return pass
}

func (a *Agent) identity() credential {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.me
}

// be changes the credential that identity returns.
func (a *Agent) be(me credential) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.me = me
}
