package backend

import (
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/musterhq/muster/flexmatch"
	"github.com/musterhq/muster/identity"
	"github.com/musterhq/muster/internal/celltest"
	"github.com/musterhq/muster/lobby"
	"github.com/musterhq/muster/placement"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// house is a door and the services behind it. On an open server, players can use the
// matchmaker "alone", whose matches have no game session, and the queue "empty".
type house struct {
	*celltest.Cell
	ids   *identity.Service
	lobby *lobby.Service
	b     *Backend
}

const duel = `{"name":"duel","ruleLanguageVersion":"1.0","teams":[{"name":"red","minPlayers":1,"maxPlayers":1},{"name":"blue","minPlayers":1,"maxPlayers":1}]}`

// inHouse runs f in virtual time, with the loops of the matchmaker and the lobby running.
func inHouse(t *testing.T, f func(*house)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		defer h.Close()
		f(h)
		synctest.Wait()
	})
}

// newHouse opens a house. The loops of the matchmaker and the lobby run until it is closed.
func newHouse(t testing.TB) *house {
	t.Helper()
	h := &house{Cell: celltest.New(t, celltest.Options{})}
	queues := placement.New(h.Store, placement.Deps{Events: h.Events, Tags: h.Tags, Fleets: h.Fleets, Computes: h.Computes, Sessions: h.Sessions}, placement.Options{})
	matches := flexmatch.New(h.Store, flexmatch.Deps{Home: celltest.Home, Events: h.Events, Tags: h.Tags, Sessions: h.Sessions, Placements: queues}, flexmatch.Options{})
	h.ids = h.Accounts()
	var err error
	h.lobby, err = lobby.New(h.Store, lobby.Deps{Identity: h.ids, Fleets: h.Fleets, Sessions: h.Sessions, Placements: queues, Matches: matches}, lobby.Options{Offer: lobby.Offer{Open: true}})
	h.Must(err)
	settings, err := NewSettings(Config{Open: true})
	h.Must(err)
	h.b = New(Deps{Store: h.Store, Identity: h.ids, Fleets: h.Fleets, Lobby: h.lobby, Base: "http://play.example", Origin: "http://play.example"}, settings)
	h.Open()
	_, err = queues.Queues.Create.Do(h.Ctx, placement.QueueInput{Queue: placement.Queue{Name: "empty"}})
	h.Must(err)
	_, err = matches.RuleSets.Create(h.Ctx, flexmatch.RuleSetInput{Name: "duel", Body: duel})
	h.Must(err)
	_, err = matches.Configurations.Create(h.Ctx, flexmatch.ConfigurationInput{Configuration: flexmatch.Configuration{Name: "alone", RuleSet: "duel", Mode: flexmatch.Standalone, RequestTimeout: time.Hour}})
	h.Must(err)
	h.Start(queues.Run, matches.Run, h.lobby.Run)
	return h
}

func (h *house) guest() (player, token string) {
	h.Helper()
	s := h.login()
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

// start requests a match.
func (h *house) start(token string) (t protocol.Ticket) {
	h.Must(json.Unmarshal(h.send("192.0.2.1", token, "POST", protocol.Base+"/matchmaking/tickets", `{"matchmaker":"alone"}`).Body.Bytes(), &t))
	return t
}
