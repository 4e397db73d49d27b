// Package game implements the rules of the arena. Players move on a square field,
// shoot in the direction they face and collect pick-ups.
//
// The rules are pure: Step takes a state and the players' inputs and returns the next
// state; the old one stays unchanged. The random state is part of State, so the same
// start and the same inputs always produce the same game. Positions are integers. The
// package does not depend on networks, time or player sessions.
package game

import "slices"

// The dimensions of the arena. Lengths are in units, times in ticks.
const (
	Size       = 1000 // the field's width and height
	Radius     = 15   // of a player
	PickRadius = 25   // distance at which a player takes a pick-up
	Pace       = 8    // of a player, per tick
	ShotPace   = 24   // of a shot, per tick
	FullHealth = 3    // hits a player can take
	ReloadTime = 8    // between two shots of a player
	AwayTime   = 40   // from losing the last health to coming back
	ShotLife   = 25   // how long a shot flies
	PickUps    = 8    // on the field at any time
	MaxPlayers = 64
	MaxShots   = 64

	PickUpPoints = 1
	HitPoints    = 3 // for the hit that takes a player's last health
)

// Direction is 0 for none and 1..8 for the compass from north, clockwise.
type Direction uint8

// None is the direction of standing still.
const None Direction = 0

// Point is a position on the field: x grows east, y grows south.
type Point struct{ X, Y int }

// Player is a player. Health 0 means away until AwayFor has run out.
type Player struct {
	ID      uint8
	At      Point
	Facing  Direction
	Health  int
	Score   int
	Reload  int // ticks until the next shot
	AwayFor int // ticks until coming back
}

// Shot is a shot in flight.
type Shot struct {
	Owner  uint8
	At     Point
	Facing Direction
	Left   int // ticks to fly
}

// Input is a player's input for a tick.
type Input struct {
	Player uint8
	Move   Direction
	Fire   bool
}

// State is the arena at a tick. Players are ordered by ID.
type State struct {
	Tick    uint32
	Players []Player
	Shots   []Shot
	PickUps []Point
	chance  uint64
}

// New returns an arena without players; seed determines all its random numbers.
func New(seed uint64) State {
	s := State{chance: seed}
	s.refill()
	return s
}

// Join returns the arena with one more player, under the lowest free ID, or false if
// it is full.
func Join(old State, facing Direction) (State, uint8, bool) {
	if len(old.Players) == MaxPlayers {
		return old, 0, false
	}
	s := old.clone()
	id := uint8(1)
	at := slices.IndexFunc(s.Players, func(p Player) bool {
		if p.ID != id {
			return true
		}
		id++
		return false
	})
	if at < 0 {
		at = len(s.Players)
	}
	player := Player{ID: id, At: s.anywhere(), Facing: facing, Health: FullHealth}
	s.Players = slices.Insert(s.Players, at, player)
	return s, id, true
}

// Leave returns the arena without the player and its shots.
func Leave(old State, id uint8) State {
	s := old.clone()
	s.Players = slices.DeleteFunc(s.Players, func(p Player) bool { return p.ID == id })
	s.Shots = slices.DeleteFunc(s.Shots, func(shot Shot) bool { return shot.Owner == id })
	return s
}

func (s State) clone() State {
	s.Players = slices.Clone(s.Players)
	s.Shots = slices.Clone(s.Shots)
	s.PickUps = slices.Clone(s.PickUps)
	return s
}

func (s *State) player(id uint8) *Player {
	at, ok := slices.BinarySearchFunc(s.Players, id, func(p Player, id uint8) int { return int(p.ID) - int(id) })
	if !ok {
		return nil
	}
	return &s.Players[at]
}

// anywhere returns a random point, clear of the walls.
func (s *State) anywhere() Point {
	return Point{Radius + s.below(Size-2*Radius), Radius + s.below(Size-2*Radius)}
}

// below returns a random number from 0 to n-1 (SplitMix64).
func (s *State) below(n int) int {
	s.chance += 0x9e3779b97f4a7c15
	z := s.chance
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int((z ^ z>>31) % uint64(n))
}
