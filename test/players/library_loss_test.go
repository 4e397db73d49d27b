package players

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/musterhq/muster/sdk/session"
	"github.com/musterhq/muster/sdk/session/player"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// wire is a transport on which a test loses requests or answers.
type wire func(r *http.Request) (*http.Response, error)

func (w wire) RoundTrip(r *http.Request) (*http.Response, error) { return w(r) }

// If the answer to the start of a ticket is lost and the player gives up, the ticket
// that was created is stopped: the player can start another.
func TestLibrary_GivesUpUnanswered(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	c, me := s.login(func(o *player.Config) {
		o.HTTP = &http.Client{Transport: wire(func(r *http.Request) (*http.Response, error) {
			got, err := http.DefaultTransport.RoundTrip(r)
			if err == nil && r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/matchmaking/tickets") && ctx.Err() == nil {
				got.Body.Close()
				cancel()
				return nil, errors.New("the answer is lost")
			}
			return got, err
		})}
	})
	want := session.MatchRequest{Configuration: "duel", Players: []session.Player{{ID: me.PlayerID}}}
	if _, err := session.FindMatch(ctx, c, c, &netcode{}, want, session.MatchOptions{}); err == nil {
		t.Fatal("a match was found")
	}
	if _, err := c.StartMatchmaking(t.Context(), want); err != nil {
		t.Errorf("the lost ticket is in the way: %v", err)
	}
}

// While logins cannot be renewed, an access token is used for as long as it is valid.
func TestLibrary_RenewalFails(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	kept := &pocket{}
	s.login(func(o *player.Config) { o.Store = kept })
	refused := 0
	c, err := player.New(player.Config{URL: s.url, Store: kept, HTTP: &http.Client{Transport: wire(func(r *http.Request) (*http.Response, error) {
		if strings.Contains(r.URL.Path, "/auth/") {
			refused++
			return nil, errors.New("no way there")
		}
		return http.DefaultTransport.RoundTrip(r)
	})}})
	s.must(err)
	if _, err := c.Login(t.Context()); !errors.Is(err, session.ErrUnavailable) {
		t.Errorf("login: %v", err)
	}
	if _, err := c.DescribeTickets(t.Context(), "no-such-ticket"); err != nil || refused == 0 {
		t.Errorf("with a token that is good: %v, after %d logins that were refused", err, refused)
	}
}

// Behind a proxy that compresses, and so makes ETags weak, data keeps its version:
// what was read can be written.
func TestLibrary_DataBehindAProxy(t *testing.T) {
	t.Parallel()
	s := bare(t, nil)
	c, _ := s.login(func(o *player.Config) {
		o.HTTP = &http.Client{Transport: wire(func(r *http.Request) (*http.Response, error) {
			got, err := http.DefaultTransport.RoundTrip(r)
			if err == nil && got.Header.Get("ETag") != "" {
				got.Header.Set("ETag", "W/"+got.Header.Get("ETag"))
			}
			return got, err
		})}
	})
	_, err := c.PutData(t.Context(), "private", "save", 1, player.NoVersion)
	s.must(err)
	var level int
	version, err := c.GetData(t.Context(), "private", "save", &level)
	s.must(err)
	if _, err := c.PutData(t.Context(), "private", "save", level+1, version); err != nil {
		t.Errorf("at version %d: %v", version, err)
	}
}

// A push that newer connections of the player have replaced is not opened again, which would
// end one of those: Track polls from then on, and Watch ends.
func TestLibrary_ReplacedPush(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	s.server()
	c, me := s.login(nil)
	anna := &client{stage: s, login: protocol.Session{PlayerID: me.PlayerID, AccessToken: me.Access}}
	ticket := anna.ask("duel")
	track, stopTrack := iter.Pull(c.Track(t.Context(), ticket.TicketID))
	defer stopTrack()
	if e, ok := track(); !ok || e.Err != nil {
		t.Fatalf("the ticket is not followed: %+v", e)
	}
	watch, stopWatch := iter.Pull(c.Watch(t.Context()))
	defer stopWatch()
	if e, ok := watch(); !ok || e.Push != player.PushConnected {
		t.Fatalf("not connected: %+v", e)
	}
	var newer []*socket
	for range 3 {
		push, _ := anna.greeted("")
		newer = append(newer, push)
	}
	for e, ok := watch(); ok; e, ok = watch() {
		if e.Push != "" {
			t.Errorf("watching goes on: %s", e.Push)
		}
	}
	s.guest().ask("duel")
	var last session.TicketEvent
	for e, ok := track(); ok; e, ok = track() {
		last = e
	}
	if last.Ticket.ID != ticket.TicketID || last.Ticket.State != session.Completed {
		t.Errorf("the ticket was followed to %+v", last)
	}
	for i, push := range newer {
		push.say(protocol.MessagePing, "p", i)
		push.of(protocol.MessagePong, new(int))
	}
}

// A read and a write in any case are repeated when the server is not reached; what could be
// done twice is not, and neither is a write that depends on a version.
func TestLibrary_Repeats(t *testing.T) {
	t.Parallel()
	s := bare(t, nil)
	var fails atomic.Int64
	c, _ := s.login(func(o *player.Config) {
		o.HTTP = &http.Client{Transport: wire(func(r *http.Request) (*http.Response, error) {
			if !strings.Contains(r.URL.Path, "/auth/") && fails.Add(-1) >= 0 {
				return nil, errors.New("no way there")
			}
			return http.DefaultTransport.RoundTrip(r)
		})}
	})
	for _, call := range []struct {
		name    string
		repeats bool
		make    func() error
	}{
		{"read", true, func() error { _, err := c.Account(t.Context()); return err }},
		{"read without login", true, func() error { _, err := c.World(t.Context()); return err }},
		{"write", true, func() error { _, err := c.PutData(t.Context(), "private", "k", 1, player.AnyVersion); return err }},
		{"write at a version", false, func() error { _, err := c.PutData(t.Context(), "private", "k", 2, 1); return err }},
		{"party", false, func() error { _, err := c.CreateParty(t.Context(), "none", 2); return err }},
	} {
		fails.Store(2)
		if err := call.make(); (err == nil) != call.repeats || err != nil && !errors.Is(err, session.ErrUnavailable) {
			t.Errorf("%s: %v; want it repeated: %t", call.name, err, call.repeats)
		}
		if left := fails.Load() >= 0; left == call.repeats {
			t.Errorf("%s: %d failures are left", call.name, fails.Load())
		}
	}
}
