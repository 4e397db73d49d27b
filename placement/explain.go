package placement

import (
	"fmt"
	"time"
)

// Outcome says what came of a candidate in a round.
type Outcome string

// What can come of a candidate.
const (
	Chosen         Outcome = "CHOSEN"
	NotNeeded      Outcome = "NOT_NEEDED" // a better one was chosen
	NoFreeProcess  Outcome = "NO_FREE_PROCESS"
	OverLatencyCap Outcome = "OVER_LATENCY_CAP"
	NotAllowed     Outcome = "NOT_ALLOWED" // by the queue's filter, or by an override without fallback
	FleetNotActive Outcome = "FLEET_NOT_ACTIVE"
	NoSuchFleet    Outcome = "NO_SUCH_FLEET"
	TerminalAlias  Outcome = "TERMINAL_ALIAS"
)

// Round is one decision about a placement: every candidate in the order in
// which it was tried, and what came of it.
type Round struct {
	At         time.Time `json:"at"`
	Cap        int       `json:"cap,omitzero"` // latency cap in force, ms; 0 = none
	Candidates []Verdict `json:"candidates,omitzero"`
	Result     string    `json:"result"`
}

// Verdict is what came of one candidate.
type Verdict struct {
	Place   Place    `json:"place"`
	Outcome Outcome  `json:"outcome"`
	Text    string   `json:"text,omitzero"`
	Latency *float64 `json:"latency,omitzero"` // mean of the players' latencies, ms
	Failed  int      `json:"failed,omitzero"`  // attempts of this placement that failed there
}

// maxRounds bounds the rounds kept with a placement: the newest.
const maxRounds = 12

// keep adds a round to the placement's history.
func (p *Placement) keep(r Round) {
	rounds := append(p.Rounds[:len(p.Rounds):len(p.Rounds)], r)
	if len(rounds) > maxRounds {
		rounds = rounds[len(rounds)-maxRounds:]
	}
	p.Rounds = rounds
}

// verdict describes a candidate that was not chosen, or was.
func (x *judge) verdict(c candidate, outcome Outcome) Verdict {
	v := Verdict{Place: c.Place, Outcome: outcome, Failed: x.rank.failures(c)}
	at := x.request.at(c.Location)
	if at != nil {
		v.Latency = &at.Mean
	}
	switch outcome {
	case OverLatencyCap:
		v.Text = fmt.Sprintf("player %s has %g ms to %s; the cap is %d ms for %s more", at.Slowest, at.Max, c.Location, x.cap, x.capLeft())
	case NoFreeProcess:
		v.Text = "no free game server process"
	case NotAllowed:
		v.Text = "the location is not among those that the queue's filter or the request's override allow"
	case FleetNotActive:
		v.Text = "the fleet or its location is not ACTIVE"
	case NoSuchFleet:
		v.Text = "the destination does not exist any more"
	case TerminalAlias:
		v.Text = "the destination is a TERMINAL alias"
	}
	return v
}

func (x *judge) capLeft() string {
	if x.capUntil == 0 {
		return "the rest of the wait"
	}
	return (x.capUntil - x.waited).Round(time.Millisecond).String()
}
