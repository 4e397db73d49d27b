package backend

import (
	_ "embed"
	"net/http"
	"strings"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

type route struct {
	method, path string // as in the description
	access       access
	handle       handler
}

func (rt *route) pattern() string { return rt.method + " " + rt.path }

// name returns the route's name in metrics and the log.
func (rt *route) name() string { return rt.method + " " + strings.TrimPrefix(rt.path, protocol.Base) }

// newMux serves every route, and refuses everything else below /player/.
func (b *Backend) newMux() *http.ServeMux {
	mux := http.NewServeMux()
	for _, rt := range b.routes() {
		mux.HandleFunc(rt.pattern(), func(w http.ResponseWriter, r *http.Request) { b.serve(rt, w, r) })
	}
	mux.HandleFunc("OPTIONS /player/", func(w http.ResponseWriter, r *http.Request) {
		b.serve(route{method: "OPTIONS", path: "/", handle: b.preflight}, w, r)
	})
	mux.HandleFunc("/player/", func(w http.ResponseWriter, r *http.Request) {
		b.serve(route{method: "ANY", path: "/", handle: func(*request) (answer, error) { return answer{}, notThere(r) }}, w, r)
	})
	return mux
}

// notThere refuses a request for which there is no route.
func notThere(r *http.Request) error {
	return refuse("not-found", "there is nothing at "+r.Method+" "+r.URL.Path)
}

// routes lists every operation; a test compares the list with the description.
func (b *Backend) routes() []route {
	const v1 = protocol.Base
	const ticket, party = v1 + "/matchmaking/tickets", v1 + "/parties"
	const data = "/data/{namespace}/{key}"
	return []route{
		{"GET", "/player/.well-known/openid-configuration", open, b.accounts.discovery},
		{"GET", "/player/.well-known/jwks.json", open, b.accounts.keySet},
		{"GET", v1 + "/openapi.yaml", open, b.places.serves(Description)},
		{"GET", v1 + "/asyncapi.yaml", open, b.places.serves(PushDescription)},
		{"GET", v1 + "/ping", pages, b.places.ping},
		{"GET", v1 + "/config", open, b.places.configuration},
		{"GET", v1 + "/locations", open, b.places.locations},

		{"POST", v1 + "/auth/guest", open, b.accounts.createGuest},
		{"POST", v1 + "/auth/guest/login", open, reads(free, b.accounts.loginGuest)},
		{"POST", v1 + "/auth/refresh", open, reads(free, b.accounts.refresh)},
		{"POST", v1 + "/auth/logout", open, reads(free, b.accounts.logout)},
		{"POST", v1 + "/auth/ws-ticket", players, counted(change, b.sockets.ticket)},
		{"POST", v1 + "/auth/{provider}", open, reads(login, b.accounts.loginProvider)},

		{"GET", v1 + "/players/me", players, b.accounts.me},
		{"PATCH", v1 + "/players/me", players, reads(change, b.accounts.changeMe)},
		{"DELETE", v1 + "/players/me", players, counted(change, b.accounts.deleteMe)},
		{"PUT", v1 + "/players/me/identities/{provider}", players, reads(login, b.accounts.link)},
		{"DELETE", v1 + "/players/me/identities/{provider}", players, counted(change, b.accounts.unlink)},
		{"POST", v1 + "/players/me/merge", players, reads(login, b.accounts.merge)},
		{"GET", v1 + "/players/me/data/{namespace}", players, b.data.list},
		{"GET", v1 + "/players/me" + data, players, b.data.get},
		{"PUT", v1 + "/players/me" + data, players, b.data.put},
		{"DELETE", v1 + "/players/me" + data, players, b.data.remove},
		{"PUT", v1 + "/players/me/latency", players, reads(change, b.places.reportLatency)},
		{"GET", v1 + "/players/me/reservations", players, b.games.reservations},
		{"GET", v1 + "/players/{player}", players, b.accounts.publicPlayer},
		{"POST", v1 + "/players/lookup", players, reads(message("lookup"), b.accounts.lookUpPlayers)},

		{"POST", ticket, players, reads(newTicket, b.tickets.start)},
		{"GET", ticket, players, b.tickets.list},
		{"GET", ticket + "/{ticket}", players, b.tickets.get},
		{"DELETE", ticket + "/{ticket}", players, counted(change, b.tickets.cancel)},
		{"POST", ticket + "/{ticket}/acceptance", players, reads(message("accept"), b.tickets.answer)},

		{"POST", party, players, reads(change, b.parties.create)},
		{"POST", party + "/join", players, reads(change, b.parties.join)},
		{"GET", party + "/{party}", players, b.parties.get},
		{"PUT", party + "/{party}/members/me", players, reads(change, b.parties.change)},
		{"DELETE", party + "/{party}/members/{player}", players, counted(change, b.parties.leave)},

		{"GET", v1 + "/sessions", players, b.games.list},
		{"POST", v1 + "/sessions", players, reads(free, b.placements.start)},
		{"GET", v1 + "/sessions/{session}", players, counted(message("session"), b.games.get)},
		{"POST", v1 + "/sessions/{session}/players", players, counted(change, b.games.join)},
		{"GET", v1 + "/placements/{placement}", players, b.placements.get},
		{"DELETE", v1 + "/placements/{placement}", players, counted(change, b.placements.cancel)},

		{"GET", v1 + "/ws", open, b.sockets.open},

		{"GET", v1 + "/server/players/{player}" + data, access{operator, auth.ReadPlayerData}, b.data.serverGet},
		{"PUT", v1 + "/server/players/{player}" + data, access{operator, auth.WritePlayerData}, b.data.serverPut},
		{"PUT", v1 + "/server/players/{player}/ban", access{operator, auth.BanPlayer}, reads(free, b.accounts.ban)},
	}
}

//go:generate go run github.com/musterhq/muster/internal/gen/openapi -descriptions . -top ..

// Description is the OpenAPI 3.1 description of the API, in YAML. The types of
// package protocol and of the client libraries are generated from it.
//
//go:embed openapi.yaml
var Description []byte

// PushDescription is the AsyncAPI 3.0 description of the WebSocket, in YAML. Its messages
// contain schemas of Description.
//
//go:embed asyncapi.yaml
var PushDescription []byte
