package flexmatch

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/flexmatch/life"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/session"
)

// pairs matches one against one; squad takes two to four players in one team.
const (
	pairs = `{"ruleLanguageVersion": "1.0", "teams": [
		{"name": "red", "minPlayers": 1, "maxPlayers": 1}, {"name": "blue", "minPlayers": 1, "maxPlayers": 1}]}`
	squad = `{"ruleLanguageVersion": "1.0",
		"playerAttributes": [{"name": "skill", "type": "number", "default": 7}],
		"teams": [{"name": "squad", "minPlayers": 2, "maxPlayers": 4}]}`
)

func TestMatch_ToGameSession(t *testing.T) {
	inCell(t, func(c *cell) {
		c.hosts(1, time.Second)
		c.configure("mm", pairs, Configuration{EventData: "for the test", Data: "data", Properties: []session.Property{{Key: "map", Value: "winter"}}})
		c.enter("mm", "a", "ann")
		c.enter("mm", "b", "bob")
		c.want(life.Queued, "a", "b")
		wait.Settle(300 * time.Millisecond)
		c.want(life.Placing, "a", "b")
		if err := c.matches.Stop(c.Ctx, "a"); err == nil || !strings.Contains(err.Error(), "Matchmaking ticket is in PLACING status and cannot be canceled.") {
			t.Errorf("stop while PLACING: %v", err)
		}
		wait.Settle(time.Second)
		c.want(Completed, "a", "b")
		a := c.ticket("a")
		g := c.Sessions.Live(c.Store.View(), a.GameSessionID)
		switch {
		case g == nil || g.Status != session.Active || g.MaxPlayers != 2 || g.Data != "data" || len(g.Properties) != 1:
			t.Fatalf("game session: %+v", g)
		case a.IPAddress != g.IPAddress || a.Port != g.Port || a.Members[0].PlayerSessionID == "":
			t.Errorf("ticket: %+v, game session: %+v", a, g)
		}
		if n := c.Sessions.Players.Count(c.Store.View(), g.ID); n != 2 {
			t.Errorf("%d player sessions", n)
		}
		last := c.published()[3]
		if last.Type != "MatchmakingSucceeded" || last.EventData != "for the test" || last.Session.ARN != g.ID || last.Session.DNS == nil || last.Tickets[0].Players[0].PlayerSessionID == "" {
			t.Errorf("event: %+v", last)
		}
		wait.Settle(6 * time.Minute) // tickets are archived
		at := compute.ParseRef(g.ProcessKey)
		moved := c.Computes.Get(c.Store.View(), at.FleetID, at.ComputeName)
		_, err := c.Computes.Register(c.Ctx, compute.RegisterInput{FleetID: moved.FleetID, Name: moved.Name, Location: moved.Location, IPAddress: "192.0.2.77"})
		c.Must(err)
		if a := c.ticket("a"); a.Status != Completed || a.IPAddress != "192.0.2.77" || a.Port != g.Port {
			t.Errorf("archived: %+v", a)
		}
		_, _, err = c.matches.Start(c.Ctx, StartInput{Configuration: "mm", TicketID: "a", Players: []Player{{ID: "x"}}})
		if !fault.Is(err, fault.InvalidRequest) {
			t.Errorf("an id used again: %v", err)
		}
	})
}

