package engine

import (
	"fmt"
	"net/netip"
	"time"
)

// End describes how a group ended.
type End struct {
	Container string // with which the group ended
	Known     bool   // false: the container was removed by others, so nothing is known of its end
	Code      int    // its exit code; -1 if a signal ended it
	Signal    string // name of the signal that ended it, or ""
	OOM       bool   // it exceeded its memory limit
	Unhealthy bool   // it runs, and its health check fails
	Reason    string // what the engine says, if it could not start it
	At        time.Time
	Tail      []string // the last lines of its output, at most 1000
}

// Clean reports whether the container ended with code 0.
func (e End) Clean() bool { return e.Known && e.Code == 0 && !e.Unhealthy && e.Reason == "" }

// String describes the end in a few words.
func (e End) String() string {
	name := "container " + e.Container
	switch {
	case !e.Known:
		return name + " was removed by others"
	case e.Unhealthy:
		return name + " failed its health check"
	case e.OOM:
		return name + " was killed because it exceeded its memory limit"
	case e.Reason != "":
		return name + " did not start: " + e.Reason
	case e.Signal != "":
		return name + " was ended by signal " + e.Signal
	}
	return fmt.Sprintf("%s exited with code %d", name, e.Code)
}

// phase is where in its life a container is.
type phase int

const (
	created phase = iota
	started       // it runs, or is paused
	exited
	removed
)

// state is what the engine says of a container.
type state struct {
	phase    phase
	code     int
	oom      bool
	health   string // healthy, unhealthy, starting or ""
	reason   string
	finished time.Time
	ip       string
	gateway  netip.Addr // of its network
}

// member is a container of a group that was created.
type member struct {
	name    string
	id      string // "" if others removed it
	role    string
	stop    string // signal that asks it to end
	checked bool   // it has a health check
}

func (m member) essential() bool { return m.role != roleOther }

// outcome returns how a group ended, and whether it has. A group ends with the first of its
// essential containers, or when none of its containers runs.
func outcome(members []member, states []state) (End, bool) {
	found := -1
	running := false
	for i, m := range members {
		s := states[i]
		running = running || s.phase == created || s.phase == started && m.role != roleNetwork
		if !m.essential() || s.phase == created || s.phase == started && s.health != "unhealthy" {
			continue
		}
		if found < 0 || earlier(s, states[found]) {
			found = i
		}
	}
	if found < 0 && !running {
		for i, m := range members {
			if m.role != roleNetwork && (found < 0 || earlier(states[found], states[i])) {
				found = i // the last one to end
			}
		}
	}
	if found < 0 {
		return End{}, false
	}
	return endOf(members[found], states[found]), true
}

// earlier reports whether a container ended before another one. One that is still there
// because it is unhealthy, or of whose end nothing is known, is later than all others.
func earlier(a, b state) bool {
	if (a.phase == exited) != (b.phase == exited) {
		return a.phase == exited
	}
	return a.finished.Before(b.finished)
}

func endOf(m member, s state) End {
	end := End{Container: m.name, Known: s.phase != removed, Code: s.code, OOM: s.oom, Reason: s.reason, At: s.finished}
	if s.phase == started {
		end.Unhealthy, end.Code, end.OOM, end.Reason = true, 0, false, ""
		return end
	}
	if s.phase == exited && s.code > 128 && s.code < 128+65 {
		end.Signal, end.Code = signalName(s.code-128), -1
	}
	return end
}
