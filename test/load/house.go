package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/gamelift"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/awsrpc"
	"github.com/musterhq/muster/internal/awsrpc/sigv4"
	"github.com/musterhq/muster/internal/heap"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/sqlite"
	"github.com/musterhq/muster/internal/tag"
	"github.com/musterhq/muster/session"
)

const (
	location = "custom-load"
	computes = 100 // number of computes that the processes are spread over
)

var home = arn.Home{Region: "us-east-1", Account: "000000000000"}

// The garbage collector runs as it does in a server.
func init() { go heap.Run(context.Background()) }

// house is the server with everything between the socket and the disk, assembled as
// in app, so that the transactions can also be called directly.
type house struct {
	dir      string // of its database; "": it is another's
	store    *store.Store
	keys     *auth.Service
	key      auth.Credentials
	verifier *sigv4.Verifier
	computes *compute.Service
	sessions *session.Service
	fleet    *fleet.Fleet
	http     *http.Server
	address  string
}

// open returns a house on a new SQLite database, with n free processes.
func open(ctx context.Context, n int) (*house, error) {
	dir, err := os.MkdirTemp("", "muster-load-")
	if err != nil {
		return nil, err
	}
	h, err := openOn(ctx, sqlite.New(dir), n)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	h.dir = dir
	return h, nil
}

// openOn returns a house on an empty database, with n free processes.
func openOn(ctx context.Context, driver store.Driver, n int) (*house, error) {
	return openWith(ctx, driver, n, session.Options{})
}

func openWith(ctx context.Context, driver store.Driver, n int, sessions session.Options) (*house, error) {
	master, err := auth.NewMaster(make([]byte, auth.MasterKeySize))
	if err != nil {
		return nil, err
	}
	h := &house{store: store.New(store.Options{Driver: driver})}
	events, tags := event.New(h.store, event.Options{}), tag.New(h.store)
	h.keys = auth.New(h.store, events, master, tags.Of)
	fleets := fleet.New(h.store, fleet.Deps{Events: events, Tags: tags}, fleet.Options{Home: home})
	h.computes = compute.New(h.store, compute.Deps{Events: events, Fleets: fleets, Tags: tags}, compute.Options{Tokens: master})
	h.sessions = session.New(h.store, session.Deps{Events: events, Fleets: fleets, Computes: h.computes}, sessions)
	h.verifier = sigv4.New(sigv4.Options{Service: "gamelift", Lookup: func(id string) (sigv4.Secret, bool) {
		secret, ok := h.keys.Secret(id)
		return sigv4.Secret{Key: secret}, ok
	}})
	if err := h.store.Open(ctx); err != nil {
		return nil, err
	}
	if err := h.furnish(ctx, fleets, n); err != nil {
		return nil, err
	}
	srv, err := awsrpc.New(awsrpc.Options{API: gamelift.API(), Authenticate: h})
	if err != nil {
		return nil, err
	}
	api.Register(srv, api.Services{
		Store: h.store, Home: home, Events: events, Tags: tags, Fleets: fleets, Computes: h.computes, Sessions: h.sessions,
		GameServerURL: "ws://127.0.0.1",
	})
	return h, h.listen(srv)
}

func (h *house) listen(srv http.Handler) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	h.address = l.Addr().String()
	h.http = &http.Server{Handler: srv}
	go h.http.Serve(l)
	return nil
}

// furnish creates a key, a fleet, its computes and free processes on them.
func (h *house) furnish(ctx context.Context, fleets *fleet.Service, n int) (err error) {
	if h.key, err = h.keys.Create(ctx, auth.Spec{Name: "load", Role: auth.Admin}); err != nil {
		return err
	}
	if _, err = fleets.Locations.Create(ctx, location, nil); err != nil {
		return err
	}
	h.fleet, err = fleets.Create.Do(ctx, fleet.CreateInput{Name: "load", ComputeType: fleet.Anywhere, Locations: []string{location}})
	if err != nil {
		return err
	}
	for i := range computes {
		in := compute.RegisterInput{FleetID: h.fleet.ID, Name: fmt.Sprint("host-", i), Location: location, IPAddress: "127.0.0.1"}
		if _, err := h.computes.Register(ctx, in); err != nil {
			return err
		}
	}
	_, err = together(256, n, func(i int) error { return h.process(ctx, i) })
	return err
}

// process creates one process that is ready for a game session.
func (h *house) process(ctx context.Context, i int) error {
	ref := compute.Ref{FleetID: h.fleet.ID, ComputeName: fmt.Sprint("host-", i%computes), ProcessID: fmt.Sprint("process-", i)}
	if _, err := h.computes.Connect(ctx, compute.ConnectInput{Ref: ref}, deaf{}); err != nil {
		return err
	}
	if err := h.computes.Ready(ctx, compute.ReadyInput{Ref: ref, Port: 1024 + i%60000}); err != nil {
		return err
	}
	return h.computes.Hearing(ctx, ref)
}

// deaf is the link of a process that does not exist.
type deaf struct{}

// StartGameSession implements compute.Link.
func (deaf) StartGameSession(compute.Start) {}

// UpdateGameSession implements compute.Link.
func (deaf) UpdateGameSession(compute.Update) {}

// Terminate implements compute.Link.
func (deaf) Terminate(time.Time) {}

// Drop implements compute.Link.
func (deaf) Drop() {}

// Authenticate implements awsrpc.Authenticator as app does.
func (h *house) Authenticate(r *http.Request) (awsrpc.Principal, awsrpc.Proof, error) {
	claim, err := h.verifier.Claim(r, time.Now())
	if err != nil {
		return awsrpc.Principal{}, nil, err
	}
	caller, err := h.keys.Caller(claim.Identity.AccessKeyID)
	return awsrpc.Principal{AccessKeyID: caller.KeyID, Name: caller.KeyID, Identity: caller}, claim.Body, err
}

// close closes the house and removes its database.
func (h *house) close() error {
	h.http.Close()
	err := h.store.Close()
	if h.dir != "" {
		os.RemoveAll(h.dir)
	}
	return err
}

// together calls f for 0..n-1 from a number of callers and returns the calls per
// second.
func together(callers, n int, f func(i int) error) (rate float64, err error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	next := 0
	take := func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		next++
		return next - 1, next <= n && err == nil
	}
	begin := time.Now()
	for range callers {
		wg.Go(func() {
			for i, ok := take(); ok; i, ok = take() {
				if failed := f(i); failed != nil {
					mu.Lock()
					err = failed
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	return float64(n) / time.Since(begin).Seconds(), err
}
