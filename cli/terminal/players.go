package terminal

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/internal/plain"
)

// mostShown is how many games and tickets of a player are shown.
const mostShown = 10

// Player shows what is known of a player: the account and its ban, the party, and the last
// games and tickets.
func (t *Terminal) Player(ctx context.Context, id string) error {
	p, raw, err := t.Client.Players().Get(ctx, id)
	if err != nil {
		return err
	}
	if p.Account == nil && p.Party == nil && len(p.Games) == 0 && len(p.Tickets) == 0 {
		return fmt.Errorf("nothing is known of a player %q: the server keeps no account, party, game or ticket of that PlayerId that this key may see", id)
	}
	if t.JSON {
		return WriteJSON(t.Out, raw)
	}
	r := plain.Report{Out: t.Out}
	r.Line("Player %s %s", p.ID, whereabouts(p.Games))
	if p.Account != nil {
		r.Line("%s", accountLine(p.Account))
	}
	if p.Party != nil {
		r.Line("In the party %s of %s: %s", p.Party.ID, p.Party.Leader, strings.Join(p.Party.Members, ", "))
	}
	if len(p.Games) > 0 {
		rows := [][]string{}
		for _, g := range p.Games[:min(len(p.Games), mostShown)] {
			rows = append(rows, []string{shortID(g.Session), g.FleetID, g.Status, since(g.Created), stayed(g), cmp.Or(g.Reason, "-")})
		}
		r.Table([]string{"SESSION", "FLEET", "STATUS", "AGE", "STAYED", "REASON"}, rows)
	}
	if len(p.Tickets) > 0 {
		rows := [][]string{}
		for _, k := range p.Tickets[:min(len(p.Tickets), mostShown)] {
			rows = append(rows, []string{k.ID, k.Configuration, k.Status, since(k.Started)})
		}
		r.Table([]string{"TICKET", "CONFIGURATION", "STATUS", "AGE"}, rows)
	}
	return r.Err
}

// whereabouts says in which game a player is, or was last.
func whereabouts(games []client.PlayerGame) string {
	for _, g := range games {
		if g.Ended.IsZero() {
			return fmt.Sprintf("is %s in %s", g.Status, shortID(g.Session))
		}
	}
	if len(games) == 0 {
		return "was in no game that the server still keeps"
	}
	text := fmt.Sprintf("is in no game; the last one, %s, ended %s ago", shortID(games[0].Session), since(games[0].Ended))
	if games[0].Reason != "" {
		text += ": " + games[0].Reason
	}
	return text
}

func accountLine(a *client.PlayerAccount) string {
	text := fmt.Sprintf("Account %s, since %s, logs in with %s", cmp.Or(a.Name, "without a name"), a.Created.UTC().Format(time.RFC3339),
		cmp.Or(strings.Join(a.Links, ", "), "a guest's secret"))
	if !a.Banned {
		return text + "; not banned"
	}
	return text + "; BANNED until " + a.Until.UTC().Format(time.RFC3339) + ": " + cmp.Or(a.Reason, "no reason was given")
}

func stayed(g client.PlayerGame) string {
	if g.Ended.IsZero() {
		return "-"
	}
	return g.Ended.Sub(g.Created).Round(time.Second).String()
}
