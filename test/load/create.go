package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/session"
)

// rates are calls per second.
type rates struct{ create, reserve float64 }

// create measures each way at each number of callers and prints the table.
func create(s settings) error {
	fmt.Println("| callers | way | CreateGameSession a second | ÷ store | CreatePlayerSession a second | ÷ store |")
	fmt.Println("|---|---|---|---|---|---|")
	for _, callers := range []int{1, 16, 128} {
		limit, err := measure(s.n, callers, direct)
		if err != nil {
			return err
		}
		row(callers, "store, called directly", limit, limit)
		for _, c := range []codec{jsonCodec, cborCodec} {
			got, err := measure(s.n, callers, c.overHTTP)
			if err != nil {
				return err
			}
			row(callers, c.name, got, limit)
		}
	}
	return nil
}

func row(callers int, way string, got, limit rates) {
	fmt.Printf("| %d | %s | %.0f | %.2f | %.0f | %.2f |\n",
		callers, way, got.create, got.create/limit.create, got.reserve, got.reserve/limit.reserve)
}

// way creates n game sessions and then a player session in each, and returns the
// rates.
type way func(ctx context.Context, h *house, n, callers int) (rates, error)

func measure(n, callers int, w way) (rates, error) {
	if callers == 1 {
		n = min(n, 2000)
	}
	ctx := context.Background()
	h, err := open(ctx, n)
	if err != nil {
		return rates{}, err
	}
	defer h.close()
	return w(ctx, h, n, callers)
}

// gameData has a typical size.
var gameData = strings.Repeat("x", 200)

// direct calls the transactions without a wire: the store's own limit for them.
func direct(ctx context.Context, h *house, n, callers int) (r rates, err error) {
	ids := make([]string, n)
	r.create, err = together(callers, n, func(i int) error {
		g, err := h.sessions.Create(ctx, session.CreateInput{
			FleetID: h.fleet.ID, Location: location, MaxPlayers: 10, Name: "load", Data: gameData,
			Properties: []session.Property{{Key: "map", Value: "winter"}},
		})
		if err == nil {
			ids[i] = g.ID
		}
		return err
	})
	if err != nil {
		return r, err
	}
	if err := h.activate(ctx, ids); err != nil {
		return r, err
	}
	r.reserve, err = together(callers, n, func(i int) error {
		_, err := h.sessions.Players.Reserve(ctx, session.ReserveInput{GameSessionID: ids[i], Players: []session.Joining{{PlayerID: "ana"}}})
		return err
	})
	return r, err
}

// activate makes game sessions ACTIVE, as their servers would.
func (h *house) activate(ctx context.Context, ids []string) error {
	_, err := together(256, len(ids), func(i int) error {
		g, err := h.sessions.Get(ctx, ids[i])
		if err != nil {
			return err
		}
		return h.sessions.Activate(ctx, compute.ParseRef(g.ProcessKey), g.ID)
	})
	return err
}

// overHTTP sends signed requests.
func (c codec) overHTTP(ctx context.Context, h *house, n, callers int) (r rates, err error) {
	ids := make([]string, n)
	r.create, err = c.timed(ctx, h, call{"CreateGameSession", n, callers}, func(int) any {
		return map[string]any{
			"FleetId": h.fleet.ID, "Location": location, "MaximumPlayerSessionCount": 10, "Name": "load",
			"GameSessionData": gameData, "GameProperties": []any{map[string]any{"Key": "map", "Value": "winter"}},
		}
	}, func(i int, body []byte) error {
		var out struct {
			GameSession struct{ GameSessionId string }
		}
		err := c.decode(body, &out)
		ids[i] = out.GameSession.GameSessionId
		return err
	})
	if err != nil {
		return r, err
	}
	if err := h.activate(ctx, ids); err != nil {
		return r, err
	}
	r.reserve, err = c.timed(ctx, h, call{"CreatePlayerSession", n, callers}, func(i int) any {
		return map[string]any{"GameSessionId": ids[i], "PlayerId": "ana"}
	}, func(int, []byte) error { return nil })
	return r, err
}

// call is an operation, how many times to call it, and the number of callers.
type call struct {
	operation  string
	n, callers int
}

// timed signs the requests, then starts the clock and sends them.
func (c codec) timed(ctx context.Context, h *house, do call, in func(int) any, took func(int, []byte) error) (float64, error) {
	requests := make([][]byte, do.n)
	for i := range requests {
		var err error
		if requests[i], err = c.signed(ctx, h, do.operation, in(i)); err != nil {
			return 0, err
		}
	}
	conns, err := dial(h.address, do.callers)
	if err != nil {
		return 0, err
	}
	defer conns.close()
	return together(do.callers, do.n, func(i int) error {
		body, err := conns.send(requests[i])
		if err != nil {
			return err
		}
		return took(i, body)
	})
}
