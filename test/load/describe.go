package main

import (
	"context"
	"fmt"
	"time"

	"github.com/musterhq/muster/session"
)

// describe measures reads of a cell with n ACTIVE game sessions, over HTTP.
func describe(s settings) error {
	ctx := context.Background()
	h, err := open(ctx, s.n)
	if err != nil {
		return err
	}
	defer h.close()
	ids := make([]string, s.n)
	if _, err := together(128, s.n, func(i int) error {
		g, err := h.sessions.Create(ctx, session.CreateInput{
			FleetID: h.fleet.ID, Location: location, MaxPlayers: 10, Properties: []session.Property{{Key: "map", Value: "winter"}},
		})
		if err == nil {
			ids[i] = g.ID
		}
		return err
	}); err != nil {
		return err
	}
	if err := h.activate(ctx, ids); err != nil {
		return err
	}
	fmt.Println("| game sessions | read | time, ms | processor time with the client, ms |")
	fmt.Println("|---|---|---|---|")
	for _, read := range h.reads() {
		if err := h.time(ctx, s.n, read); err != nil {
			return err
		}
	}
	return nil
}

// read is a request that only reads.
type read struct {
	name, operation string
	in              map[string]any
}

func (h *house) reads() []read {
	of := func(more map[string]any) map[string]any {
		in := map[string]any{"FleetId": h.fleet.ID}
		for member, v := range more {
			in[member] = v
		}
		return in
	}
	return []read{
		{"the fleet alone, to compare", "DescribeFleetAttributes", map[string]any{"FleetIds": []string{h.fleet.ID}}},
		{"utilization", "DescribeFleetUtilization", map[string]any{"FleetIds": []string{h.fleet.ID}}},
		{"sessions by a status that none has", "DescribeGameSessions", of(map[string]any{"StatusFilter": "TERMINATING"})},
		{"sessions by the status of all, 1 of them", "DescribeGameSessions", of(map[string]any{"StatusFilter": "ACTIVE", "Limit": 1})},
		{"sessions, 1 of them", "DescribeGameSessions", of(map[string]any{"Limit": 1})},
		{"search that all match, 1 of them", "SearchGameSessions", of(map[string]any{"FilterExpression": "gameSessionProperties.map = 'winter'", "Limit": 1})},
		{"search that none matches", "SearchGameSessions", of(map[string]any{"FilterExpression": "gameSessionProperties.map = 'summer'"})},
	}
}

// time sends a request over and over, and prints how long one takes.
func (h *house) time(ctx context.Context, n int, r read) error {
	const calls = 200
	request, err := jsonCodec.signed(ctx, h, r.operation, r.in)
	if err != nil {
		return err
	}
	conns, err := dial(h.address, 1)
	if err != nil {
		return err
	}
	defer conns.close()
	began, used := time.Now(), processor()
	if _, err := together(1, calls, func(int) error { _, err := conns.send(request); return err }); err != nil {
		return fmt.Errorf("%s: %w", r.name, err)
	}
	each := func(d time.Duration) float64 { return d.Seconds() * 1000 / calls }
	fmt.Printf("| %d | %s | %.3f | %.3f |\n", n, r.name, each(time.Since(began)), each(processor()-used))
	return nil
}
