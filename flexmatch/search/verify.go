package search

import (
	"fmt"
	"time"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// Verify judges a match from the definition alone. The error tells the first
// condition that does not hold.
func Verify(rs *ruleset.RuleSet, opts Options, m *Match, now time.Time) error {
	entries := make([]*entry, len(m.Tickets))
	backfills, fresh := 0, 0
	for i, t := range m.Tickets {
		e, ok := prepare(rs, t)
		if !ok {
			return fmt.Errorf("ticket %s can never be matched", t.ID)
		}
		if t.Backfill {
			backfills++
		} else if m.Teams[i] < 0 || m.Teams[i] >= len(rs.Instances) {
			return fmt.Errorf("ticket %s has no team", t.ID)
		}
		fresh += e.size
		entries[i] = e
	}
	if backfills > 1 || fresh == 0 {
		return fmt.Errorf("%d backfill tickets with %d new players", backfills, fresh)
	}
	level := rs.Level(age(rs, entries, now))
	l := lineup(rs, entries, m.Teams)
	if err := sizes(rs, opts, level, l); err != nil {
		return err
	}
	if broken := level.Broken(l); broken != nil {
		return fmt.Errorf("rule %s does not hold", broken.Name)
	}
	return nil
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

// age is the age of a match: that of its youngest ticket, or of its oldest when
// the rule set says so.
func age(rs *ruleset.RuleSet, entries []*entry, now time.Time) time.Duration {
	created := entries[0].ticket.Created
	for _, e := range entries[1:] {
		if e.ticket.Created.After(created) != rs.Algorithm.OldestAge {
			created = e.ticket.Created
		}
	}
	return now.Sub(created)
}
