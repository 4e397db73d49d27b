package sim

// Report is the result of a simulation. Times are in seconds. Waits are from a ticket's
// creation to the forming of its final match.
type Report struct {
	Name    string  `json:"name,omitzero"` // of the players
	RuleSet string  `json:"rule_set"`
	Seed    uint64  `json:"seed"`
	For     float64 `json:"for_seconds"`
	Seeds   *Seeds  `json:"seeds,omitzero"` // of several runs (Repeat), of which the rest of the report is the first

	Tickets Outcomes  `json:"tickets"`
	Players Outcomes  `json:"players"`
	Wait    Quantiles `json:"wait"`       // of matched tickets
	Waited  Quantiles `json:"waited_off"` // of tickets that ended unmatched
	Curve   []Point   `json:"wait_curve"` // share of all ended tickets that were matched within a time

	Populations []Part `json:"populations"`
	Parties     []Part `json:"parties"`   // by party size
	Locations   []Part `json:"locations"` // of the matches
	Steps       []Part `json:"steps"`     // by the expansion step of the match

	Matches    Matched     `json:"matches"`
	Rules      []RuleUse   `json:"rules"`
	Attributes []Spread    `json:"attributes"` // of numbers
	Latency    Quantiles   `json:"latency_ms"` // of players to the location of their match
	Unmatched  []Why       `json:"unmatched"`
	Examined   int         `json:"unmatched_looked_at"` // number of timed out or cancelled tickets, evenly chosen, in Unmatched
	Timeline   []Moment    `json:"timeline"`
	Effort     Effort      `json:"effort"`
	Played     PlayedTimes `json:"player_minutes"`

	batches []*batch
	tail    bool // the last moment of Timeline is shorter than the others
}

// Outcomes counts tickets or players by result. Arrived is the sum of the others.
type Outcomes struct {
	Arrived   int `json:"arrived"`
	Matched   int `json:"matched"`
	TimedOut  int `json:"timed_out"`
	Cancelled int `json:"cancelled"`
	Declined  int `json:"declined"` // rejected a match or did not answer
	Waiting   int `json:"waiting"`  // searching at the end
	Pending   int `json:"pending"`  // in a match that was not completed at the end
}

// Part is the results of a part of the tickets.
type Part struct {
	Name    string    `json:"name"`
	Tickets Outcomes  `json:"tickets"`
	Players int       `json:"players"` // matched
	Wait    Quantiles `json:"wait"`
	Latency Quantiles `json:"latency_ms,omitzero"`
}

// Point is a point of a curve.
type Point struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// Matched summarizes the matches.
type Matched struct {
	Formed    int     `json:"formed"`  // and accepted
	Refused   int     `json:"refused"` // not accepted by all
	New       int     `json:"new"`     // of Formed, those with a new game session
	Filled    int     `json:"filled"`  // of Formed, those that filled up a game session
	Full      int     `json:"full"`    // of Formed, those without an open slot
	Backfills int     `json:"backfill_requests"`
	Sizes     []Count `json:"sizes"` // by number of players after the match
	Steps     []Count `json:"steps"` // by expansion step
}

// Count is how often a number occurred.
type Count struct {
	Value int `json:"value"`
	Times int `json:"times"`
}

// RuleUse is the effect of a rule on the matches.
type RuleUse struct {
	Name string `json:"name"`
	Type string `json:"type"`

	// Relaxed matches break the rule as it is before any expansion.
	Relaxed     int       `json:"relaxed"`
	Strict      int       `json:"strict"`
	WaitRelaxed Quantiles `json:"wait_relaxed"` // of tickets in relaxed matches
	WaitStrict  Quantiles `json:"wait_strict"`

	Value *Quantiles `json:"value,omitzero"` // the number that the rule limits, over the matches
	Limit *float64   `json:"limit,omitzero"` // before any expansion

	index int // of the rule
}

// Spread is the spread of a number attribute over the matches.
type Spread struct {
	Name   string    `json:"name"`
	Spread Quantiles `json:"spread"` // highest minus lowest player
	Teams  Quantiles `json:"teams"`  // highest minus lowest team average
}

// Why is a reason why tickets timed out or were cancelled.
type Why struct {
	Text    string `json:"text"`
	Tickets int    `json:"tickets"`
}

// Moment summarizes a stretch of simulated time.
type Moment struct {
	At      float64 `json:"at"` // end of the stretch
	Arrived int     `json:"arrived"`
	Matched int     `json:"matched"`
	Ended   int     `json:"ended"` // unmatched
	Waiting int     `json:"waiting"`
	P50     float64 `json:"p50"` // wait of matched tickets
	P90     float64 `json:"p90"`
}

// Effort is the effort of the search.
type Effort struct {
	Passes   int `json:"passes"`
	Ended    int `json:"passes_ended,omitzero"` // passes that a limit ended, with searches left to the next
	Searches int `json:"searches"`
	Cut      int `json:"cut"`      // searches cut short by a limit
	Rejected int `json:"rejected"` // matches that the reference evaluator refused
}

func (e *Effort) add(o *Effort) {
	e.Passes, e.Ended, e.Searches, e.Cut, e.Rejected = e.Passes+o.Passes, e.Ended+o.Ended, e.Searches+o.Searches, e.Cut+o.Cut, e.Rejected+o.Rejected
}

// PlayedTimes is the simulated time of players, in minutes.
type PlayedTimes struct {
	Waiting float64 `json:"waiting"`
	Playing float64 `json:"playing"`
}
