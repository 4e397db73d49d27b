package game_test

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/musterhq/muster/examples/arena/game"
)

const east game.Direction = 3

// duel returns two players: 1 facing east, and 2 at a distance east of it.
func duel(distance int) game.State {
	return game.State{Players: []game.Player{
		{ID: 1, At: game.Point{X: 300, Y: 500}, Facing: east, Health: game.FullHealth},
		{ID: 2, At: game.Point{X: 300 + distance, Y: 500}, Facing: east, Health: game.FullHealth},
	}}
}

func steps(s game.State, n int, inputs ...game.Input) game.State {
	for range n {
		s = game.Step(s, inputs)
	}
	return s
}

func TestStep_MovesAndStopsAtWalls(t *testing.T) {
	t.Parallel()
	cases := []struct {
		move game.Direction
		one  game.Point
		far  game.Point
	}{
		{0, game.Point{X: 300, Y: 500}, game.Point{X: 300, Y: 500}},
		{1, game.Point{X: 300, Y: 492}, game.Point{X: 300, Y: game.Radius}},
		{3, game.Point{X: 308, Y: 500}, game.Point{X: game.Size - game.Radius, Y: 500}},
		{6, game.Point{X: 294, Y: 506}, game.Point{X: game.Radius, Y: game.Size - game.Radius}},
	}
	for _, c := range cases {
		in := game.Input{Player: 1, Move: c.move}
		if got := steps(duel(100), 1, in).Players[0].At; got != c.one {
			t.Errorf("direction %d: one step leads to %v, want %v", c.move, got, c.one)
		}
		if got := steps(duel(100), 200, in).Players[0].At; got != c.far {
			t.Errorf("direction %d: 200 steps lead to %v, want %v", c.move, got, c.far)
		}
	}
}

func TestStep_ThreeHitsSendAwayAndScore(t *testing.T) {
	t.Parallel()
	s := duel(100)
	fire := game.Input{Player: 1, Fire: true}
	for n := 1; s.Players[1].Health > 0; n++ {
		if n > 3*(game.ReloadTime+5) {
			t.Fatalf("the target still has health %d", s.Players[1].Health)
		}
		s = game.Step(s, []game.Input{fire})
	}
	shooter, target := s.Players[0], s.Players[1]
	pickUps := shooter.Score - game.HitPoints
	if pickUps < 0 || pickUps > game.PickUps*game.PickUpPoints || target.AwayFor != game.AwayTime {
		t.Errorf("got shooter %+v and target %+v", shooter, target)
	}
	away := steps(s, game.AwayTime-1, game.Input{Player: 2, Move: east, Fire: true})
	if p := away.Players[1]; p.Health != 0 || p.At != target.At {
		t.Errorf("the target acts while away: %+v", p)
	}
	if p := steps(away, 1).Players[1]; p.Health != game.FullHealth {
		t.Errorf("the target is not back: %+v", p)
	}
}

func TestStep_ShotsReloadTireAndSpareTheirOwner(t *testing.T) {
	t.Parallel()
	s := steps(duel(690), game.ReloadTime, game.Input{Player: 1, Fire: true})
	if len(s.Shots) != 1 {
		t.Fatalf("got %d shots while reloading, want 1", len(s.Shots))
	}
	s = steps(s, game.ShotLife)
	if len(s.Shots) != 0 || s.Players[0].Health != game.FullHealth || s.Players[1].Health != game.FullHealth {
		t.Errorf("the shot flew too far or hit: %+v", s)
	}
}

func TestStep_PickUpsScoreAndAreReplaced(t *testing.T) {
	t.Parallel()
	s := duel(600)
	s.PickUps = []game.Point{{X: 300 + game.PickRadius, Y: 500}}
	s.Players[1].Health, s.Players[1].AwayFor = 0, 5
	s = steps(s, 1)
	if s.Players[0].Score != game.PickUpPoints || len(s.PickUps) != game.PickUps {
		t.Errorf("got score %d and %d pick-ups", s.Players[0].Score, len(s.PickUps))
	}
}

func TestJoinLeave_KeepIDsDistinct(t *testing.T) {
	t.Parallel()
	s := game.New(1)
	for want := 1; want <= game.MaxPlayers; want++ {
		var id uint8
		if s, id, _ = game.Join(s, east); int(id) != want {
			t.Fatalf("got id %d, want %d", id, want)
		}
	}
	if _, _, ok := game.Join(s, east); ok {
		t.Error("a full arena let one more in")
	}
	s = game.Leave(steps(s, 1, game.Input{Player: 7, Fire: true}), 7)
	for _, shot := range s.Shots {
		if shot.Owner == 7 {
			t.Error("a shot outlived its owner's leaving")
		}
	}
	if s, id, _ := game.Join(s, east); id != 7 || len(s.Players) != game.MaxPlayers {
		t.Errorf("got id %d of %d players, want the free 7", id, len(s.Players))
	}
}

// TestStep_KeepsItsBounds plays random games and checks the invariants: the old state
// is untouched, the same inputs produce the same state, everything is on the field
// and within its limits.
func TestStep_KeepsItsBounds(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		s := game.New(seed)
		for range 300 {
			switch rng.IntN(10) {
			case 0:
				s, _, _ = game.Join(s, game.Direction(1+rng.IntN(8)))
			case 1:
				s = game.Leave(s, uint8(rng.IntN(70)))
			}
			var inputs []game.Input
			for id := range 70 {
				inputs = append(inputs, game.Input{Player: uint8(id), Move: game.Direction(rng.IntN(9)), Fire: rng.IntN(2) == 0})
			}
			next := game.Step(s, inputs)
			if again := game.Step(s, inputs); !reflect.DeepEqual(next, again) {
				t.Fatalf("seed %d: two steps from one state differ", seed)
			}
			checkBounds(t, seed, next)
			s = next
		}
	}
}

func checkBounds(t *testing.T, seed uint64, s game.State) {
	t.Helper()
	on := func(p game.Point, margin int) bool {
		return p.X >= margin && p.Y >= margin && p.X <= game.Size-margin && p.Y <= game.Size-margin
	}
	for i, p := range s.Players {
		if !on(p.At, game.Radius) || p.Health < 0 || p.Health > game.FullHealth || i > 0 && s.Players[i-1].ID >= p.ID {
			t.Fatalf("seed %d, tick %d: player %+v", seed, s.Tick, p)
		}
	}
	for _, shot := range s.Shots {
		if !on(shot.At, 0) {
			t.Fatalf("seed %d, tick %d: shot %+v", seed, s.Tick, shot)
		}
	}
	if len(s.Players) > game.MaxPlayers || len(s.Shots) > game.MaxShots || len(s.PickUps) != game.PickUps {
		t.Fatalf("seed %d, tick %d: %d players, %d shots, %d pick-ups", seed, s.Tick, len(s.Players), len(s.Shots), len(s.PickUps))
	}
}
