package players

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/musterhq/muster/sdk/session"
	"github.com/musterhq/muster/sdk/session/player"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// search collects the results of a search.
func search(ctx context.Context, c *player.Client, r session.SearchRequest) (found []session.Info, err error) {
	for info, failed := range c.Search(ctx, r) {
		if failed != nil {
			return found, failed
		}
		found = append(found, info)
	}
	return found, nil
}

// The library goes the whole way without matchmaking: one player creates a game
// session in a pool, another finds it and joins; players without a slot learn
// nothing.
func TestLibrary_Sessions(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	server := s.server()
	pool := session.Target{QueueName: "duel"}
	anna, maker := s.login(nil)
	var net netcode
	bert, joiner := s.login(func(o *player.Config) { o.Connector = &net })
	eve, third := s.login(nil)

	made, err := anna.Create(t.Context(), session.CreateRequest{
		Target: pool, Name: "ours", MaxPlayers: 2, Properties: map[string]string{"map": "hill"}, Players: []session.NewPlayer{{PlayerID: maker.PlayerID}},
		Latency: map[string]map[string]time.Duration{maker.PlayerID: {s.place.Location: 20 * time.Millisecond}},
	})
	s.must(err)
	placed, err := anna.WaitPlacement(t.Context(), made.PlacementID)
	s.must(err)
	mine := placed.Connections[maker.PlayerID]
	if made.Session != nil || placed.Status != session.PlacementFulfilled || mine.SessionID != placed.SessionID || s.playerOf(mine.PlayerSessionID) != maker.PlayerID {
		t.Fatalf("got %+v, then %+v", made, placed)
	}
	found, err := search(t.Context(), bert, session.SearchRequest{Target: pool, Max: 1})
	s.must(err)
	if len(found) != 1 || found[0].ID != placed.SessionID || found[0].Name != "ours" || found[0].Properties["map"] != "hill" || !found[0].Open() {
		t.Fatalf("found %+v", found)
	}
	for filter, want := range map[string]int{
		"gameSessionProperties.map = 'hill' AND playerSessionCount=1": 1, "gameSessionName = 'theirs'": 0, "gameSessionId = '" + placed.SessionID + "'": 1,
		"gameSessionProperties.muster_pool = 'duel'": 0, // players do not see it
	} {
		r := session.SearchRequest{Target: pool, Filter: filter, Sort: "creationTimeMillis DESC"}
		if found, err := search(t.Context(), bert, r); err != nil || len(found) != want {
			t.Errorf("by %s there is %+v, %v", filter, found, err)
		}
	}
	elsewhere := session.SearchRequest{Target: session.Target{QueueName: "duel", Location: "custom-elsewhere"}}
	if found, err := search(t.Context(), bert, elsewhere); err != nil || len(found) != 0 {
		t.Errorf("elsewhere is %+v, %v", found, err)
	}
	if _, err := bert.Describe(t.Context(), placed.SessionID); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("who has no place is told of the game session: %v", err)
	}

	join := session.JoinRequest{SessionID: placed.SessionID, PlayerID: joiner.PlayerID, PlayerData: "blue"}
	place, err := bert.Join(t.Context(), join)
	s.must(err)
	if place != net.place || place.ReservedUntil.IsZero() || place.Addr() != mine.Addr() {
		t.Errorf("the place is %+v, connected to %+v", place, net.place)
	}
	if _, err := bert.Join(t.Context(), join); !errors.Is(err, session.ErrAlreadyJoined) {
		t.Errorf("joined twice: %v", err)
	}
	var again protocol.Reservation
	(&client{stage: s, login: protocol.Session{AccessToken: joiner.Access}}).call("POST", "/sessions/"+placed.SessionID+"/players", nil, 200, &again)
	if again.Connection.PlayerSessionID != place.PlayerSessionID {
		t.Error("a second wish to join takes a second place")
	}
	if found, err := search(t.Context(), eve, session.SearchRequest{Target: pool}); err != nil || len(found) != 0 {
		t.Errorf("a full game is listed: %+v, %v", found, err)
	}
	s.must(server.Accept(t.Context(), server.Hosted()[0], place.PlayerSessionID))
	for _, c := range []*player.Client{anna, bert} {
		if now, err := c.Describe(t.Context(), placed.SessionID); err != nil || now.Status != session.Active || now.Players != 2 || now.Open() {
			t.Errorf("the game session is %+v, %v", now, err)
		}
	}
	if _, err := eve.Join(t.Context(), session.JoinRequest{SessionID: placed.SessionID, PlayerID: third.PlayerID}); !errors.Is(err, session.ErrFull) {
		t.Errorf("into a full game session: %v", err)
	}
	if _, err := eve.Describe(t.Context(), placed.SessionID); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("who was not let in is told of the game session: %v", err)
	}

	s.must(bert.Leave(t.Context()))
	s.must(bert.Leave(t.Context()))
	s.must(server.End(t.Context()))
	if over, err := anna.Describe(t.Context(), placed.SessionID); err != nil || over.Status != session.Terminated || over.TerminatedAt.IsZero() {
		t.Errorf("after its end the game session is %+v, %v", over, err)
	}
	if _, err := bert.Join(t.Context(), join); !errors.Is(err, session.ErrNotActive) {
		t.Errorf("into a game session that is over: %v", err)
	}
}

