package server

import (
	"time"

	"github.com/musterhq/muster/examples/arena/game"
	"github.com/musterhq/muster/examples/arena/wire"
)

// tick plays one tick. It returns true once the session has ended.
func (r *room) tick(now time.Time) bool {
	r.dropSilent(now)
	if end, ok := r.due(now); ok {
		r.close(end)
		return true
	}
	inputs := make([]game.Input, 0, len(r.at))
	for _, g := range r.at {
		inputs = append(inputs, g.wish)
	}
	r.state = game.Step(r.state, inputs)
	r.result.Ticks = r.state.Tick
	r.show()
	return false
}

func (r *room) dropSilent(now time.Time) {
	for _, g := range r.at {
		if now.Sub(g.heard) >= r.opts.SilentFor {
			r.depart(now, g, wire.OverSilent)
		}
	}
}

// due returns why the session has to end now, if it does.
func (r *room) due(now time.Time) (End, bool) {
	switch {
	case r.opts.MatchFor > 0 && now.Sub(r.opened) >= r.opts.MatchFor:
		return EndFinished, true
	case len(r.guests) > 0:
		return "", false
	case r.result.Players == 0 && now.Sub(r.opened) >= r.opts.WaitFor:
		return EndNobodyCame, true
	case r.result.Players > 0 && now.Sub(r.emptySince) >= r.opts.EmptyFor:
		return EndEmpty, true
	}
	return "", false
}

// close notifies all players of the end. No later packet makes up for a lost one, so
// it is sent to each three times.
func (r *room) close(why End) {
	r.result.End = why
	ending := wire.OverTerminating
	if why == EndFinished {
		ending = wire.OverFinished
	}
	for range 3 {
		for address := range r.at {
			r.send(address, wire.Over{Reason: ending, Scores: r.scores()})
		}
	}
}

func (r *room) scores() []wire.Score {
	scores := make([]wire.Score, 0, len(r.state.Players))
	for _, p := range r.state.Players {
		scores = append(scores, wire.Score{Player: p.ID, Score: clip(p.Score)})
	}
	return scores
}

func (r *room) show() {
	view := r.view()
	for address, g := range r.at {
		view.LastInput = g.sequence
		r.send(address, view)
	}
}

func (r *room) view() wire.Snapshot {
	view := wire.Snapshot{Tick: r.state.Tick}
	for _, p := range r.state.Players {
		view.Players = append(view.Players, wire.Player{ID: p.ID, X: clip(p.At.X), Y: clip(p.At.Y),
			Facing: wire.Direction(p.Facing), Health: uint8(p.Health), Score: clip(p.Score)})
	}
	for _, s := range r.state.Shots {
		view.Shots = append(view.Shots, wire.Shot{X: clip(s.At.X), Y: clip(s.At.Y), Facing: wire.Direction(s.Facing)})
	}
	for _, at := range r.state.PickUps {
		view.PickUps = append(view.PickUps, wire.PickUp{X: clip(at.X), Y: clip(at.Y)})
	}
	return view
}

func clip(n int) uint16 { return uint16(min(max(n, 0), 1<<16-1)) }
