package page

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Match is what the page shows of a ticket's match besides what a player is told. It is known
// to the game's operator, as whom this program asks.
type Match struct {
	Rules     []Rule    `json:"rules"` // those of the rule set, in its order
	Placement Placement `json:"placement"`
}

// Rule is how often a rule was judged while the match was found.
type Rule struct {
	Rule   string `json:"rule"`
	Passed int    `json:"passed"`
	Failed int    `json:"failed"`
}

// Placement is the search for a game server.
type Placement struct {
	ID     string `json:"id"`
	Queue  string `json:"queue"`
	Status string `json:"status"`
	Result string `json:"result"` // of the last round, for people; "" before it
}

// errUntold reports that a ticket has no match yet, or that Muster describes it only to
// callers with an access key.
var errUntold = errors.New("nothing is known of this match")

const mostAnswer = 1 << 20 // bytes

// look asks Muster for the match of a ticket.
func look(ctx context.Context, muster, ticket string) (Match, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var view struct {
		Data struct {
			Match struct {
				ID    string `json:"id"`
				Rules []Rule `json:"rules"`
			} `json:"match"`
		} `json:"data"`
	}
	if err := ask(ctx, muster, "views/ticket?id="+url.QueryEscape(ticket), &view); err != nil {
		return Match{}, err
	}
	m := view.Data.Match
	if m.ID == "" {
		return Match{}, errUntold
	}
	var placed struct {
		Placement Placement `json:"placement"`
		Rounds    []struct {
			Result string `json:"result"`
		} `json:"rounds"`
	}
	if err := ask(ctx, muster, "placements/"+url.PathEscape(m.ID)+"/explain", &placed); err != nil { // a match's placement has its id
		return Match{}, err
	}
	out := Match{Rules: m.Rules, Placement: placed.Placement}
	if n := len(placed.Rounds); n > 0 {
		out.Placement.Result = placed.Rounds[n-1].Result
	}
	return out, nil
}

// ask makes a request to Muster's console.
func ask(ctx context.Context, muster, path string, out any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(muster, "/")+"/console/api/"+path, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%w: Muster answered %s", errUntold, answer.Status)
	}
	return json.NewDecoder(io.LimitReader(answer.Body, mostAnswer)).Decode(out)
}