// A placement is awaited even if a request is lost, and its cancellation is reported.
func TestLibrary_Placements(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil) // without a game server, so that placements stay under way
	lose := true
	waits := make(chan struct{})
	once := sync.OnceFunc(func() { close(waits) })
	c, me := s.login(func(o *player.Config) {
		o.HTTP = &http.Client{Transport: wire(func(r *http.Request) (*http.Response, error) {
			looks := r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/placements/")
			switch {
			case looks && lose:
				lose = false
				return nil, errors.New("no way there")
			case looks && r.URL.Query().Has("wait"):
				once()
			}
			return http.DefaultTransport.RoundTrip(r)
		})}
	})
	want := session.CreateRequest{Target: session.Target{QueueName: "duel"}, Players: []session.NewPlayer{{PlayerID: me.PlayerID}}}
	made, err := c.Create(t.Context(), want)
	s.must(err)
	second, err := c.Create(t.Context(), want)
	s.must(err)
	if _, err := c.Create(t.Context(), want); !errors.Is(err, session.ErrConflict) {
		t.Errorf("a third on its way: %v", err)
	}

	var ended error
	var all sync.WaitGroup
	all.Go(func() { _, ended = c.WaitPlacement(t.Context(), made.PlacementID) })
	<-waits
	s.must(c.CancelPlacement(t.Context(), made.PlacementID))
	all.Wait()
	if p, ok := errors.AsType[*session.PlacementError](ended); !ok || !errors.Is(ended, session.ErrPlacementEnded) ||
		p.Placement.ID != made.PlacementID || p.Placement.Status != session.PlacementCancelled {
		t.Errorf("cancelled, it ended with %v", ended)
	}
	s.must(c.CancelPlacement(t.Context(), made.PlacementID))

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.WaitPlacement(ctx, second.PlacementID); !errors.Is(err, context.Canceled) {
		t.Errorf("who stops waiting is told %v", err)
	}
}

// Members that the player API does not support are refused by name, not ignored.
func TestLibrary_SessionsRefuse(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	c, me := s.login(nil)
	for member, change := range map[string]func(*session.CreateRequest){
		"AliasID":       func(r *session.CreateRequest) { r.Target = session.Target{AliasID: "alias-1"} },
		"FleetID":       func(r *session.CreateRequest) { r.Target = session.Target{FleetID: "fleet-1"} },
		"Location":      func(r *session.CreateRequest) { r.Location = s.place.Location },
		"Data":          func(r *session.CreateRequest) { r.Data = "level 3" },
		"PlacementID":   func(r *session.CreateRequest) { r.PlacementID = "mine" },
		"LocationOrder": func(r *session.CreateRequest) { r.LocationOrder = []string{s.place.Location} },
		"Latency":       func(r *session.CreateRequest) { r.Latency = map[string]map[string]time.Duration{"somebody": {}} },
		"Players":       func(r *session.CreateRequest) { r.Players = []session.NewPlayer{{PlayerID: "somebody"}} },
		"MaxPlayers":    func(r *session.CreateRequest) { r.MaxPlayers = -1 },
	} {
		r := session.CreateRequest{Target: session.Target{QueueName: "duel"}, MaxPlayers: 2}
		change(&r)
		if _, err := c.Create(t.Context(), r); !errors.Is(err, session.ErrInvalid) || !strings.Contains(err.Error(), member) {
			t.Errorf("create with %s: %v", member, err)
		}
	}
	for member, change := range map[string]func(*session.SearchRequest){
		"AliasID":  func(r *session.SearchRequest) { r.Target = session.Target{AliasID: "alias-1"} },
		"FleetID":  func(r *session.SearchRequest) { r.Target = session.Target{FleetID: "fleet-1"} },
		"filter":   func(r *session.SearchRequest) { r.Filter = "players>1" },
		"sort":     func(r *session.SearchRequest) { r.Sort = "playerSessionCount UP" },
		"PageSize": func(r *session.SearchRequest) { r.PageSize = 21 },
	} {
		r := session.SearchRequest{Target: session.Target{QueueName: "duel"}}
		change(&r)
		if _, err := search(t.Context(), c, r); !errors.Is(err, session.ErrInvalid) || !strings.Contains(err.Error(), member) {
			t.Errorf("search with %s: %v", member, err)
		}
	}
	nowhere := session.Target{QueueName: "nowhere"}
	if _, err := c.Create(t.Context(), session.CreateRequest{Target: nowhere}); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("create in a pool that is not there: %v", err)
	}
	if _, err := search(t.Context(), c, session.SearchRequest{Target: nowhere}); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("search in a pool that is not there: %v", err)
	}
	if _, err := c.SearchPage(t.Context(), session.SearchRequest{Target: session.Target{QueueName: "duel"}}); !errors.Is(err, session.ErrInvalid) {
		t.Errorf("a page of a pool: %v", err)
	}
	if _, err := c.Reserve(t.Context(), session.JoinRequest{SessionID: "YXJuOmF3czpub25l", PlayerID: "somebody"}); !errors.Is(err, session.ErrInvalid) {
		t.Errorf("a place for somebody else: %v", err)
	}
	if _, err := c.Reserve(t.Context(), session.JoinRequest{SessionID: "YXJuOmF3czpub25l", PlayerID: me.PlayerID}); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("a place in no game session: %v", err)
	}
}
