package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// healthCommand is `muster health`.
type healthCommand struct {
	Listen  string        `default:"127.0.0.1:9080" placeholder:"HOST:PORT" help:"Where the server on this machine listens, as with serve (${default})."`
	Timeout time.Duration `default:"5s" help:"How long to wait for the answer (${default})."`
}

// Run prints whether the server accepts work, and fails unless it does.
func (c *healthCommand) Run(t *streams) error {
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	ctx, cancel := context.WithTimeout(t.ctx, c.Timeout)
	defer cancel()
	address := net.JoinHostPort(host, port)
	status, answer, err := readiness(ctx, "https://"+address)
	if err != nil { // a server without a certificate
		status, answer, err = readiness(ctx, "http://"+address)
	}
	if err != nil {
		return fmt.Errorf("no server answers on %s: %w", address, err)
	}
	fmt.Fprintln(t.out, answer)
	if status != http.StatusOK {
		return failed(1)
	}
	return nil
}

// readiness asks a server whether it accepts work. The certificate is not checked: it names
// the server as others reach it, and nothing secret is sent or believed.
func readiness(ctx context.Context, base string) (status int, answer string, err error) {
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/readyz", nil)
	if err != nil {
		return 0, "", err
	}
	response, err := transport.RoundTrip(r)
	if err != nil {
		return 0, "", err
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	return response.StatusCode, string(body), errors.Join(err, response.Body.Close())
}
