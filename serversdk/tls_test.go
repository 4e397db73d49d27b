package serversdk_test

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/internal/sniff"
)

// One port serves SDKs that use TLS whatever they were told (C++), and those that follow
// the URL.
func TestTrap07_TLSAndPlainOnOnePort(t *testing.T) {
	h := newHouse(t, config{})
	defer h.close()
	certificate, err := sniff.SelfSigned(t.TempDir(), []string{"127.0.0.1"}, time.Now())
	must(t, err)
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	server := &http.Server{Handler: h.server}
	go server.Serve(sniff.Listen(inner, sniff.Options{Config: sniff.Config(certificate)}))
	defer server.Close()
	for _, scheme := range []string{"ws", "wss"} {
		u, err := url.Parse(h.url(visit{id: scheme}))
		must(t, err)
		u.Scheme, u.Host = scheme, inner.Addr().String()
		dialer := websocket.Dialer{TLSClientConfig: trusting()}
		ws, _, err := dialer.DialContext(context.Background(), u.String(), nil)
		if err != nil {
			t.Fatalf("%s: %v", scheme, err)
		}
		must(t, ws.WriteMessage(websocket.TextMessage, []byte(`{"Action":"HeartbeatServerProcess","RequestId":"r","HealthStatus":true}`)))
		if _, _, err := ws.ReadMessage(); err != nil {
			t.Errorf("%s: %v", scheme, err)
		}
		ws.Close()
	}
}

// trusting returns the TLS configuration of the C++ SDK, which does not verify.
func trusting() *tls.Config { return &tls.Config{InsecureSkipVerify: true} }
