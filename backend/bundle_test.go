package backend

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/flexmatch"
	"github.com/musterhq/muster/identity"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/tag"
	"github.com/musterhq/muster/lobby"
	"github.com/musterhq/muster/placement"
	"github.com/musterhq/muster/session"
)

// house is a door and the services behind it. On an open server, players can use the
// matchmaker "alone", whose matches have no game session, and the queue "empty".
type house struct {
	*testing.T
	ctx   context.Context
	ids   *identity.Service
	lobby *lobby.Service
	b     *Backend
}

// studio is an operator's webhook: a token is the name of its account.
type studio struct{}

func (studio) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	var in struct{ Token string }
	if err := json.UnmarshalRead(r.Body, &in, json.MatchCaseInsensitiveNames(true)); err != nil {
		return nil, err
	}
	err := json.MarshalWrite(w, map[string]string{"subject": in.Token})
	return w.Result(), err
}

const duel = `{"name":"duel","ruleLanguageVersion":"1.0","teams":[{"name":"red","minPlayers":1,"maxPlayers":1},{"name":"blue","minPlayers":1,"maxPlayers":1}]}`

// inHouse runs f in virtual time, with the loops of the matchmaker and the lobby running.
func inHouse(t *testing.T, f func(*house)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := &house{T: t, ctx: context.Background()}
		master, err := auth.NewMaster(make([]byte, auth.MasterKeySize))
		h.must(err)
		st := store.New(store.Options{Driver: store.NewMemory()})
		events, tags, home := event.New(st), tag.New(st), arn.Home{Region: "us-east-1", Account: "000000000000"}
		fleets := fleet.New(st, fleet.Deps{Events: events, Tags: tags}, fleet.Options{Home: home})
		computes := compute.New(st, compute.Deps{Events: events, Fleets: fleets, Tags: tags}, compute.Options{Tokens: master})
		sessions := session.New(st, session.Deps{Events: events, Fleets: fleets, Computes: computes}, session.Options{})
		queues := placement.New(st, placement.Deps{Events: events, Tags: tags, Fleets: fleets, Computes: computes, Sessions: sessions}, placement.Options{})
		matches := flexmatch.New(st, flexmatch.Deps{Home: home, Events: events, Tags: tags, Sessions: sessions, Placements: queues}, flexmatch.Options{})
		h.ids, err = identity.New(st, identity.Deps{Events: events, Secrets: master, Client: &http.Client{Transport: studio{}}}, identity.Options{
			Issuer:    func() string { return "https://play.example/player" },
			Providers: []identity.ProviderConfig{{Name: "studio", Kind: identity.Custom, URL: "https://studio.example/who", Secret: "sixteen letters or more"}},
		})
		h.must(err)
		h.lobby, err = lobby.New(st, lobby.Deps{Identity: h.ids, Fleets: fleets, Sessions: sessions, Placements: queues, Matches: matches}, lobby.Options{Offer: lobby.Offer{Open: true}})
		h.must(err)
		settings, err := NewSettings(Config{Open: true})
		h.must(err)
		h.b = New(Deps{Store: st, Identity: h.ids, Fleets: fleets, Lobby: h.lobby, Base: "http://play.example"}, settings)
		h.must(st.Open(h.ctx))
		_, err = queues.Queues.Create.Do(h.ctx, placement.QueueInput{Queue: placement.Queue{Name: "empty"}})
		h.must(err)
		_, err = matches.RuleSets.Create(h.ctx, flexmatch.RuleSetInput{Name: "duel", Body: duel})
		h.must(err)
		_, err = matches.Configurations.Create(h.ctx, flexmatch.ConfigurationInput{Configuration: flexmatch.Configuration{Name: "alone", RuleSet: "duel", Mode: flexmatch.Standalone}})
		h.must(err)
		ctx, cancel := context.WithCancel(h.ctx)
		var running sync.WaitGroup
		for _, loop := range []func(context.Context){queues.Run, matches.Run, h.lobby.Run} {
			running.Go(func() { loop(ctx) })
		}
		defer func() { cancel(); running.Wait(); h.must(st.Close()) }()
		f(h)
		synctest.Wait()
	})
}

func (h *house) must(err error) {
	if err != nil {
		h.Helper()
		h.Fatal(err)
	}
}

func (h *house) guest() (player, token string) {
	h.Helper()
	h.must(h.ids.Open(h.ctx))
	s, err := h.ids.Logins.CreateGuest(h.ctx)
	h.must(err)
	return s.PlayerID, s.AccessToken
}

// send makes a request from an address; without a token it is anonymous.
func (h *house) send(from, token, method, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.RemoteAddr = from + ":1234"
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	w := httptest.NewRecorder()
	h.b.ServeHTTP(w, r)
	return w
}