func TestMatchmakerData(t *testing.T) {
	inCell(t, func(c *cell) {
		c.hosts(1, 0)
		c.configure("mm", squad, Configuration{Backfill: Automatic, Additional: 1})
		skill := 23.0
		_, _, err := c.matches.Start(c.Ctx, StartInput{Configuration: "mm", TicketID: "t", Players: []Player{
			{ID: "ann", Attributes: map[string]Attribute{"skill": {N: &skill}, "undeclared": {N: &skill}}}, {ID: "bob"},
		}})
		c.Must(err)
		wait.Settle(time.Second)
		g := c.Sessions.Live(c.Store.View(), c.ticket("t").GameSessionID)
		d := c.servers[0].data()
		want := `{"matchId":"` + d.MatchID + `","matchmakingConfigurationArn":"arn:aws:gamelift:us-east-1:000000000000:matchmakingconfiguration/mm",` +
			`"teams":[{"name":"squad","players":[` +
			`{"playerId":"ann","attributes":{"skill":{"attributeType":"DOUBLE","valueAttribute":23.0}}},` +
			`{"playerId":"bob","attributes":{"skill":{"attributeType":"DOUBLE","valueAttribute":7.0}}}]}],` +
			`"autoBackfillMode":"AUTOMATIC","autoBackfillTicketId":"` + d.AutoTicketID + `"}`
		if diff := cmp.Diff(want, g.Matchmaker); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestBackfill_Manual(t *testing.T) {
	inCell(t, func(c *cell) {
		c.hosts(1, 0)
		c.configure("mm", squad, Configuration{})
		c.enter("mm", "first", "ann", "bob")
		wait.Settle(time.Second)
		server, id := c.servers[0], c.ticket("first").GameSessionID
		in := StartInput{Configuration: "mm", Backfill: true, GameSessionID: id, Players: []Player{{ID: "ann", Team: "squad"}, {ID: "bob", Team: "squad"}}}
		backfill := func(ticket string) error {
			in.TicketID = ticket
			_, _, err := c.matches.Start(c.Ctx, in)
			return err
		}
		c.Must(backfill("old"))
		wait.Settle(time.Second)
		c.Must(backfill("fill")) // replaces the older one
		c.want(life.Cancelled, "old")
		c.enter("mm", "second", "cid")
		wait.Settle(time.Second)
		c.want(Completed, "fill", "second")
		if got := c.ticket("second"); got.GameSessionID != id || got.Members[0].Team != "squad" || got.Members[0].PlayerSessionID == "" {
			t.Errorf("ticket: %+v", got)
		}
		if diff := cmp.Diff([]string{"MATCHMAKING_DATA_UPDATED fill"}, server.told()); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
		if d := server.data(); len(d.Teams[0].Players) != 3 || d.AutoTicketID != "" {
			t.Errorf("data: %+v", d)
		}
		in.Players = append(in.Players, Player{ID: "cid", Team: "squad"})
		c.Must(backfill("stopped"))
		c.Must(c.matches.StopBackfill(c.Ctx, id, "stopped"))
		wait.Settle(time.Second)
		if got := server.told(); got[len(got)-1] != "BACKFILL_CANCELLED stopped" {
			t.Errorf("told: %v", got)
		}
	})
}

// A backfill of a game session without a free slot waits until there is one, and never takes more
// players than there are slots.
func TestBackfill_NoRoom(t *testing.T) {
	inCell(t, func(c *cell) {
		c.hosts(1, 0)
		c.configure("mm", squad, Configuration{})
		c.enter("mm", "first", "ann", "bob")
		wait.Settle(time.Second)
		id := c.ticket("first").GameSessionID
		others, err := c.Sessions.Players.Reserve(c.Ctx, session.ReserveInput{GameSessionID: id, Players: []session.Joining{{PlayerID: "x"}, {PlayerID: "y"}}})
		c.Must(err)
		_, _, err = c.matches.Start(c.Ctx, StartInput{
			Configuration: "mm", TicketID: "fill", Backfill: true, GameSessionID: id, Players: []Player{{ID: "ann", Team: "squad"}, {ID: "bob", Team: "squad"}},
		})
		c.Must(err)
		c.enter("mm", "late", "cid")
		wait.Settle(time.Second)
		c.want(life.Searching, "fill", "late")
		server := c.servers[0]
		c.Must(c.Sessions.Players.Remove(c.Ctx, server.ref, id, others[0].ID))
		wait.Settle(time.Second)
		c.want(Completed, "fill", "late")
		if got := server.told(); !slices.Equal(got, []string{"MATCHMAKING_DATA_UPDATED fill"}) {
			t.Errorf("told: %v", got)
		}
	})
}

func TestBackfill_Refused(t *testing.T) {
	inCell(t, func(c *cell) {
		c.hosts(2, 0)
		c.configure("mm", squad, Configuration{})
		c.enter("mm", "first", "ann", "bob")
		wait.Settle(time.Second)
		matched := c.ticket("first").GameSessionID
		g, err := c.Sessions.Create(c.Ctx, session.CreateInput{FleetID: c.fleet.ID, Location: home, MaxPlayers: 4})
		c.Must(err)
		wait.Settle(time.Second)
		for name, in := range map[string]StartInput{
			"was not made by matchmaking":               {GameSessionID: g.ID, Players: []Player{{ID: "p", Team: "squad"}}},
			"does not exist":                            {GameSessionID: "arn:aws:gamelift:us-east-1::gamesession/fleet-x/y", Players: []Player{{ID: "p", Team: "squad"}}},
			"GameSessionArn: required":                  {Players: []Player{{ID: "p", Team: "squad"}}},
			"is no team of the rule set":                {GameSessionID: g.ID, Players: []Player{{ID: "p", Team: "red"}}},
			"player cid has never been in game session": {GameSessionID: matched, Players: []Player{{ID: "ann", Team: "squad"}, {ID: "cid", Team: "squad"}}},
			"Players: 4 are given, and a match has at most 4 players": {GameSessionID: matched, Players: []Player{
				{ID: "ann", Team: "squad"}, {ID: "bob", Team: "squad"}, {ID: "cid", Team: "squad"}, {ID: "dan", Team: "squad"}}},
			"Players.5.Team: squad would have 5 players or more; it holds at most 4": {GameSessionID: matched, Players: []Player{
				{ID: "ann", Team: "squad"}, {ID: "bob", Team: "squad"}, {ID: "cid", Team: "squad"}, {ID: "dan", Team: "squad"}, {ID: "eve", Team: "squad"}}},
		} {
			in.Configuration, in.Backfill = "mm", true
			before := c.Store.View().Digest()
			if _, _, err := c.matches.Start(c.Ctx, in); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s: %v", name, err)
			}
			if c.Store.View().Digest() != before {
				t.Errorf("%s: the refusal changed the state", name)
			}
		}
	})
}

// Automatic backfill fills a game session up to its size minus AdditionalPlayerCount, one
// ticket after the other, and continues after a timeout.
func TestBackfill_Automatic(t *testing.T) {
	inCell(t, func(c *cell) {
		c.hosts(1, 0)
		c.configure("mm", squad, Configuration{Backfill: Automatic, RequestTimeout: time.Minute})
		c.enter("mm", "first", "ann", "bob")
		wait.Settle(time.Second)
		server, id := c.servers[0], c.ticket("first").GameSessionID
		auto := server.data().AutoTicketID
		if !strings.HasPrefix(auto, "auto-backfill-") {
			t.Fatalf("announced %q", auto)
		}
		c.want(life.Searching, auto)
		wait.Settle(time.Minute)
		c.want(life.TimedOut, auto)
		if got := server.told(); !slices.Equal(got, []string{"BACKFILL_TIMED_OUT " + auto}) {
			t.Errorf("told: %v", got)
		}
		c.enter("mm", "second", "cid")
		wait.Settle(time.Second)
		c.want(Completed, "second")
		next := server.data().AutoTicketID
		if next == "" || next == auto {
			t.Errorf("announced %q after %q", next, auto)
		}
		c.enter("mm", "third", "dan")
		wait.Settle(time.Second)
		c.want(Completed, "third", next)
		if d := server.data(); d.AutoTicketID != "" || len(d.Teams[0].Players) != 4 {
			t.Errorf("full: %+v", d)
		}
		c.Must(c.Computes.Exited(c.Ctx, server.ref, "over"))
		wait.Settle(time.Second)
		if h := c.matches.t.hosted.Get(c.Store.View(), id); h != nil {
			t.Errorf("remembered after its end: %+v", h)
		}
	})
}

// Automatic backfill stops when any of its tickets is stopped, and when the game session
// accepts no players.
func TestBackfill_AutomaticStopped(t *testing.T) {
	inCell(t, func(c *cell) {
		c.hosts(2, 0)
		c.configure("mm", squad, Configuration{Backfill: Automatic})
		for i, stop := range []func(g *session.GameSession, auto string){
			func(g *session.GameSession, auto string) { c.Must(c.matches.Stop(c.Ctx, auto)) },
			func(g *session.GameSession, auto string) {
				ref := compute.ParseRef(g.ProcessKey)
				c.Must(c.Sessions.SetJoinPolicy(c.Ctx, ref, g.ID, session.DenyAll))
			},
		} {
			names := []string{"first", "second"}
			c.enter("mm", names[i], names[i]+"-1", names[i]+"-2")
			wait.Settle(time.Second)
			g := c.Sessions.Live(c.Store.View(), c.ticket(names[i]).GameSessionID)
			var auto string
			for t := range c.matches.t.bySession.Equal(c.Store.View(), g.ID) {
				auto = t.ID
			}
			stop(g, auto)
			wait.Settle(time.Second)
			c.want(life.Cancelled, auto)
			if left := c.matches.t.bySession.First(c.Store.View(), g.ID); left != nil {
				t.Errorf("%s goes on", left.ID)
			}
		}
		g := c.Sessions.Live(c.Store.View(), c.ticket("second").GameSessionID)
		c.Must(c.Sessions.SetJoinPolicy(c.Ctx, compute.ParseRef(g.ProcessKey), g.ID, session.AcceptAll))
		wait.Settle(time.Second)
		if c.matches.t.bySession.First(c.Store.View(), g.ID) == nil {
			t.Error("automatic backfill does not go on when players are taken again")
		}
	})
}

// If a queue finds no place in time, the tickets search again with their age, until they are placed
// or time out themselves.
func TestMatch_NoPlace(t *testing.T) {
	inCell(t, func(c *cell) {
		c.hosts(0, 0)
		c.configure("mm", pairs, Configuration{RequestTimeout: 25 * time.Minute})
		c.configure("short", pairs, Configuration{RequestTimeout: 5 * time.Minute})
		for _, mm := range []string{"mm", "short"} {
			c.enter(mm, mm+"-a", mm+"-ann")
			c.enter(mm, mm+"-b", mm+"-bob")
		}
		started := c.ticket("mm-a").Started
		wait.Settle(10*time.Minute - time.Second)
		c.want(life.Placing, "mm-a", "mm-b", "short-a", "short-b") // the request's time does not count now
		first := c.ticket("mm-a").MatchID
		wait.Settle(2 * time.Second)
		c.want(life.TimedOut, "short-a", "short-b")
		if a := c.ticket("short-a"); a.Reason != "TimedOut" || a.Unplaced != 1 {
			t.Errorf("timed out: %+v", a)
		}
		c.want(life.Placing, "mm-a", "mm-b") // in another match
		if a := c.ticket("mm-a"); a.MatchID == first || a.Unplaced != 1 || !a.Started.Equal(started) {
			t.Errorf("placed again: %+v, after match %s", a, first)
		}
		c.hosts(1, 0)
		wait.Settle(time.Second)
		c.want(Completed, "mm-a", "mm-b")
		var of []string
		for _, e := range c.published() {
			if slices.ContainsFunc(e.Tickets, func(x ticketInfo) bool { return x.ID == "mm-a" }) {
				of = append(of, e.Type)
				if got := e.Tickets[0].StartTime; got != stamp(started) {
					t.Errorf("%s: the ticket started at %s, want %s", e.Type, got, stamp(started))
				}
			}
		}
		want := []string{"MatchmakingSearching", "PotentialMatchCreated", "MatchmakingSearching", "PotentialMatchCreated", "MatchmakingSucceeded"}
		if diff := cmp.Diff(want, of); diff != "" {
			t.Errorf("events of a ticket (-want +got):\n%s", diff)
		}
		if last := c.published(); !slices.ContainsFunc(last, func(e detail) bool { return e.Type == "MatchmakingTimedOut" && e.Tickets[0].ID == "short-a" }) {
			t.Errorf("no MatchmakingTimedOut: %+v", last)
		}
	})
}
