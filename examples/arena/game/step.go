package game

import "slices"

// Step returns the state one tick later. Of several inputs of a player the last
// counts; inputs of absent players are ignored.
func Step(old State, inputs []Input) State {
	s := old.clone()
	s.Tick++
	s.comeBack()
	for _, in := range inputs {
		if p := s.player(in.Player); p != nil && p.Health > 0 {
			s.act(p, in)
		}
	}
	s.fly()
	s.collect()
	s.refill()
	return s
}

// comeBack counts down the timers and returns players whose time away is over to a
// random place.
func (s *State) comeBack() {
	for i := range s.Players {
		p := &s.Players[i]
		p.Reload = max(p.Reload-1, 0)
		if p.Health > 0 {
			continue
		}
		if p.AwayFor--; p.AwayFor <= 0 {
			p.AwayFor, p.Health, p.At = 0, FullHealth, s.anywhere()
		}
	}
}

func (s *State) act(p *Player, in Input) {
	if in.Move != None {
		p.Facing = in.Move
		p.At = inside(p.At.towards(in.Move, Pace))
	}
	if in.Fire && p.Reload == 0 && p.Facing != None && len(s.Shots) < MaxShots {
		p.Reload = ReloadTime
		s.Shots = append(s.Shots, Shot{Owner: p.ID, At: p.At, Facing: p.Facing, Left: ShotLife})
	}
}

// fly moves the shots and removes those that hit, leave the field or run out.
func (s *State) fly() {
	for i := range s.Shots {
		shot := &s.Shots[i]
		shot.At = shot.At.towards(shot.Facing, ShotPace)
		shot.Left--
	}
	s.Shots = slices.DeleteFunc(s.Shots, func(shot Shot) bool {
		return shot.Left <= 0 || shot.At != bounded(shot.At, 0) || s.strikes(shot)
	})
}

// strikes reports whether a shot hits a player, and applies the hit.
func (s *State) strikes(shot Shot) bool {
	for i := range s.Players {
		victim := &s.Players[i]
		if victim.ID == shot.Owner || victim.Health == 0 || !victim.At.within(shot.At, Radius) {
			continue
		}
		if victim.Health--; victim.Health == 0 {
			victim.AwayFor = AwayTime
			s.award(shot.Owner, HitPoints)
		}
		return true
	}
	return false
}

// collect assigns each pick-up to the first player near it.
func (s *State) collect() {
	s.PickUps = slices.DeleteFunc(s.PickUps, func(at Point) bool {
		for _, p := range s.Players {
			if p.Health > 0 && p.At.within(at, PickRadius) {
				s.award(p.ID, PickUpPoints)
				return true
			}
		}
		return false
	})
}

func (s *State) refill() {
	for len(s.PickUps) < PickUps {
		s.PickUps = append(s.PickUps, s.anywhere())
	}
}

func (s *State) award(id uint8, points int) {
	if p := s.player(id); p != nil {
		p.Score += points
	}
}
