package players

import (
	"context"
	"errors"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/beacon"
	"github.com/musterhq/muster/sdk/session"
	"github.com/musterhq/muster/sdk/session/player"
)

// pocket is an in-memory TokenStore.
type pocket struct{ tokens player.Tokens }

func (p *pocket) Load(context.Context) (player.Tokens, error)   { return p.tokens, nil }
func (p *pocket) Save(_ context.Context, t player.Tokens) error { p.tokens = t; return nil }

// login returns a client of the library that is logged in.
func (s *stage) login(change func(*player.Config)) (*player.Client, player.Tokens) {
	s.Helper()
	o := player.Config{URL: s.url}
	if change != nil {
		change(&o)
	}
	c, err := player.New(o)
	s.must(err)
	t, err := c.Login(s.Context())
	s.must(err)
	return c, t
}

// netcode records where a player was sent.
type netcode struct{ place session.Connection }

func (n *netcode) Connect(_ context.Context, c session.Connection) error { n.place = c; return nil }
func (n *netcode) Disconnect(context.Context) error                      { return nil }

// What the library refuses by itself, and how another player's ticket looks: like one that never
// existed.
func TestLibrary_Tickets(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	c, me := s.login(nil)
	ticket, err := c.StartMatchmaking(t.Context(), session.MatchRequest{Configuration: "duel", Players: []session.Player{{ID: me.PlayerID}}})
	s.must(err)
	if _, err := c.StartMatchmaking(t.Context(), session.MatchRequest{Configuration: "duel", Players: []session.Player{{ID: "somebody"}}}); !errors.Is(err, session.ErrInvalid) {
		t.Errorf("a ticket for somebody else: %v", err)
	}
	other, _ := s.login(nil)
	if err := other.StopMatchmaking(t.Context(), ticket.ID); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("somebody else's ticket is cancelled: %v", err)
	}
	if found, err := other.DescribeTickets(t.Context(), ticket.ID, "none"); err != nil || len(found) != 0 {
		t.Errorf("somebody else's ticket is seen: %+v, %v", found, err)
	}
	var last session.TicketEvent
	for e := range other.Track(t.Context(), ticket.ID) {
		last = e
	}
	if last.Kind != session.TrackError || !last.Last() {
		t.Errorf("somebody else's ticket ended with %+v", last)
	}
	for range 2 { // cancelling it again is no error
		s.must(c.StopMatchmaking(t.Context(), ticket.ID))
	}
}

// The login is restored with the refresh token, as the same player; a guest who has lost the secret
// starts anew.
func TestLibrary_ComesBack(t *testing.T) {
	t.Parallel()
	s := bare(t, nil)
	kept := &pocket{}
	_, first := s.login(func(o *player.Config) { o.Store = kept })
	if kept.tokens.Refresh != first.Refresh || kept.tokens.GuestSecret == "" {
		t.Fatalf("kept %+v", kept.tokens)
	}
	_, second := s.login(func(o *player.Config) { o.Store = kept })
	if second.PlayerID != first.PlayerID || second.Refresh == first.Refresh || second.GuestSecret != first.GuestSecret {
		t.Errorf("came back as %+v, was %+v", second, first)
	}
	// Without the secret the account is lost.
	lost, err := player.New(player.Config{URL: s.url, Store: &pocket{player.Tokens{PlayerID: first.PlayerID, Access: "old", Refresh: "lost"}}})
	s.must(err)
	if now, err := lost.Login(t.Context()); err != nil || now.PlayerID == first.PlayerID {
		t.Errorf("a lost login comes back as %s, %v; want a new guest", now.PlayerID, err)
	}
	s.must(lost.DeleteAccount(t.Context()))
	if _, err := lost.Reservations(t.Context()); !errors.Is(err, session.ErrUnauthorized) {
		t.Errorf("a deleted account may ask: %v", err)
	}
}

// The library lists the beacons, measures latency with them, and reports it.
func TestLibrary_World(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	c, _ := s.login(nil)
	took, err := c.ReportLatency(t.Context(), []player.Sample{{Location: s.place.Location, RTT: 12500 * time.Microsecond}, {Location: "nowhere", RTT: time.Second}})
	if err != nil || len(took) != 1 || took[s.place.Location] != 13*time.Millisecond {
		t.Errorf("the server took %v, %v", took, err)
	}
	places, err := c.Locations(t.Context())
	if err != nil || len(places) != 1 || places[0].UDP == "" || places[0].HTTPS == "" {
		t.Fatalf("there is %+v, %v", places, err)
	}
	measured, err := beacon.Measure(t.Context(), []beacon.Endpoint{{Location: places[0].Name, UDP: places[0].UDP}},
		beacon.MeasureOptions{Interval: 100 * time.Millisecond, Timeout: 10 * time.Second, Deadline: time.Minute})
	if err != nil || measured[0].Err != nil || measured[0].RTT <= 0 {
		t.Errorf("measured %+v, %v", measured, err)
	}
	told, err := s.aws.ListLocations(t.Context(), &gamelift.ListLocationsInput{Filters: []types.LocationFilter{types.LocationFilterCustom}})
	s.must(err)
	if at := told.Locations[0].PingBeacon; at == nil || net.JoinHostPort(*at.UDPEndpoint.Domain, strconv.Itoa(int(*at.UDPEndpoint.Port))) != places[0].UDP {
		t.Errorf("the AWS API tells the beacon %+v, want %s", at, places[0].UDP)
	}
	world, err := c.World(t.Context())
	if err != nil || len(world.Matchmakers) != 4 || world.APIVersion == "" {
		t.Errorf("there is %+v, %v", world, err)
	}
	if _, err := player.New(player.Config{URL: "play.example.com"}); !errors.Is(err, session.ErrInvalid) {
		t.Errorf("no URL: %v", err)
	}
}
