package search

import (
	"fmt"
	"time"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// Verify judges a match by the definition alone. The error describes the first condition
// that is not met.
func Verify(rs *ruleset.RuleSet, opts Options, m *Match, now time.Time) error {
	entries := make([]*entry, len(m.Tickets))
	for i, t := range m.Tickets {
		e, ok := prepare(rs, t)
		if !ok {
			return fmt.Errorf("ticket %s can never be matched", t.ID)
		}
		entries[i] = e
	}
	s := &searcher{rs: rs, opts: opts, now: now}
	_, err := s.judge(entries, m.Teams)
	return err
}

// verify judges a match whose tickets are prepared, and sets its Locations.
func (s *searcher) verify(m *Match) (err error) {
	m.Locations, err = s.judge(m.entries, m.Teams)
	return err
}

func (s *searcher) judge(entries []*entry, teams []int) (locations []string, err error) {
	backfills, fresh := 0, 0
	for i, e := range entries {
		if e.ticket.Backfill {
			backfills++
		} else if teams[i] < 0 || teams[i] >= len(s.rs.Instances) {
			return nil, fmt.Errorf("ticket %s has no team", e.ticket.ID)
		}
		fresh += e.size
	}
	if backfills > 1 || fresh == 0 {
		return nil, fmt.Errorf("%d backfill tickets with %d new players", backfills, fresh)
	}
	level := s.rs.Level(age(s.rs, entries, s.now))
	l := s.seats.of(s.rs, entries, teams)
	if err := sizes(s.rs, s.opts, level, l); err != nil {
		return nil, err
	}
	broken, locations := level.Judge(l)
	if broken != nil {
		return nil, fmt.Errorf("rule %s does not hold", broken.Name)
	}
	return locations, nil
}

func sizes(rs *ruleset.RuleSet, opts Options, level *ruleset.Level, l *ruleset.Lineup) error {
	total := 0
	for i, team := range l.Teams {
		total += len(team)
		if size := level.Sizes[i]; len(team) < size.Min || len(team) > size.Max {
			return fmt.Errorf("team %s has %d players; it needs %d to %d", rs.Instances[i].Name, len(team), size.Min, size.Max)
		}
	}
	if most := level.Capacity() - opts.AdditionalPlayerCount; total > most {
		return fmt.Errorf("%d players; at most %d may play", total, most)
	}
	return nil
}

// age returns the age of a match: that of its youngest ticket, or of its oldest if the
// rule set says so.
func age(rs *ruleset.RuleSet, entries []*entry, now time.Time) time.Duration {
	created := entries[0].ticket.Created
	for _, e := range entries[1:] {
		if e.ticket.Created.After(created) != rs.Algorithm.OldestAge {
			created = e.ticket.Created
		}
	}
	return now.Sub(created)
}
