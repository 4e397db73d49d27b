package explain

import (
	"fmt"
	"time"

	"github.com/musterhq/muster/flexmatch/search/pool"
	"github.com/musterhq/muster/internal/plain"
)

// Codes of bounds.
const (
	SearchesCut = "SEARCHES_CUT" // searches ended before all was tried
	PassesEnded = "PASSES_ENDED" // passes left tickets to the next
)

// Bound says how often a bound of the effort ended searches or passes of a configuration lately, so
// that its tickets may wait though a match is possible.
type Bound struct {
	Code string `json:"code"`
	Cut  int    `json:"cut"`     // searches or passes that a bound ended
	Of   int    `json:"of"`      // all of them
	Over int64  `json:"over_ms"` // the time in which they were
	Text string `json:"text"`    // for people
}

// often is which part of the passes a bound has to end before that is worth a sentence. A pass that
// ends now and then is a burst of tickets.
const often = 10

// Bounds returns what bounds ended, as far as it is worth a sentence, of the effort for a
// configuration in some time.
func Bounds(e pool.Effort, over time.Duration) (out []Bound) {
	add := func(code string, cut, of int, text string) {
		out = append(out, Bound{Code: code, Cut: cut, Of: of, Over: over.Milliseconds(), Text: fmt.Sprintf("In the last %.0f minutes ", over.Minutes()) + text})
	}
	if e.Cut > 0 {
		add(SearchesCut, e.Cut, e.Searches, fmt.Sprintf("a bound ended %d of %s of this configuration before all was tried, since its rule set is expensive: a match may be possible that is not found. The runbook of MusterSearchesCut says what to do.",
			e.Cut, plain.Count(e.Searches, "search")))
	}
	if e.Ended > 0 && e.Ended >= e.Passes/often {
		add(PassesEnded, e.Ended, e.Passes, fmt.Sprintf("%d of %s over the tickets of this configuration took all their time and left tickets to the next one: a ticket may wait for its search. The runbook of MusterPassesEnded says what to do.",
			e.Ended, plain.Count(e.Passes, "pass")))
	}
	return out
}
