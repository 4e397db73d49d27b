package pages

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/store"
)

// Crash is the end of a game server process that nobody asked for.
type Crash struct {
	At       time.Time  `json:"at"`
	Cause    event.Code `json:"cause"`
	How      string     `json:"how,omitempty"` // it ended, for people; without what differs from time to time
	FleetID  string     `json:"fleet_id"`
	Build    string     `json:"build,omitempty"` // the id of a build, or a container group definition and its version; none of an Anywhere fleet
	Location string     `json:"location"`
	Compute  string     `json:"compute"`
	Process  string     `json:"process"`
	Session  string     `json:"session,omitempty"` // that it hosted
	Lived    int64      `json:"lived_ms"`
}

// isCrash reports whether an end for a reason is a crash.
func isCrash(why event.Code) bool {
	switch why {
	case event.ServerProcessCrashed, event.ServerProcessReadyTimeout, event.ServerProcessUnhealthy, event.ServerProcessExitTimeout,
		event.ServerProcessForceTerminated:
		return true
	}
	return false
}

// crashOf returns the crash of a process that ended; ok is false if it was no crash.
func crashOf(p *compute.Process, how string, now time.Time) (c Crash, ok bool) {
	return Crash{
		At: now, Cause: p.Why, How: alike(how), FleetID: p.FleetID, Location: p.Location, Compute: p.ComputeName, Process: p.ID,
		Session: p.GameSessionID, Lived: now.Sub(p.Initialized).Milliseconds(),
	}, isCrash(p.Why)
}

// earlyCrashOf is crashOf for a process that had not connected.
func earlyCrashOf(u instance.Unconnected, now time.Time) (c Crash, ok bool) {
	return Crash{
		At: now, Cause: u.Code, How: alike(u.How), FleetID: u.FleetID, Location: u.Location, Compute: u.ComputeName, Process: u.ProcessID,
		Lived: u.Lived.Milliseconds(),
	}, isCrash(u.Code)
}

// ended records the end of a process, if it is a crash.
func (r *recorder) ended(tx *store.Tx, c Crash, isCrash bool) {
	if !isCrash {
		return
	}
	c.Build = r.of.buildOf(c.FleetID, c.Compute)
	tx.OnCommit(func() {
		r.whole.count(c.At, "crashes")
		r.crashes.add(c)
	})
}

// alike returns how a process ended without what differs from time to time.
func alike(how string) string {
	how, _, _ = strings.Cut(how, ";") // how far it had come and its last lines follow
	return lived.ReplaceAllString(how, "")
}

// lived is the part of diagnose.Exit about the time from a process's start to its end.
var lived = regexp.MustCompile(` [0-9][0-9.hmsµn]* after its start`)

// buildOf returns what a compute of a fleet runs, as it was before the transaction that is under way:
// the id of a build, or a container group definition and its version; "" of an Anywhere fleet.
func (s Services) buildOf(fleetID, name string) string {
	view := s.Store.View()
	f := s.Fleets.Get(view, fleetID)
	switch {
	case f == nil:
		return ""
	case f.Containers != nil:
		id, slot := compute.InstanceOf(name)
		if i := s.Instances.Instance(view, id); i != nil {
			if at := slices.IndexFunc(i.Groups, func(g instance.Group) bool { return g.Name == slot }); at >= 0 {
				return i.Groups[at].Of.String()
			}
		}
	case f.Managed != nil:
		return f.Managed.BuildID
	}
	return ""
}

// CrashGroup are the crashes of one cause in one build of a fleet.
type CrashGroup struct {
	Cause   event.Code     `json:"cause"`
	How     string         `json:"how,omitempty"`
	FleetID string         `json:"fleet_id"`
	Fleet   string         `json:"fleet,omitempty"` // its name, if it is there
	Build   string         `json:"build,omitempty"`
	Count   int            `json:"count"`
	Games   int            `json:"games"` // of them with a game session
	First   time.Time      `json:"first"`
	Last    time.Time      `json:"last"`
	Hosts   map[string]int `json:"hosts"` // by compute
	Crashes []Crash        `json:"crashes"`
}

// Crashes are the newest crashes, grouped.
type Crashes struct {
	Since  time.Time    `json:"since"` // from when crashes are known
	Count  int          `json:"count"` // in the range of the series
	Groups []CrashGroup `json:"groups"`
	Series Series       `json:"series"`
}

// Crashes returns the crashes page.
func (p *Pages) Crashes(s Range) *Crashes {
	now := time.Now()
	counts, _ := p.whole.in(now, s)
	out := &Crashes{
		Since: p.since(), Count: counts["crashes"], Groups: []CrashGroup{},
		Series: p.series(&p.whole, now, s, []string{"crashes", "starts"}, nil),
	}
	view := p.Store.View()
	at := map[Crash]int{}
	for _, c := range p.crashes.list() {
		c.How = alike(c.How) // it may have been saved with the time
		key := Crash{Cause: c.Cause, How: c.How, FleetID: c.FleetID, Build: c.Build}
		i, ok := at[key]
		if !ok {
			i = len(out.Groups)
			at[key] = i
			g := CrashGroup{Cause: c.Cause, How: c.How, FleetID: c.FleetID, Build: c.Build, Last: c.At, Hosts: map[string]int{}}
			if f := p.Fleets.Get(view, c.FleetID); f != nil {
				g.Fleet = f.Name
			}
			out.Groups = append(out.Groups, g)
		}
		g := &out.Groups[i]
		g.Count++
		if c.Session != "" {
			g.Games++
		}
		g.First = c.At
		g.Hosts[c.Compute]++
		if len(g.Crashes) < 20 {
			g.Crashes = append(g.Crashes, c)
		}
	}
	return out
}
