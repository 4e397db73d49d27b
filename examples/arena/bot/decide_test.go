package bot

import (
	"math/rand/v2"
	"testing"

	"github.com/musterhq/muster/examples/arena/wire"
)

func TestDirection_IsTheNearest(t *testing.T) {
	t.Parallel()
	cases := []struct {
		dx, dy int
		want   wire.Direction
	}{
		{0, 0, 0}, {0, -9, 1}, {9, -9, 2}, {9, 0, 3}, {9, 9, 4}, {0, 9, 5}, {-9, 9, 6}, {-9, 0, 7}, {-9, -9, 8},
		{100, 10, 3}, {10, 100, 5}, {100, 80, 4},
	}
	for _, c := range cases {
		if got := direction(c.dx, c.dy); got != c.want {
			t.Errorf("direction(%d, %d) is %d, want %d", c.dx, c.dy, got, c.want)
		}
	}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	me := wire.Player{ID: 1, X: 500, Y: 500, Health: 3}
	pickUps := []wire.PickUp{{X: 100, Y: 500}, {X: 500, Y: 600}}
	other := func(x, y uint16, health uint8) wire.Player { return wire.Player{ID: 2, X: x, Y: y, Health: health} }
	cases := []struct {
		name    string
		players []wire.Player
		want    wire.Input
	}{
		{"not in the game", nil, wire.Input{}},
		{"away", []wire.Player{{ID: 1}}, wire.Input{}},
		{"alone", []wire.Player{me}, wire.Input{Move: 5}},
		{"somebody in the line of fire", []wire.Player{me, other(300, 495, 1)}, wire.Input{Move: 7, Fire: true}},
		{"somebody diagonal", []wire.Player{me, other(600, 398, 1)}, wire.Input{Move: 2, Fire: true}},
		{"somebody beside the line", []wire.Player{me, other(300, 450, 1)}, wire.Input{Move: 5}},
		{"somebody far", []wire.Player{me, other(950, 500, 1)}, wire.Input{Move: 5}},
		{"somebody away", []wire.Player{me, other(300, 500, 0)}, wire.Input{Move: 5}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 0))
			decided := map[wire.Input]int{}
			for range 200 {
				decided[decide(wire.Snapshot{Players: c.players, PickUps: pickUps}, 1, rng)]++
			}
			if decided[c.want] < 150 {
				t.Errorf("got %v, want mostly %+v", decided, c.want)
			}
		})
	}
}
