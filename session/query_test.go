package session_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/musterhq/muster/internal/celltest"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/session"
)

// TestList_PagesOverMemoryAndArchive checks that pages of any size contain each session
// once, in order of creation, in memory or archived, even if sessions are archived or
// created between two pages.
func TestList_PagesOverMemoryAndArchive(t *testing.T) {
	for _, limit := range []int{1, 2, 3, 7, 100} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			in(t, func(a *arena) {
				var made []string
				for i := range 9 {
					p := fmt.Sprint("p", i)
					made = append(made, a.active(p))
					if i%3 != 0 {
						a.Must(a.Computes.End(a.Ctx, a.ref(p)))
					}
					if i%4 == 3 {
						wait.Settle(6 * time.Minute) // archives ended sessions
					}
				}
				var got []string
				q := session.Query{FleetID: a.fleet.ID, Limit: limit}
				for n := 0; ; n++ {
					page, more, err := a.Sessions.List(a.Ctx, q)
					a.Must(err)
					for _, g := range page {
						got = append(got, g.ID)
						q.After = session.Cursor{Created: g.Created, ID: g.ID}
					}
					if !more {
						break
					}
					if n == 1 {
						wait.Settle(6 * time.Minute)
					}
				}
				if diff := cmp.Diff(made, got); diff != "" {
					t.Errorf("listed (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// Ended sessions can be read for as long as the options say, and no longer.
func TestRetention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := openWith(t, celltest.Options{Sessions: session.Options{Retention: 2 * time.Hour}})
		defer a.Close()
		a.furnish()
		id := a.active("p")
		seat := a.reserve(id, "ana")[0]
		a.Must(a.Computes.End(a.Ctx, a.ref("p")))
		wait.Settle(2*time.Hour - time.Minute)
		a.want(id, session.Terminated)
		a.player(seat)
		wait.Settle(10 * time.Minute) // 5 in memory, and the time until expired rows are removed
		if g, err := a.Sessions.Get(a.Ctx, id); err == nil {
			t.Errorf("the game session is still there: %+v", g)
		}
		page, _, err := a.Sessions.Players.List(a.Ctx, session.PlayerQuery{PlayerSessionID: seat, Limit: 1})
		if err != nil || len(page) != 0 {
			t.Errorf("the player session is still there: %v, %v", page, err)
		}
	})
}

// TestListPlayers pages over player sessions in memory and in the archive.
func TestListPlayers(t *testing.T) {
	for _, limit := range []int{1, 2, 5, 100} {
		in(t, func(a *arena) {
			id := a.active("p")
			_, err := a.Sessions.Update(a.Ctx, session.UpdateInput{GameSessionID: id, MaxPlayers: pointer(10)})
			a.Must(err)
			var made []string
			for i := range 7 {
				player := a.reserve(id, fmt.Sprint("player-", i))[0]
				made = append(made, player)
				if i%2 == 0 {
					a.Must(a.Sessions.Players.Remove(a.Ctx, a.ref("p"), id, player))
				} else {
					_, err := a.Sessions.Players.Accept(a.Ctx, a.ref("p"), id, player)
					a.Must(err)
				}
				if i == 3 {
					wait.Settle(6 * time.Minute)
				}
			}
			var got []string
			q := session.PlayerQuery{GameSessionID: id, Limit: limit}
			for {
				page, more, err := a.Sessions.Players.List(a.Ctx, q)
				a.Must(err)
				for _, p := range page {
					got = append(got, p.ID)
					q.After = p.ID
				}
				if !more {
					break
				}
				wait.Settle(time.Minute)
			}
			if diff := cmp.Diff(made, got); diff != "" {
				t.Errorf("limit %d (-want +got):\n%s", limit, diff)
			}
			page, _, err := a.Sessions.Players.List(a.Ctx, session.PlayerQuery{GameSessionID: id, Status: session.Playing, Limit: 10})
			a.Must(err)
			if len(page) != 3 {
				t.Errorf("%d players are in, want 3", len(page))
			}
			one, _, err := a.Sessions.Players.List(a.Ctx, session.PlayerQuery{PlayerID: "player-0", Limit: 10})
			a.Must(err)
			if len(one) != 1 || one[0].ID != made[0] {
				t.Errorf("by player: %v", one)
			}
		})
	}
}
