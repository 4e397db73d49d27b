package pages

import (
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
)

// Crash is the end of a game server process that nobody asked for.
type Crash struct {
	At       time.Time  `json:"at"`
	Cause    event.Code `json:"cause"`
	FleetID  string     `json:"fleet_id"`
	Location string     `json:"location"`
	Compute  string     `json:"compute"`
	Process  string     `json:"process"`
	Session  string     `json:"session,omitempty"` // that it hosted
	Lived    int64      `json:"lived_ms"`
}

// crashOf returns the crash of a process that ended; ok is false if it was no crash.
func crashOf(p *compute.Process, now time.Time) (c Crash, ok bool) {
	switch p.Why {
	case event.ServerProcessCrashed, event.ServerProcessReadyTimeout, event.ServerProcessUnhealthy, event.ServerProcessExitTimeout,
		event.ServerProcessForceTerminated:
	default:
		return c, false
	}
	return Crash{
		At: now, Cause: p.Why, FleetID: p.FleetID, Location: p.Location, Compute: p.ComputeName, Process: p.ID,
		Session: p.GameSessionID, Lived: now.Sub(p.Initialized).Milliseconds(),
	}, true
}

// CrashGroup are the crashes of one cause in one fleet.
type CrashGroup struct {
	Cause   event.Code     `json:"cause"`
	FleetID string         `json:"fleet_id"`
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
	at := map[string]int{}
	for _, c := range p.crashes.list() {
		key := string(c.Cause) + c.FleetID
		i, ok := at[key]
		if !ok {
			i = len(out.Groups)
			at[key] = i
			out.Groups = append(out.Groups, CrashGroup{Cause: c.Cause, FleetID: c.FleetID, Last: c.At, Hosts: map[string]int{}})
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
