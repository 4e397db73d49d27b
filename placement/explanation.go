package placement

import (
	"fmt"
	"slices"
	"time"
)

// Outcome is the result for a candidate in a round.
type Outcome string

// The outcomes of a candidate.
const (
	Chosen         Outcome = "CHOSEN"
	NotNeeded      Outcome = "NOT_NEEDED" // a better one was chosen
	NoFreeProcess  Outcome = "NO_FREE_PROCESS"
	OverLatencyCap Outcome = "OVER_LATENCY_CAP"
	NotAllowed     Outcome = "NOT_ALLOWED"     // by the queue's filter
	NotInOverride  Outcome = "NOT_IN_OVERRIDE" // of a request without fallback
	FleetNotActive Outcome = "FLEET_NOT_ACTIVE"
	NoSuchFleet    Outcome = "NO_SUCH_FLEET"
	TerminalAlias  Outcome = "TERMINAL_ALIAS"
	RemoteAway     Outcome = "REMOTE_UNAVAILABLE" // not asked yet, unreachable, throttled or refusing
)

// Round is one decision about a placement: every candidate in the order of trying, and
// its outcome.
type Round struct {
	At         time.Time `json:"at"`
	Cap        int       `json:"cap,omitzero"`         // latency cap in force, ms; 0 means none
	CapLeft    int64     `json:"cap_left_ms,omitzero"` // how long it still applies; 0 means until the timeout
	Candidates []Verdict `json:"candidates,omitzero"`
	More       int       `json:"more,omitzero"` // number of further candidates that are not kept
	Result     string    `json:"result"`

	// LowestLatency and LowestPrice report whether the chosen place has the lowest mean
	// latency of all candidates, and the lowest price of those in its location.
	LowestLatency bool `json:"lowest_latency,omitzero"`
	LowestPrice   bool `json:"lowest_price,omitzero"`
}

// Verdict is the result for one candidate.
type Verdict struct {
	Place   Place    `json:"place"`
	Outcome Outcome  `json:"outcome"`
	Text    string   `json:"text,omitzero"`    // explanation of Outcome; set by Explain
	Latency *float64 `json:"latency,omitzero"` // mean of the players' latencies, ms
	Player  string   `json:"player,omitzero"`  // if over the cap: the player with the highest latency there
	Millis  float32  `json:"ms,omitzero"`      // that player's latency
	Why     string   `json:"why,omitzero"`     // if RemoteAway
	Failed  int      `json:"failed,omitzero"`  // attempts of this placement that failed there
}

const (
	maxRounds   = 12 // rounds kept with a placement: the newest
	maxVerdicts = 64 // verdicts kept of a round: the first, and the chosen one
)

// keep adds a round to the placement's history.
func (p *Placement) keep(r Round) {
	rounds := append(p.Rounds[:len(p.Rounds):len(p.Rounds)], r)
	if len(rounds) > maxRounds {
		rounds = rounds[len(rounds)-maxRounds:]
	}
	p.Rounds = rounds
}

// round describes a decision: the candidates in order, and the chosen one or nil.
func (p *planner) round(x *judge, cs []candidate, chosen *candidate) Round {
	sorted := slices.Clone(cs)
	x.rank.sort(sorted)
	round := Round{At: p.now.UTC(), Cap: x.cap, Result: "no candidate has a free process that the rules allow"}
	if x.capUntil > 0 {
		round.CapLeft = (x.capUntil - x.waited).Milliseconds()
	}
	if chosen != nil {
		round.Result = "placed on " + chosen.Place.String()
		if chosen.Remote != "" {
			round.Result = "sent to " + chosen.Place.String()
		}
		round.LowestLatency, round.LowestPrice = lowestLatency(x.request, cs, chosen), lowestPrice(cs, chosen)
	}
	found := chosen == nil
	for i := range sorted {
		c := &sorted[i]
		v := x.verdict(c, found && chosen != nil)
		if !found && c.Place == chosen.Place {
			v, found = x.verdictOf(c, Chosen), true
		} else if len(round.Candidates) >= maxVerdicts {
			round.More++
			continue
		}
		round.Candidates = append(round.Candidates, v)
	}
	return round
}

// verdict describes a candidate that was not chosen. behind says whether it comes after
// the chosen one.
func (x *judge) verdict(c *candidate, behind bool) Verdict {
	outcome := x.forbids(c)
	switch {
	case outcome != "":
	case behind:
		outcome = NotNeeded
	default:
		outcome = NoFreeProcess
	}
	return x.verdictOf(c, outcome)
}

func (x *judge) verdictOf(c *candidate, outcome Outcome) Verdict {
	v := Verdict{Place: c.Place, Outcome: outcome, Why: c.why, Failed: x.rank.failed(c.Place)}
	if f := x.rank.shunned(c.Place, x.now); f != nil && c.usable == "" {
		v.Why = "it refused this placement: " + f.Why
	}
	if at := x.request.at(c.Location); at != nil {
		v.Latency = &at.Mean
		if outcome == OverLatencyCap {
			v.Player, v.Millis = at.Slowest, at.Max
		}
	}
	return v
}

func lowestLatency(r *Request, cs []candidate, chosen *candidate) bool {
	mine := r.at(chosen.Location)
	return mine != nil && !slices.ContainsFunc(cs, func(c candidate) bool {
		at := r.at(c.Location)
		return at != nil && at.Mean < mine.Mean
	})
}

func lowestPrice(cs []candidate, chosen *candidate) bool {
	return !slices.ContainsFunc(cs, func(c candidate) bool { return c.Location == chosen.Location && c.cost < chosen.cost })
}

// chose reports whether a candidate was chosen.
func (r Round) chose() bool {
	return slices.ContainsFunc(r.Candidates, func(v Verdict) bool { return v.Outcome == Chosen })
}

// firstChoice returns the outcome of the first candidate that the rules allowed.
func (r Round) firstChoice() Outcome {
	for _, v := range r.Candidates {
		switch v.Outcome {
		case NotAllowed, NotInOverride, OverLatencyCap:
		default:
			return v.Outcome
		}
	}
	return ""
}

// text explains the outcome of a candidate.
func (r Round) text(v Verdict) string {
	switch v.Outcome {
	case OverLatencyCap:
		left := "for the rest of the wait"
		if r.CapLeft > 0 {
			left = "for " + (time.Duration(r.CapLeft) * time.Millisecond).String() + " more"
		}
		return fmt.Sprintf("player %s has %g ms to %s; the cap is %d ms %s", v.Player, v.Millis, v.Place.Location, r.Cap, left)
	case RemoteAway:
		return v.Why
	case NoFreeProcess:
		if v.Place.Remote != "" {
			return "no free game server process when " + called(v.Place.Remote) + " was last asked"
		}
		return "no free game server process"
	case NotNeeded:
		return "comes after the chosen one"
	case NotAllowed:
		return "the queue's filter does not allow the location"
	case NotInOverride:
		return "the request allows only the locations of its override"
	case FleetNotActive:
		return "the fleet or its location is not ACTIVE"
	case NoSuchFleet:
		return "the destination does not exist any more"
	case TerminalAlias:
		return "the destination is a TERMINAL alias"
	}
	return ""
}

// withTexts returns a copy of the round with its texts.
func (r Round) withTexts() Round {
	r.Candidates = slices.Clone(r.Candidates)
	for i, v := range r.Candidates {
		r.Candidates[i].Text = r.text(v)
	}
	return r
}
