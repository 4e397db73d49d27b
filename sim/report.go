package sim

// Report is what a simulation found. Times are in seconds; waits run from the
// ticket's creation to the forming of the match that it ended in.
type Report struct {
	Name    string  `json:"name,omitzero"` // of the players
	RuleSet string  `json:"rule_set"`
	Seed    uint64  `json:"seed"`
	For     float64 `json:"for_seconds"`

	Tickets Fates     `json:"tickets"`
	Players Fates     `json:"players"`
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
	Looked     int         `json:"unmatched_looked_at"` // timed out or cancelled tickets, evenly chosen, that Unmatched tells of
	Timeline   []Moment    `json:"timeline"`
	Effort     Effort      `json:"effort"`
	Played     PlayedTimes `json:"player_minutes"`
}

// Fates says what became of tickets or players; Arrived is the sum of the others.
type Fates struct {
	Arrived   int `json:"arrived"`
	Matched   int `json:"matched"`
	TimedOut  int `json:"timed_out"`
	Cancelled int `json:"cancelled"`
	Declined  int `json:"declined"` // rejected a match or did not answer
	Waiting   int `json:"waiting"`  // searching at the end
	Pending   int `json:"pending"`  // in a match that was not there yet at the end
}

// Part is what became of a part of the tickets.
type Part struct {
	Name    string    `json:"name"`
	Tickets Fates     `json:"tickets"`
	Players int       `json:"players"` // matched
	Wait    Quantiles `json:"wait"`
	Latency Quantiles `json:"latency_ms,omitzero"`
}

// Point is a point of a curve.
type Point struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// Matched sums up the matches.
type Matched struct {
	Formed    int     `json:"formed"`  // and accepted
	Refused   int     `json:"refused"` // not accepted by all
	New       int     `json:"new"`     // of those formed, that began a game session
	Filled    int     `json:"filled"`  // that filled one
	Full      int     `json:"full"`    // with no slot left
	Backfills int     `json:"backfill_requests"`
	Sizes     []Count `json:"sizes"` // by players after the match
	Steps     []Count `json:"steps"` // by expansion step
}

// Count is how often a number was seen.
type Count struct {
	Value int `json:"value"`
	Times int `json:"times"`
}

// RuleUse is what a rule meant for the matches.
type RuleUse struct {
	Name string `json:"name"`
	Type string `json:"type"`

	// Relaxed matches break the rule as it stands before any expansion.
	Relaxed     int       `json:"relaxed"`
	Strict      int       `json:"strict"`
	WaitRelaxed Quantiles `json:"wait_relaxed"` // of tickets in relaxed matches
	WaitStrict  Quantiles `json:"wait_strict"`

	Value *Quantiles `json:"value,omitzero"` // the number that the rule limits, over the matches
	Limit *float64   `json:"limit,omitzero"` // before any expansion
}

// Spread is how far apart the players of a match are in a number attribute.
type Spread struct {
	Name   string    `json:"name"`
	Spread Quantiles `json:"spread"` // highest minus lowest player
	Teams  Quantiles `json:"teams"`  // highest minus lowest team average
}

// Why is why tickets timed out or were cancelled.
type Why struct {
	Text    string `json:"text"`
	Tickets int    `json:"tickets"`
}

// Moment sums up a stretch of the simulated time.
type Moment struct {
	At      float64 `json:"at"` // its end
	Arrived int     `json:"arrived"`
	Matched int     `json:"matched"`
	Ended   int     `json:"ended"` // unmatched
	Waiting int     `json:"waiting"`
	P50     float64 `json:"p50"` // wait of those matched
	P90     float64 `json:"p90"`
}

// Effort is what the search did.
type Effort struct {
	Passes   int `json:"passes"`
	Searches int `json:"searches"`
	Cut      int `json:"cut"`      // ended by a bound
	Rejected int `json:"rejected"` // matches that the reference evaluator refused
}

// PlayedTimes is how long players were simulated, in minutes.
type PlayedTimes struct {
	Waiting float64 `json:"waiting"`
	Playing float64 `json:"playing"`
}
