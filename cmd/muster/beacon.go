package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/musterhq/muster/beacon"
	"github.com/musterhq/muster/internal/door"
)

// beaconCommand is `muster beacon`: it runs at a location, without a server, and answers
// players who measure their latency to it.
type beaconCommand struct {
	Location       string   `required:"" placeholder:"NAME" help:"The location that this is the beacon of, as fleets name it."`
	UDP            string   `default:":7770" placeholder:"HOST:PORT" help:"Answer datagrams here; empty: none (${default})."`
	TCP            string   `default:":7770" placeholder:"HOST:PORT" help:"Accept connections here; empty: none (${default})."`
	HTTP           string   `placeholder:"HOST:PORT" help:"Answer GET here, for browsers and others that have HTTP alone. Put a TLS proxy before it."`
	TrustedProxies []string `placeholder:"ADDRESS,…" help:"Addresses or networks of proxies before --http whose X-Forwarded-For is believed. Receipts are for the client's address."`
	KeyFile        string   `placeholder:"FILE" type:"existingfile" help:"Sign receipts of what was measured with the key in this file; the server has the same (beacon_key_file in docs/players.md)."`
}

// Run serves until it is told to stop.
func (c *beaconCommand) Run(t *streams) error {
	if c.UDP == "" && c.TCP == "" && c.HTTP == "" {
		return errors.New("one of --udp, --tcp and --http is needed")
	}
	key, err := c.key()
	if err != nil {
		return err
	}
	proxies, err := door.ParseProxies(c.TrustedProxies)
	if err != nil {
		return fmt.Errorf("--trusted-proxies: %w", err)
	}
	o := beacon.Options{Location: c.Location, UDP: c.UDP, TCP: c.TCP, Key: key}
	server, err := beacon.Listen(o)
	if err != nil {
		return err
	}
	defer server.Close()
	var web net.Listener
	if c.HTTP != "" {
		if web, err = net.Listen("tcp", c.HTTP); err != nil {
			return err
		}
	}
	fmt.Fprintln(t.out, c.ready(server, web))
	return c.serve(t.ctx, server, web, webOf(o, proxies))
}

// key reads the key; nil if none is configured.
func (c *beaconCommand) key() ([]byte, error) {
	if c.KeyFile == "" {
		return nil, nil
	}
	text, err := os.ReadFile(c.KeyFile)
	if err != nil {
		return nil, err
	}
	key, err := beacon.ReadKey(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.KeyFile, err)
	}
	return key, nil
}

// ready returns the line by which programs learn where the beacon answers.
func (c *beaconCommand) ready(s *beacon.Server, web net.Listener) string {
	line := []string{"ready", c.Location}
	if at := s.UDP(); at != "" {
		line = append(line, "udp="+at)
	}
	if at := s.TCP(); at != "" {
		line = append(line, "tcp="+at)
	}
	if web != nil {
		line = append(line, "http="+web.Addr().String())
	}
	return strings.Join(line, " ")
}

// serve runs both parts until ctx ends or one of them does. A beacon with only one part
// would look alive, so it ends as a whole and is started again.
func (c *beaconCommand) serve(ctx context.Context, s *beacon.Server, web net.Listener, of *webServer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var parts []func(context.Context) error
	if c.UDP != "" || c.TCP != "" {
		parts = append(parts, s.Serve)
	}
	if web != nil {
		parts = append(parts, func(ctx context.Context) error { return of.serve(ctx, web) })
	}
	ended := make(chan error, len(parts))
	for _, part := range parts {
		go func() { ended <- part(ctx) }()
	}
	var failed error
	for range parts {
		failed = errors.Join(failed, <-ended)
		cancel()
	}
	return failed
}

// Limits of the HTTP beacon. A client keeps its connection for one measurement.
const (
	headerTimeout = 5 * time.Second
	idleTimeout   = 10 * time.Second
	maxHeader     = 8 << 10
)

// webServer is the part of a beacon that answers HTTP.
type webServer struct {
	http.Server
	door *door.Door
}

func webOf(o beacon.Options, proxies door.Proxies) *webServer {
	outer := door.New(door.Options{Proxies: proxies})
	return &webServer{http.Server{
		Handler: outer.Handler(beacon.Web(o, door.Client)), ConnContext: outer.ConnContext,
		ReadTimeout: headerTimeout, WriteTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
	}, outer}
}

// serve answers until ctx ends.
func (s *webServer) serve(ctx context.Context, at net.Listener) error {
	defer context.AfterFunc(ctx, func() { s.Close() })()
	if err := s.Serve(s.door.Listen(at)); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
