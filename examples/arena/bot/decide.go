package bot

import (
	"math/rand/v2"

	"github.com/musterhq/muster/examples/arena/wire"
)

const (
	sight = 400 // distance up to which an opponent is worth a shot
	aim   = 12  // how far off the line of fire it may stand
	whims = 20  // one decision in this many is a random turn, so that two bots do not lock
)

// decide returns the bot's next input. To shoot, the player must face its target, and
// it turns by moving that way.
func decide(view wire.Snapshot, me uint8, rng *rand.Rand) wire.Input {
	self, ok := find(view, me)
	if !ok || self.Health == 0 {
		return wire.Input{}
	}
	if rng.IntN(whims) == 0 {
		return wire.Input{Move: wire.Direction(1 + rng.IntN(8))}
	}
	if towards, ok := target(view, self); ok {
		return wire.Input{Move: towards, Fire: true}
	}
	return wire.Input{Move: nearestPickUp(view, self)}
}

func find(view wire.Snapshot, id uint8) (wire.Player, bool) {
	for _, p := range view.Players {
		if p.ID == id {
			return p, true
		}
	}
	return wire.Player{}, false
}

// target returns the direction of an opponent that a shot would hit.
func target(view wire.Snapshot, self wire.Player) (wire.Direction, bool) {
	for _, p := range view.Players {
		dx, dy := int(p.X)-int(self.X), int(p.Y)-int(self.Y)
		near := dx*dx+dy*dy <= sight*sight
		aligned := abs(dx) <= aim || abs(dy) <= aim || abs(abs(dx)-abs(dy)) <= aim
		if p.ID != self.ID && p.Health > 0 && near && aligned {
			return direction(dx, dy), true
		}
	}
	return 0, false
}

func nearestPickUp(view wire.Snapshot, self wire.Player) wire.Direction {
	best, towards := -1, wire.Direction(0)
	for _, p := range view.PickUps {
		dx, dy := int(p.X)-int(self.X), int(p.Y)-int(self.Y)
		if distance := dx*dx + dy*dy; best < 0 || distance < best {
			best, towards = distance, direction(dx, dy)
		}
	}
	return towards
}

// direction returns the compass direction nearest to dx east and dy south.
func direction(dx, dy int) wire.Direction {
	x, y := sign(dx), sign(dy)
	switch {
	case 2*abs(dx) < abs(dy):
		x = 0
	case 2*abs(dy) < abs(dx):
		y = 0
	}
	compass := [3][3]wire.Direction{{8, 1, 2}, {7, 0, 3}, {6, 5, 4}}
	return compass[y+1][x+1]
}

func abs(n int) int { return max(n, -n) }

func sign(n int) int {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	}
	return 0
}
