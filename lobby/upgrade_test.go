package lobby

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/musterhq/muster/flexmatch"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wait"
)

// Rows as an earlier version wrote them.
const (
	oldEnded = `{"id":"ended","matchmaker":"alone","configuration":"alone","party_id":"p","players":["anna","bert"],
		"found":{"state":"completed","match_id":"m","estimate":30000000000,"members":[{"player_id":"anna","team":"red","accepted":true,"player_session_id":"psess-1"},{"player_id":"bert","team":"red"}],
			"session_id":"arn:x","ip":"192.0.2.1","dns_name":"game.example","port":7777},
		"seq":5,"change":"018f-5","created":"2026-01-01T00:00:00Z","updated":"2026-01-01T00:00:10Z","expires":"2100-01-01T00:00:00Z","expelled":true}`
	oldBehind = `{"id":"behind","matchmaker":"alone","configuration":"alone","players":["carl"],
		"found":{"state":"queued","members":[{"player_id":"carl"}]},"seq":1,"change":"018f-1","created":"2026-01-01T00:00:00Z","updated":"2026-01-01T00:00:00Z","expires":"2026-01-01T01:00:00Z"}`
	oldLost = `{"id":"lost","matchmaker":"alone","configuration":"alone","players":["dora"],
		"found":{"state":"searching","members":[{"player_id":"dora"}]},"seq":2,"change":"018f-2","created":"2026-01-01T00:00:00Z","updated":"2026-01-01T00:00:00Z","expires":"2026-01-01T01:00:00Z"}`
	oldParty = `{"id":"p","code":"ABCDEF","leader":"anna","matchmaker":"alone","max":2,"members":[{"player_id":"anna"},{"player_id":"bert","ready":"2026-01-01T00:00:00Z","attributes":"{\"skill\":1}","latency":{"custom-home":12}}],
		"change":"018f-3","expires":"2100-01-01T00:00:00Z"}`
	oldPlacement = `{"id":"place","pool":"empty","player_id":"anna","seen":{"state":"pending"},"seq":1,"change":"018f-4","created":"2026-01-01T00:00:00Z","expires":"2026-01-01T01:00:00Z","expelled":true}`
)

// oldRow is a row whose members the writer chose.
type oldRow map[string]any

// writeRows puts rows into a database as an earlier version left them.
func writeRows(t *testing.T, driver store.Driver, rows map[string][]string) {
	t.Helper()
	st := store.New(store.Options{Driver: driver})
	tables := map[string]*store.Table[oldRow]{}
	for name := range rows {
		tables[name] = store.NewTable(st, store.TableSpec[oldRow]{Name: name, Key: func(r *oldRow) string { return (*r)["id"].(string) }})
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(st.Open(t.Context()))
	must(st.Update(t.Context(), func(tx *store.Tx) error {
		for table, rows := range rows {
			for _, text := range rows {
				var row oldRow
				if err := json.Unmarshal([]byte(text), &row); err != nil {
					return err
				}
				tables[table].Put(tx, &row)
			}
		}
		return nil
	}))
	must(st.Close())
}

// Rows of an earlier version are read, and those that are behind the matchmaker, or that
// it never received, are brought up to date at the start, once.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := hallOf(t, map[string][]string{ // the tickets, unlike the rows, are the matchmaker's own
			"play_ticket": {oldEnded, oldBehind, oldLost}, "play_party": {oldParty}, "play_placement": {oldPlacement}, "player": accounts,
		})
		defer h.Close()
		behind, _, err := h.matches.Start(h.Ctx, flexmatch.StartInput{Configuration: "slow", TicketID: "behind", Players: []flexmatch.Player{{ID: "carl"}}})
		h.Must(err)
		h.Must(h.matches.Stop(h.Ctx, behind.ID))
		h.begin()
		synctest.Wait()
		ended, err := h.Tickets.Get("anna", "ended")
		h.Must(err)
		if f := &ended.Found; f.State != Completed || f.Port != 7777 || len(f.Members) != 2 || !*f.Members[0].Accepted || f.Members[0].PlayerSessionID != "psess-1" || ended.Seq != 5 {
			t.Errorf("the ended ticket is read as %+v", ended)
		}
		h.wants("behind", Cancelled)
		h.wants("lost", Failed)
		if p, err := h.Parties.Party("bert", "p"); err != nil || p.member("bert").Latency["custom-home"] != 12 || string(p.member("bert").sent()["skill"]) != "1" {
			t.Errorf("the party is read as %+v, %v", p, err)
		}
		if p, err := h.Placements.Get("anna", "place"); err != nil || p.Result != (Result{State: PlacementFailed, Reason: lost}) {
			t.Errorf("the placement is read as %+v, %v", p, err)
		}
		h.ask("carl", "alone") // nobody is held up by a row that was behind
		h.ask("dora", "slow")
		now := h.Tickets.rows.Get(h.st.View(), "lost")
		wait.Pass(time.Minute)
		if again := h.Tickets.rows.Get(h.st.View(), "lost"); again.Seq != now.Seq || now.Seq != 3 {
			t.Errorf("the lost ticket has changed %d times, then %d", now.Seq, again.Seq)
		}
	})
}
