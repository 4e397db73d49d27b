package backend

import (
	"net/http"
	"strings"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/beacon"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// route is one operation of the API.
type route struct {
	method, path string // as in the description
	access       access
	handle       func(*request) (answer, error)
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
	mux.HandleFunc("/player/", func(w http.ResponseWriter, r *http.Request) {
		b.serve(route{method: "ANY", path: "/", handle: func(*request) (answer, error) {
			return answer{}, refuse("not-found", "there is nothing at "+r.Method+" "+r.URL.Path)
		}}, w, r)
	})
	return mux
}

// routes lists every operation; a test compares the list with the description.
func (b *Backend) routes() []route {
	const v1 = protocol.Base
	const ticket, party = v1 + "/matchmaking/tickets", v1 + "/parties"
	const data = "/data/{namespace}/{key}"
	return []route{
		{"GET", "/player/.well-known/openid-configuration", open, (*request).discovery},
		{"GET", "/player/.well-known/jwks.json", open, (*request).keySet},
		{"GET", v1 + "/openapi.yaml", open, (*request).description},
		{"GET", v1 + "/ping", open, (*request).ping},
		{"GET", v1 + "/config", open, (*request).config},
		{"GET", v1 + "/locations", open, (*request).locations},

		{"POST", v1 + "/auth/guest", open, (*request).createGuest},
		{"POST", v1 + "/auth/guest/login", open, (*request).loginGuest},
		{"POST", v1 + "/auth/refresh", open, (*request).refresh},
		{"POST", v1 + "/auth/logout", open, (*request).logout},
		{"POST", v1 + "/auth/ws-ticket", players, (*request).socketTicket},
		{"POST", v1 + "/auth/{provider}", open, (*request).loginProvider},

		{"GET", v1 + "/players/me", players, (*request).me},
		{"PATCH", v1 + "/players/me", players, (*request).changeMe},
		{"DELETE", v1 + "/players/me", players, (*request).deleteMe},
		{"PUT", v1 + "/players/me/identities/{provider}", players, (*request).link},
		{"DELETE", v1 + "/players/me/identities/{provider}", players, (*request).unlink},
		{"POST", v1 + "/players/me/merge", players, (*request).merge},
		{"GET", v1 + "/players/me/data/{namespace}", players, (*request).allData},
		{"GET", v1 + "/players/me" + data, players, (*request).getData},
		{"PUT", v1 + "/players/me" + data, players, (*request).putData},
		{"DELETE", v1 + "/players/me" + data, players, (*request).deleteData},
		{"PUT", v1 + "/players/me/latency", players, (*request).reportLatency},
		{"GET", v1 + "/players/me/reservations", players, (*request).reservations},
		{"GET", v1 + "/players/{player}", players, (*request).publicPlayer},
		{"POST", v1 + "/players/lookup", players, (*request).lookUpPlayers},

		{"POST", ticket, players, (*request).startMatchmaking},
		{"GET", ticket, players, (*request).tickets},
		{"GET", ticket + "/{ticket}", players, (*request).getTicket},
		{"DELETE", ticket + "/{ticket}", players, (*request).stopMatchmaking},
		{"POST", ticket + "/{ticket}/acceptance", players, (*request).acceptMatch},

		{"POST", party, players, (*request).createParty},
		{"POST", party + "/join", players, (*request).joinParty},
		{"GET", party + "/{party}", players, (*request).getParty},
		{"PUT", party + "/{party}/members/me", players, (*request).changeMember},
		{"DELETE", party + "/{party}/members/{player}", players, (*request).leaveParty},

		{"GET", v1 + "/sessions", players, (*request).listSessions},
		{"POST", v1 + "/sessions", players, (*request).createSession},
		{"GET", v1 + "/sessions/{session}", players, (*request).getSession},
		{"POST", v1 + "/sessions/{session}/players", players, (*request).joinSession},
		{"GET", v1 + "/placements/{placement}", players, (*request).getPlacement},
		{"DELETE", v1 + "/placements/{placement}", players, (*request).stopPlacement},

		{"GET", v1 + "/ws", open, (*request).socket},

		{"GET", v1 + "/server/players/{player}" + data, access{operator, auth.ReadPlayerData}, (*request).serverGetData},
		{"PUT", v1 + "/server/players/{player}" + data, access{operator, auth.WritePlayerData}, (*request).serverPutData},
		{"PUT", v1 + "/server/players/{player}/ban", access{operator, auth.BanPlayer}, (*request).ban},
	}
}

func (rq *request) description() (answer, error) {
	h := rq.w.Header()
	h.Set("Content-Type", "application/yaml")
	h.Set("Cache-Control", "public, max-age=300")
	rq.w.Write(Description) // fails if the client has gone
	return answer{}, nil
}

func (rq *request) ping() (answer, error) {
	beacon.Ping().ServeHTTP(rq.w, rq.http)
	return answer{}, nil
}

// public allows caches to keep the answer.
func (rq *request) public(maxAge string) {
	rq.w.Header().Set("Cache-Control", "public, max-age="+maxAge)
}

// param returns a part of the path.
func (rq *request) param(name string) string { return rq.http.PathValue(name) }

// ok is the usual answer.
func ok(body any) (answer, error) { return answer{status: http.StatusOK, body: body}, nil }

// done is the answer without a body.
func done(err error) (answer, error) { return answer{status: http.StatusNoContent}, err }
