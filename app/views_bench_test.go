package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/musterhq/muster/app/pages"
	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/flexmatch"
	"github.com/musterhq/muster/session"
)

// BenchmarkViews measures what one computation of a console's page costs, with 10,000 game
// sessions of 2 players, as many processes, and 2,000 open tickets. A page that is open is
// computed at most once a second (a game session and a queue twice), however many have it open.
func BenchmarkViews(b *testing.B) {
	t := newBench(b)
	ids := t.games(10_000)
	for i, id := range ids {
		var in session.ReserveInput
		in.GameSessionID = id
		for n := range 2 {
			in.Players = append(in.Players, session.Joining{PlayerID: fmt.Sprint("player-", 2*i+n)})
		}
		_, err := t.domain.sessions.Players.Reserve(t.Context(), in)
		t.must(err)
	}
	skill := 1000.0
	for i := range 2000 {
		_, _, err := t.domain.matches.Start(t.Context(), flexmatch.StartInput{Configuration: "bench", Players: []flexmatch.Player{{
			ID: fmt.Sprint("waiting-", i), Attributes: map[string]flexmatch.Attribute{"skill": {N: &skill}},
		}}})
		t.must(err)
	}
	anybody := func(*http.Request, auth.Action) (auth.Caller, error) { return auth.Anybody(), nil }
	views := t.domain.pages.Views(pages.Gate{Who: anybody})
	for _, v := range []struct{ name, query string }{
		{"now", ""}, {"now", "range=24h"}, {"now", "range=7d"}, {"world", ""}, {"sessions", ""}, {"sessions", "limit=10000"}, {"sessions", "sort=-players"}, {"session", "id=" + ids[0]},
		{"fleet", "id=" + t.fleet.ID}, {"matchmaker", "name=bench"}, {"matchmakers", ""}, {"matchmakers", "range=7d"}, {"player", "id=player-7"}, {"search", "text=player-19999"},
	} {
		b.Run(v.name+" "+v.query, func(b *testing.B) {
			q, err := url.ParseQuery(v.query)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			var size int
			for b.Loop() {
				data, err := views[v.name].Data(b.Context(), auth.Anybody(), q)
				if err != nil {
					b.Fatal(err)
				}
				text, err := json.Marshal(data)
				if err != nil {
					b.Fatal(err)
				}
				size = len(text)
			}
			b.ReportMetric(float64(size), "bytes-sent")
		})
	}
}
