package wrap

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/agent/gamelink"
	"github.com/musterhq/muster/agent/gamequery"
)

// Query is how a program is asked how many players it has.
type Query struct {
	Protocol string        // one of gamequery.Protocols, or "": it is not asked
	Host     string        // default 127.0.0.1
	Port     string        // a number, the name of a port, or "" for the game's
	Every    time.Duration // default 5 s
}

// ParseQuery reads PROTOCOL, PROTOCOL:PORT or PROTOCOL:HOST:PORT, where PORT is a number or the
// name of a port.
func ParseQuery(text string) (Query, error) {
	protocol, rest, _ := strings.Cut(text, ":")
	q := Query{Protocol: protocol, Port: rest}
	if at := strings.LastIndexByte(rest, ':'); at >= 0 {
		q.Host, q.Port = strings.Trim(rest[:at], "[]"), rest[at+1:]
	}
	if strings.HasSuffix(text, ":") || strings.HasPrefix(rest, ":") {
		return q, fmt.Errorf("%q is neither PROTOCOL nor PROTOCOL:PORT", text)
	}
	return q, gamequery.Check(protocol)
}

// Limits of counting.
const (
	answersIn = 2 * time.Second  // how long an answer may take
	unheard   = 30 * time.Second // how long a program may be silent before that is logged
	renewed   = 15 * time.Second // how often a number that did not change is reported
	agreeing  = 3                // answers in a row that make a lower number count
)

// tally is the number of players that the last answers agree on.
type tally struct{ answers []int }

// add adds an answer, and returns the number of players: a higher one counts at once, a lower
// one once it is confirmed, because players are away for a moment while a map changes.
func (t *tally) add(players int) int {
	if t.answers = append(t.answers, players); len(t.answers) > agreeing {
		t.answers = slices.Delete(t.answers, 0, 1)
	}
	return slices.Max(t.answers)
}

// count asks the program how many players it has, and reports it to Muster, until ctx ends.
func (w *wrapper) count(ctx context.Context, game string) {
	tick := time.NewTicker(w.o.Query.Every)
	defer tick.Stop()
	var seen tally
	said, when, heard := -1, time.Time{}, time.Now()
	for {
		a, err := w.players(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && time.Since(heard) > unheard:
			w.o.Log.Warn("the program does not answer the query for its players, who count from their reservation until it does", "error", err)
			heard = time.Now().Add(10 * unheard) // and not again soon
		case err == nil:
			heard = time.Now()
			if n := seen.add(a.Players); n != said || time.Since(when) >= renewed {
				if !w.report(ctx, game, n) {
					return
				}
				said, when = n, time.Now()
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// players asks the program once.
func (w *wrapper) players(ctx context.Context) (gamequery.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, answersIn)
	defer cancel()
	return gamequery.Ask(ctx, w.o.Query.Protocol, net.JoinHostPort(w.o.Query.Host, w.o.Query.Port))
}

// report sends Muster the number of players. It reports whether it wants to know more.
func (w *wrapper) report(ctx context.Context, game string, players int) (more bool) {
	err := w.link.Ask(ctx, "ReportPlayers", map[string]any{"GameSessionId": game, "Players": players}, nil)
	if refused, ok := errors.AsType[*gamelink.Refusal](err); ok && refused.Status < 429 {
		w.o.Log.Info("the number of players is not reported any more", "error", err)
		return false
	}
	return ctx.Err() == nil
}
