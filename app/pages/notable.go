package pages

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/store"
)

// Notable is something worth knowing: events of one code about one thing.
type Notable struct {
	At    time.Time  `json:"at"` // of the newest
	State State      `json:"state"`
	Code  event.Code `json:"code"`
	Text  string     `json:"text"`
	Times int        `json:"times"`
	More  bool       `json:"more,omitempty"` // there may be earlier ones, which are not kept
	To    string     `json:"to,omitempty"`
}

const (
	notableKept  = 50 // newest events kept of each code
	notableLines = 20 // shown
	notableAlike = 5  // of them of one code, so that no kind displaces all others
)

// toneOf is how a weight is shown.
var toneOf = map[event.Weight]State{event.Failure: Bad, event.Warning: Warn, event.Recovery: Well, event.Change: Idle}

// notables are the newest notable events by code: those in the log when the node took over,
// and what was appended since.
type notables struct {
	mu   sync.Mutex
	of   map[event.Code][]event.Entry // newest first
	died map[spot]event.Entry         // the newest about a game server that does not work
}

// spot is a location of a fleet.
type spot struct{ fleetID, location string }

// deadly are the codes of events about a game server that does not work.
var deadly = []event.Code{
	event.ServerProcessCrashed, event.ServerProcessReadyTimeout, event.ServerProcessUnhealthy, event.ServerProcessInvalidPath,
	event.ServerProcessSDKInitTimeout, event.ServerProcessWrongPort, event.GameGroupCrashed, event.InstanceGroupCrashed,
}

// newNotables returns the notable events that are appended from now on.
func newNotables(events *event.Log) *notables {
	n := &notables{of: map[event.Code][]event.Entry{}, died: map[spot]event.Entry{}}
	events.OnNotable(func(tx *store.Tx, e event.Entry) { tx.OnCommit(func() { n.add(e) }) })
	return n
}

// read adds the events that are in the log.
func (n *notables) read(ctx context.Context, events *event.Log) error {
	for code := range event.Notables() {
		entries, err := events.Read(ctx, event.Query{Notable: code, NewestFirst: true, Limit: notableKept})
		if err != nil {
			return err
		}
		for _, e := range entries {
			n.add(e)
		}
	}
	return nil
}

// add adds an event, unless it is known or too old.
func (n *notables) add(e event.Entry) {
	n.mu.Lock()
	defer n.mu.Unlock()
	at := spot{e.Value.FleetID, e.Value.Location}
	if e.Seq > n.died[at].Seq && slices.Contains(deadly, e.Value.Code) {
		n.died[at] = e
	}
	all := n.of[e.Value.Code]
	i, known := slices.BinarySearchFunc(all, e.Seq, func(have event.Entry, seq uint64) int { return cmp.Compare(seq, have.Seq) })
	if known {
		return
	}
	all = slices.Insert(all, i, e)
	n.of[e.Value.Code] = all[:min(len(all), notableKept)]
}

// LastCrash returns the newest event about a game server of a fleet's location that does not work, or
// nil.
func (p *Pages) LastCrash(fleetID, location string) *event.Event {
	p.notables.mu.Lock()
	defer p.notables.mu.Unlock()
	return p.notables.died[spot{fleetID, location}].Value
}

// keep forgets the fleets for which has returns false.
func (n *notables) keep(has func(fleetID string) bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	maps.DeleteFunc(n.died, func(at spot, _ event.Entry) bool { return !has(at.fleetID) })
}

// lines returns what is worth knowing, newest first.
func (n *notables) lines() []Notable {
	n.mu.Lock()
	out := []Notable{}
	for _, all := range n.of {
		out = append(out, linesOf(all)...)
	}
	n.mu.Unlock()
	slices.SortStableFunc(out, func(a, b Notable) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Code, b.Code)) })
	return out[:min(len(out), notableLines)]
}

// linesOf returns a line for each thing that events of one code are about. The last one
// stands for all further things, if there are too many.
func linesOf(all []event.Entry) (out []Notable) {
	at := map[string]int{} // the line of a place
	for _, e := range all {
		to := placeOf(e.Value)
		i, ok := at[to]
		if !ok {
			i = len(out)
			at[to] = i
			out = append(out, Notable{At: e.Value.Time, State: toneOf[e.Value.Code.Weight()], Code: e.Value.Code, Text: cmp.Or(e.Value.Message, e.Value.Resource), To: to})
		}
		out[i].Times++
	}
	if len(out) > notableAlike {
		last := &out[notableAlike-1]
		for _, n := range out[notableAlike:] {
			last.Times += n.Times
		}
		last.To, last.Text = "", fmt.Sprintf("in %d more places", len(out)-notableAlike+1)
		out = out[:notableAlike]
	}
	for i := range out {
		out[i].More = out[i].Times == notableKept
	}
	return out
}

// placeOf returns the page of what an event is about.
func placeOf(e *event.Event) string {
	switch {
	case e.GameSessionID != "":
		return "/sessions?id=" + e.GameSessionID
	case e.FleetID != "":
		return "/fleets?id=" + e.FleetID
	}
	return ""
}
