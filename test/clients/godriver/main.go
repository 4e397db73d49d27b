// Command godriver drives the Go library for the stories of clients/stories.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"sync"

	"github.com/musterhq/muster/sdk/session"
	"github.com/musterhq/muster/sdk/session/player"
)

func main() {
	if err := run(os.Getenv("MUSTER_DRIVER")); err != nil {
		fmt.Fprintln(os.Stderr, "godriver:", err)
		os.Exit(1)
	}
}

// call is what the runner sends.
type call struct {
	ID     int64           `json:"id"`
	Client string          `json:"client"`
	Do     string          `json:"do"`
	With   json.RawMessage `json:"with"`
}

// driver has the clients of the stories by name.
type driver struct {
	writing sync.Mutex
	out     *json.Encoder

	mu      sync.Mutex // guards what follows
	clients map[string]*client
	stores  map[string]*store
	calls   map[int64]context.CancelFunc
}

func run(address string) error {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	d := &driver{out: json.NewEncoder(conn), clients: map[string]*client{}, stores: map[string]*store{}, calls: map[int64]context.CancelFunc{}}
	d.say(map[string]any{"hello": "go", "runtime": runtime.Version(), "skips": skips})
	in := bufio.NewScanner(conn)
	in.Buffer(nil, 4<<20)
	for in.Scan() {
		var c call
		if err := json.Unmarshal(in.Bytes(), &c); err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(context.Background())
		d.mu.Lock()
		d.calls[c.ID] = cancel
		d.mu.Unlock()
		go d.handle(ctx, &c)
	}
	return in.Err()
}

func (d *driver) say(m any) {
	d.writing.Lock()
	defer d.writing.Unlock()
	d.out.Encode(m) // fails if the runner has gone, which ends the driver
}

func (d *driver) handle(ctx context.Context, c *call) {
	result, err := d.do(ctx, c)
	d.mu.Lock()
	d.calls[c.ID]()
	delete(d.calls, c.ID)
	d.mu.Unlock()
	if err != nil {
		d.say(map[string]any{"id": c.ID, "error": errorOut(err)})
		return
	}
	d.say(map[string]any{"id": c.ID, "result": result})
}

// do carries out a call: those about clients themselves here, the others by the client.
func (d *driver) do(ctx context.Context, c *call) (any, error) {
	var with arguments
	if len(c.With) > 0 {
		if err := json.Unmarshal(c.With, &with); err != nil {
			return nil, err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch c.Do {
	case "cancel":
		if cancel := d.calls[with.ID]; cancel != nil {
			cancel()
		}
		return map[string]any{}, nil
	case "open":
		kept := d.stores[with.Store]
		if kept == nil {
			kept = &store{}
			d.stores[with.Store] = kept
		}
		lib, err := player.New(player.Config{URL: with.URL, Store: kept, NoSocket: with.NoPush})
		if err != nil {
			return nil, err
		}
		now := &client{lib: lib, kept: kept, tell: func(event string, data any) {
			d.say(map[string]any{"client": c.Client, "event": event, "data": data})
		}}
		now.ctx, now.quit = context.WithCancel(context.Background())
		d.clients[c.Client] = now
		return map[string]any{}, nil
	}
	found := d.clients[c.Client]
	if found == nil {
		return nil, fmt.Errorf("%w: there is no client %q", errUsage, c.Client)
	}
	if c.Do == "close" {
		delete(d.clients, c.Client)
		found.quit()
		return map[string]any{}, nil
	}
	d.mu.Unlock()
	defer d.mu.Lock()
	stop := context.AfterFunc(found.ctx, d.stopped(c.ID))
	defer stop()
	return found.do(ctx, c.Do, &with)
}

// stopped returns a function that cancels a call.
func (d *driver) stopped(id int64) func() {
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if cancel := d.calls[id]; cancel != nil {
			cancel()
		}
	}
}

var errUsage = errors.New("usage")

// errorOut converts an error to the form of the stories.
func errorOut(err error) map[string]any {
	out := map[string]any{"kind": "network", "detail": err.Error()}
	var match *session.MatchError
	var placement *session.PlacementError
	if p, ok := errors.AsType[*player.Problem](err); ok {
		out = map[string]any{"kind": "problem", "status": p.Status, "code": p.Code, "detail": p.Detail}
		if p.TicketID != "" {
			out["ticket_id"] = p.TicketID
		}
		if p.ConflictToken != "" {
			out["conflict_token"] = p.ConflictToken
		}
		if !p.Until.IsZero() {
			out["until"] = p.Until
		}
		if p.RetryAfter > 0 {
			out["retry_after_seconds"] = p.RetryAfter.Seconds()
		}
		return out
	}
	switch {
	case errors.Is(err, context.Canceled):
		out["kind"] = "cancelled"
	case errors.As(err, &match):
		out["kind"], out["ticket"] = "match", ticketOut(match.Ticket, "")
	case errors.As(err, &placement):
		out["kind"], out["placement"] = "placement", placementOut(placement.Placement, "")
	case errors.Is(err, context.DeadlineExceeded):
		out["kind"] = "timeout"
	case errors.Is(err, session.ErrUnauthorized):
		out["kind"] = "logged_out"
	case errors.Is(err, session.ErrInvalid), errors.Is(err, errUsage):
		out["kind"] = "usage"
	}
	return out
}

// store keeps a login in memory, by the store's name, over the clients that use it.
type store struct {
	mu     sync.Mutex
	tokens player.Tokens
}

// Load implements player.TokenStore.
func (s *store) Load(context.Context) (player.Tokens, error) { return s.held(), nil }

// Save implements player.TokenStore.
func (s *store) Save(_ context.Context, t player.Tokens) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens = t
	return nil
}

func (s *store) held() player.Tokens {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tokens
}
