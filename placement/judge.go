package placement

import (
	"slices"
	"time"
)

// judge applies the rules currently in force to one waiting placement.
type judge struct {
	request  *Request
	rank     ranking
	waited   time.Duration
	cap      int           // latency cap in force, ms, or noCap
	capUntil time.Duration // when the cap changes, since the start; 0 means never
}

func newJudge(rules *rules, p *Placement, r *Request, now time.Time) judge {
	x := judge{request: r, rank: newRanking(rules, p, r), waited: now.Sub(p.Started)}
	if len(r.Summary) > 0 {
		x.cap, x.capUntil = capAt(rules.policies, x.waited)
	}
	return x
}

// forbids returns why the placement may not use a candidate, or "".
func (x *judge) forbids(c *candidate) Outcome {
	switch {
	case c.usable != "":
		return c.usable
	case x.onlyOverride() && !slices.Contains(x.rank.override, c.Location):
		return NotInOverride
	case x.overCap(c.Location):
		return OverLatencyCap
	}
	return ""
}

func (x *judge) onlyOverride() bool {
	return x.request.Override != nil && x.request.Override.Fallback == NoFallback
}

// overCap reports whether any player's latency to a location is above the cap. A player
// who did not report the location does not count.
func (x *judge) overCap(location string) bool {
	if x.cap == noCap {
		return false
	}
	at := x.request.at(location)
	return at != nil && at.Max > float32(x.cap)
}

// nextCap returns when the cap changes, or zero.
func (x *judge) nextCap(p *Placement) time.Time {
	if x.capUntil == 0 {
		return time.Time{}
	}
	return p.Started.Add(x.capUntil)
}
