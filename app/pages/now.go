package pages

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/flexmatch"
	"github.com/musterhq/muster/internal/plain"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/placement"
)

// State is how well something is, in the words of the console's tokens.
type State string

// The states of a Light and of what is listed.
const (
	Well State = "ok"
	Warn State = "warn"
	Bad  State = "fail"
	Idle State = "idle"
)

// Light answers a part of the question whether players can play.
type Light struct {
	Name  string `json:"name"`
	State State  `json:"state"`
	Text  string `json:"text"` // with the reason
	To    string `json:"to"`   // the page that tells more
}

// Totals are figures of the whole cell.
type Totals struct {
	Players   int `json:"players"` // in game sessions, reservations included
	Sessions  int `json:"sessions"`
	Waiting   int `json:"waiting"` // matchmaking tickets that have not ended
	Pending   int `json:"pending"` // placements that have not ended
	Free      int `json:"free"`    // game sessions that could start now
	Processes int `json:"processes"`
	Fleets    int `json:"fleets"`
	Hosts     int `json:"hosts"`
	HostsAway int `json:"hosts_away"`
}

// Now is the first page.
type Now struct {
	Lights    []Light    `json:"lights"`
	Totals    Totals     `json:"totals"`
	Starts    int        `json:"starts"`  // game sessions in the last minute
	Crashes   int        `json:"crashes"` // in the range of the series
	Series    Series     `json:"series"`
	Locations []Location `json:"locations"`
	Notable   []Notable  `json:"notable"`
	First     bool       `json:"first"` // nothing has ever been set up
}

// Location is what runs in a location, in all fleets.
type Location struct {
	Location string `json:"location"`
	State    State  `json:"state"`
	Reason   string `json:"reason,omitempty"`
	client.FleetLoad
}

// Now returns the first page.
func (p *Pages) Now(s Range) *Now {
	view, now := p.Store.View(), time.Now()
	n := &Now{Totals: p.totals(view), Locations: p.locations()}
	n.Series = p.series(&p.whole, now, s, []string{"starts", "crashes"}, []string{"players", "sessions", "waiting", "pending", "free"})
	minute, _ := p.whole.since(now.Add(-resolutions[fine].step), fine, 5) // six steps that have ended
	all, _ := p.whole.in(now, s)
	n.Starts, n.Crashes = minute["starts"], all["crashes"]
	n.Lights = []Light{p.matchLight(now, n.Totals), p.placeLight(now, n.Totals, n.Locations), p.connectLight(now, n.Totals)}
	n.First = n.Totals.Fleets == 0
	n.Notable = p.notables.lines()
	return n
}

func (p *Pages) totals(view store.Reader) Totals {
	var t Totals
	for f := range p.Fleets.All(view, "") {
		t.Fleets++
		use := p.Sessions.Use(view, f.ID, "")
		t.Players += use.Players
		t.Sessions += use.GameSessions + use.Activating
		t.Processes += use.Processes
		t.Free += p.Computes.Tally(view, f.ID, "").Free
	}
	for c := range p.Matches.Configurations.After(view, "") {
		t.Waiting += p.Matches.Active(view, c.Name)
	}
	for _, q := range p.Placements.Overview() {
		t.Pending += q.Pending
	}
	for h := range p.Instances.Hosts(view) {
		t.Hosts++
		if !h.Connected {
			t.HostsAway++
		}
	}
	return t
}

// locations returns the locations of all fleets, those in trouble first, then by players.
func (p *Pages) locations() []Location {
	of, full := map[string]*Location{}, map[string]string{}
	for _, f := range p.States() {
		for _, l := range f.Locations {
			at := of[l.Location]
			if at == nil {
				at = &Location{Location: l.Location, State: Well}
				of[l.Location] = at
			}
			at.Add(l.FleetLoad)
			full[l.Location] = cmp.Or(full[l.Location], l.Full)
			if l.Reason != "" {
				at.State, at.Reason = Warn, l.Reason
			}
			if l.Status == "ERROR" {
				at.State, at.Reason = Bad, "a fleet failed here"
			}
		}
	}
	out := []Location{}
	for _, l := range of {
		switch {
		case l.State == Well && l.Processes > 0 && l.Free == 0:
			l.State, l.Reason = Warn, "full: "+cmp.Or(full[l.Location], "no process is free")
		case l.State == Well && l.Processes == 0:
			l.State, l.Reason = Idle, "no process is ready"
		}
		out = append(out, *l)
	}
	order := map[State]int{Bad: 0, Warn: 1, Well: 2, Idle: 3}
	slices.SortFunc(out, func(a, b Location) int {
		switch {
		case order[a.State] != order[b.State]:
			return order[a.State] - order[b.State]
		case a.Players != b.Players:
			return b.Players - a.Players
		case a.Location < b.Location:
			return -1
		}
		return 1
	})
	return out
}

// recent is the time over which lights judge.
const recent = 5 * time.Minute

