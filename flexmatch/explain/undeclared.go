package explain

import (
	"cmp"
	"slices"

	"github.com/musterhq/muster/internal/nearest"
)

// Undeclared is an attribute that tickets bring and the rule set does not declare, so that
// no rule reads it.
type Undeclared struct {
	Attribute string `json:"attribute"`
	Tickets   int    `json:"tickets"`          // that bring it
	Nearest   string `json:"nearest,omitzero"` // the declared attribute that may have been meant
}

// undeclared counts the attributes of tickets that the rule set does not declare, most
// frequent first.
func (w *world) undeclared(tickets ...*ticket) (out []Undeclared) {
	var names []string
	declared := map[string]bool{}
	for _, a := range w.rs.Attributes {
		names = append(names, a.Name)
		declared[a.Name] = true
	}
	at := map[string]int{}
	last := map[string]*ticket{} // that was counted
	for _, o := range tickets {
		for i := range o.Players {
			for name := range o.Players[i].Attributes {
				if declared[name] || last[name] == o {
					continue
				}
				if last[name] == nil {
					at[name] = len(out)
					out = append(out, Undeclared{Attribute: name})
				}
				last[name] = o
				out[at[name]].Tickets++
			}
		}
	}
	slices.SortFunc(out, func(a, b Undeclared) int {
		return cmp.Or(b.Tickets-a.Tickets, cmp.Compare(a.Attribute, b.Attribute))
	})
	out = out[:min(len(out), undeclaredShown)]
	for i := range out {
		out[i].Nearest = nearest.Of(out[i].Attribute, names)
	}
	return out
}

// undeclaredShown is how many attributes are shown at most.
const undeclaredShown = 20
