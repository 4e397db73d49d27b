package flexmatch

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/flexmatch/life"
	"github.com/musterhq/muster/internal/tag"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/session"
)

// inGame plays ann and bob into a game session of four with automatic backfill, where they are
// ACTIVE, and calls f with its server.
func inGame(t *testing.T, f func(c *cell, s *server, id string)) {
	t.Helper()
	inCell(t, func(c *cell) {
		c.hosts(2, 0)
		c.configure("mm", squad, Configuration{Backfill: Automatic, RequestTimeout: 5 * time.Minute})
		c.enter("mm", "first", "ann", "bob")
		wait.Settle(time.Second)
		id := c.ticket("first").GameSessionID
		s := c.servers[slices.IndexFunc(c.servers, func(s *server) bool { return s.hosted().GameSessionID == id })]
		s.accept("ann", "bob")
		f(c, s, id)
	})
}

// accept lets players connect who hold a reservation in the server's game session.
func (s *server) accept(players ...string) {
	s.c.Helper()
	for _, player := range players {
		_, err := s.c.Sessions.Players.Accept(s.c.Ctx, s.ref, s.hosted().GameSessionID, s.slot(player))
		s.c.Must(err)
	}
}

// remove removes a player who has left.
func (s *server) remove(player string) {
	s.c.Helper()
	s.c.Must(s.c.Sessions.Players.Remove(s.c.Ctx, s.ref, s.hosted().GameSessionID, s.slot(player)))
}

// slot returns the player session that a player holds in the server's game session.
func (s *server) slot(player string) string {
	s.c.Helper()
	for p := range s.c.Sessions.Players.Holding(s.c.Store.View(), s.hosted().GameSessionID) {
		if p.PlayerID == player {
			return p.ID
		}
	}
	s.c.Fatalf("%s is not in the game session", player)
	return ""
}

// names returns the players of the matchmaker data, sorted.
func (s *server) names() []string {
	return slices.Sorted(slices.Values(playersIn(s.hosted().MatchmakerData)))
}

// Who plays and asks for another match is not matched with the backfill of their own game, whether
// they were matched into it or joined it otherwise, and that goes on.
func TestRoster_PlayersAsk(t *testing.T) {
	inGame(t, func(c *cell, s *server, id string) {
		c.Must(func() error {
			_, err := c.Sessions.Players.Reserve(c.Ctx, session.ReserveInput{GameSessionID: id, Players: []session.Joining{{PlayerID: "guest"}}})
			return err
		}())
		s.accept("guest")
		c.enter("mm", "again", "ann")
		wait.Settle(time.Second)
		c.want(life.Searching, "again")
		c.enter("mm", "new", "cid")
		wait.Settle(time.Second)
		c.want(Completed, "new")
		if got := c.ticket("new").GameSessionID; got != id {
			t.Errorf("cid is in %s, not %s", got, id)
		}
		for _, told := range s.told() {
			if strings.HasPrefix(told, "BACKFILL_FAILED") {
				t.Errorf("told %v", s.told())
			}
		}
		c.Must(c.matches.Stop(c.Ctx, "again"))
	})
}

// A player who has left and comes back is named once and has one seat, and the game session is
// filled; that also holds for one who had not connected yet.
func TestRoster_PlayerComesBack(t *testing.T) {
	inGame(t, func(c *cell, s *server, id string) {
		s.remove("ann")
		wait.Settle(time.Second)
		c.enter("mm", "back", "ann")
		wait.Settle(time.Second)
		c.want(Completed, "back") // and has not connected yet
		first := c.ticket("back").Members[0].PlayerSessionID
		c.enter("mm", "once more", "ann")
		wait.Settle(time.Second)
		c.want(Completed, "once more")
		if got := c.ticket("once more"); got.GameSessionID != id || got.Members[0].PlayerSessionID != first {
			t.Errorf("it comes to %+v, not %s", got, first)
		}
		if diff := cmp.Diff([]string{"ann", "bob"}, s.names()); diff != "" {
			t.Errorf("players (-want +got):\n%s", diff)
		}
		s.accept("ann")
		c.enter("mm", "one", "cid")
		c.enter("mm", "two", "dan")
		wait.Settle(time.Second)
		c.want(Completed, "one", "two")
		if diff := cmp.Diff([]string{"ann", "bob", "cid", "dan"}, s.names()); diff != "" || c.Sessions.Players.Count(c.Store.View(), id) != 4 {
			t.Errorf("players (-want +got):\n%s", diff)
		}
	})
}

// Players who have left are replaced if the configuration's tag says so, and else not.
func TestRoster_Leavers(t *testing.T) {
	for _, replace := range []bool{false, true} {
		inGame(t, func(c *cell, s *server, id string) {
			if replace {
				c.Must(c.Tags.Add.Do(c.Ctx, tag.AddArgs{ARN: c.matches.Configurations.ARN("mm"), Tags: map[string]string{LeaversTag: ReplaceLeavers}}))
			}
			c.enter("mm", "full", "cid", "dan")
			wait.Settle(time.Second)
			c.want(Completed, "full")
			s.accept("cid", "dan")
			s.remove("ann")
			wait.Settle(time.Second)
			c.enter("mm", "new", "eve")
			wait.Settle(time.Second)
			if !replace {
				c.want(life.Searching, "new")
				return
			}
			c.want(Completed, "new")
			if diff := cmp.Diff([]string{"bob", "cid", "dan", "eve"}, s.names()); diff != "" {
				t.Errorf("players (-want +got):\n%s", diff)
			}
		})
	}
}

// Players who joined otherwise hold slots, and a lost connection ends no automatic backfill.
func TestRoster_Room(t *testing.T) {
	inGame(t, func(c *cell, s *server, id string) {
		_, err := c.Sessions.Players.Reserve(c.Ctx, session.ReserveInput{GameSessionID: id, Players: []session.Joining{{PlayerID: "guest"}}})
		c.Must(err)
		s.accept("guest")
		c.Must(c.Computes.Disconnect(c.Ctx, s.ref))
		c.enter("mm", "new", "cid")
		wait.Settle(time.Second)
		c.want(life.Searching, "new")
		_, err = c.Computes.Connect(c.Ctx, compute.ConnectInput{Ref: s.ref}, s)
		c.Must(err)
		wait.Settle(time.Second)
		c.want(Completed, "new")
		if c.ticket("new").GameSessionID != id || slices.ContainsFunc(s.told(), func(told string) bool { return strings.HasPrefix(told, "BACKFILL_") }) {
			t.Errorf("%+v; told %v", c.ticket("new"), s.told())
		}
	})
}

// A game server's own backfill and the tickets of its players do not end each other.
func TestRoster_Manual(t *testing.T) {
	inGame(t, func(c *cell, s *server, id string) {
		c.enter("mm", "before", "ann")
		_, _, err := c.matches.Start(c.Ctx, StartInput{
			Configuration: "mm", TicketID: "fill", Backfill: true, GameSessionID: id, Players: []Player{{ID: "ann", Team: "squad"}, {ID: "bob", Team: "squad"}},
		})
		c.Must(err)
		c.enter("mm", "other", "bob")
		wait.Settle(time.Second)
		c.want(life.Searching, "fill")
		if a, b := c.ticket("before"), c.ticket("other"); a.Status == life.Cancelled || b.Status == life.Cancelled {
			t.Errorf("%+v, %+v", a, b)
		}
	})
}