// matchLight judges matchmaking.
func (p *Pages) matchLight(now time.Time, t Totals) Light {
	l := Light{Name: "Match", State: Idle, Text: "nobody looks for a match", To: "/matchmaking"}
	counts, _ := p.whole.lately(now)
	done, out, failed := counts["ticket COMPLETED"], counts["ticket TIMED_OUT"], counts["ticket FAILED"]
	var matching []*history
	p.mu.Lock()
	for _, c := range p.configurations {
		matching = append(matching, &c.history)
	}
	p.mu.Unlock()
	wait, known := lately(now, string(flexmatch.Matching), matching).quantile(.9)
	switch {
	case out+failed > 0 && out+failed >= done:
		l.State, l.Text = Bad, fmt.Sprintf("%d of %d tickets ended without a match in 5 min", out+failed, done+out+failed)
	case out+failed > 0:
		l.State, l.Text = Warn, fmt.Sprintf("%d of %d tickets ended without a match in 5 min", out+failed, done+out+failed)
	case known:
		l.State, l.Text = Well, "9 of 10 are matched within "+seconds(wait)
	case t.Waiting > 0:
		l.State, l.Text = Warn, fmt.Sprintf("%d wait, and nobody was matched in 5 min", t.Waiting)
	}
	return l
}

// lately returns how long something took that histories have, over the time that lights judge.
func lately(now time.Time, what string, of []*history) (all waits) {
	for _, h := range of {
		_, took := h.lately(now)
		own := took[what]
		all.merge(&own)
	}
	return all
}

// placeLight judges whether game sessions find a process.
func (p *Pages) placeLight(now time.Time, t Totals, at []Location) Light {
	l := Light{Name: "Place", State: Idle, Text: "no game session was asked for", To: "/queues"}
	counts, _ := p.whole.lately(now)
	done := counts["placement "+string(placement.Fulfilled)]
	bad := counts["placement "+string(placement.TimedOut)] + counts["placement "+string(placement.Failed)]
	why := ""
	for _, where := range at {
		if where.State == Warn || where.State == Bad {
			why = "; " + where.Location + ": " + where.Reason
			break
		}
	}
	switch {
	case bad > 0 && bad >= done:
		l.State, l.Text = Bad, fmt.Sprintf("%d of %d placements failed in 5 min%s", bad, bad+done, why)
	case bad > 0:
		l.State, l.Text = Warn, fmt.Sprintf("%d of %d placements failed in 5 min%s", bad, bad+done, why)
	case t.Pending > 0 && t.Free == 0:
		l.State, l.Text = Warn, fmt.Sprintf("%d wait, and no process is free%s", t.Pending, why)
	case t.Free > 0:
		l.State, l.Text = Well, plain.Count(t.Free, "more game session")+" could start now"
	case t.Processes > 0:
		l.State, l.Text, l.To = Warn, "no process is free"+why, "/fleets"
	case t.Fleets > 0:
		l.State, l.Text, l.To = Warn, "no game server is ready"+why, "/fleets"
	}
	var queues []*history
	p.mu.Lock()
	for _, q := range p.queues {
		queues = append(queues, &q.history)
	}
	p.mu.Unlock()
	if wait, known := lately(now, placed, queues).quantile(.9); known && (l.State == Well || l.State == Warn) {
		l.Text = "9 of 10 are placed within " + seconds(wait) + "; " + l.Text
	}
	return l
}

// connectLight judges whether game servers stay.
func (p *Pages) connectLight(now time.Time, t Totals) Light {
	l := Light{Name: "Connect", State: Idle, Text: "no game server runs", To: "/fleets"}
	counts, _ := p.whole.lately(now)
	starts, crashes := counts["starts"], counts["crashes"]
	switch {
	case t.HostsAway > 0 && t.HostsAway == t.Hosts:
		l.State, l.Text, l.To = Bad, "no host is connected", "/fleets"
	case t.HostsAway > 0:
		l.State, l.Text, l.To = Warn, fmt.Sprintf("%d of %d hosts are away", t.HostsAway, t.Hosts), "/fleets"
	case crashes > 0 && 10*crashes >= starts:
		l.State, l.Text, l.To = Bad, plain.Count(crashes, "game server")+" crashed in 5 min", "/crashes"
	case crashes > 0:
		l.State, l.Text, l.To = Warn, plain.Count(crashes, "game server")+" crashed in 5 min", "/crashes"
	case t.Processes > 0:
		l.State, l.Text = Well, plain.Count(t.Processes, "game server")+", none crashed in 5 min"
	}
	return l
}

// seconds returns a duration for people.
func seconds(s float64) string {
	switch {
	case s < 1:
		return fmt.Sprintf("%.0f ms", s*1000)
	case s < 10:
		return fmt.Sprintf("%.1f s", s)
	case s < 120:
		return fmt.Sprintf("%.0f s", s)
	}
	return fmt.Sprintf("%.0f min", s/60)
}
