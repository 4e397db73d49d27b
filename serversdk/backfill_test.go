package serversdk_test

import (
	"testing"

	"github.com/musterhq/muster/flexmatch"
	"github.com/musterhq/muster/flexmatch/life"
	"github.com/musterhq/muster/internal/store"
)

const pairs = `{"name":"pairs","ruleLanguageVersion":"1.0","teams":[{"name":"all","minPlayers":2,"maxPlayers":2}]}`

// A repeated StartMatchBackfill is refused as by AWS, unless the process says that it may be
// one; then it changes nothing.
func TestStartMatchBackfill_Repeated(t *testing.T) {
	in(t, config{}, func(t *testing.T, h *house) {
		_, err := h.matches.RuleSets.Create(h.Ctx, flexmatch.RuleSetInput{Name: "pairs", Body: pairs})
		must(t, err)
		made, err := h.matches.Configurations.Create(h.Ctx, flexmatch.ConfigurationInput{Configuration: flexmatch.Configuration{
			Name: "alone", RuleSet: "pairs", Mode: flexmatch.Standalone, RequestTimeout: 60e9,
		}})
		must(t, err)
		g, id := h.hosting("p")
		other, elsewhere := h.hosting("other")
		h.reserve(id, "ann")
		h.reserve(elsewhere, "ann")
		must(t, h.Store.Update(h.Ctx, func(tx *store.Tx) error { // as matchmaking makes them
			h.Sessions.SetMatchmakerData(tx, id, "{}", "MATCHMAKING_DATA_UPDATED", "")
			h.Sessions.SetMatchmakerData(tx, elsewhere, "{}", "MATCHMAKING_DATA_UPDATED", "")
			return nil
		}))
		arn := h.matches.Configurations.ARN(made.Name)
		start := func(g *game, session string, repeatable bool, player string) object {
			return g.ask("StartMatchBackfill", object{
				"GameSessionArn": session, "MatchmakingConfigurationArn": arn, "TicketId": "t1", "Repeatable": repeatable, "Players": []object{{"PlayerId": player, "Team": "all"}},
			})
		}
		g.want(200, start(g, id, true, "ann"))
		before := h.Store.View().Digest()
		g.want(400, start(g, id, false, "ann"))
		for _, player := range []string{"ann", "bob"} {
			if answer := g.want(200, start(g, id, true, player)); answer["TicketId"] != "t1" {
				t.Errorf("answered %v", answer)
			}
		}
		other.want(400, start(other, elsewhere, true, "ann"))
		if h.Store.View().Digest() != before {
			t.Error("a repeated request changed the state")
		}
		g.want(200, g.ask("StopMatchBackfill", object{"GameSessionArn": id, "MatchmakingConfigurationArn": arn, "TicketId": "t1"}))
		g.want(200, start(g, id, true, "ann"))
		if d, err := h.matches.Get(h.Ctx, "t1"); err != nil || d.Ticket.Status != life.Cancelled {
			t.Errorf("after it was stopped the ticket is %+v, %v", d, err)
		}
	})
}
