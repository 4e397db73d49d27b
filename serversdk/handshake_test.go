package serversdk_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/url"
	"testing"

	"github.com/musterhq/muster/serversdk"
)

func TestMatch(t *testing.T) {
	t.Parallel()
	upgrade := http.Header{"Connection": {"keep-alive, Upgrade"}, "Upgrade": {"websocket"}}
	for _, c := range []struct {
		url    string
		header http.Header
		want   bool
	}{
		{"/?pID=p&ComputeId=c&FleetId=f", upgrade, true},
		{"/stage/?pID=p&ComputeId=c&FleetId=f", upgrade, true},
		{"/?pID=p&ComputeId=c&FleetId=f", nil, false},
		{"/?ComputeName=c&FleetId=f", upgrade, false},
		{"/", upgrade, false},
	} {
		u, err := url.Parse(c.url)
		must(t, err)
		if got := serversdk.Match(&http.Request{URL: u, Header: c.header}); got != c.want {
			t.Errorf("%s with %v: got %v, want %v", c.url, c.header, got, c.want)
		}
	}
}

// handshake upgrades a raw connection.
func handshake(t *testing.T, raw io.ReadWriter, target string) {
	t.Helper()
	u, err := url.Parse(target)
	must(t, err)
	must(t, writeUpgrade(raw, u))
	var head []byte
	for !bytes.HasSuffix(head, []byte("\r\n\r\n")) {
		var b [1]byte
		if _, err := io.ReadFull(raw, b[:]); err != nil {
			t.Fatal(errors.Join(errors.New(string(head)), err))
		}
		head = append(head, b[0])
	}
	if !bytes.HasPrefix(head, []byte("HTTP/1.1 101 ")) {
		t.Fatalf("handshake: %s", head)
	}
}

func writeUpgrade(raw io.Writer, u *url.URL) error {
	_, err := io.WriteString(raw, "GET "+u.RequestURI()+" HTTP/1.1\r\nHost: muster.test\r\nUser-Agent: WebSocket++/0.8.2\r\n"+
		"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
	return err
}
