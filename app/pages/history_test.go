package pages

import (
	"slices"
	"testing"
	"time"
)

// known returns the sum of a series, and how many steps have a value.
func known(values []*float64) (sum float64, n int) {
	for _, v := range values {
		if v != nil {
			sum += *v
			n++
		}
	}
	return sum, n
}

// Each range has what happened in it, wherever its steps begin; what is older is gone, what
// comes late counts where it belongs, and a step of which nothing is known is a gap.
func TestHistory_Ranges(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0).Add(7 * time.Second)
	var h history
	for _, ago := range []time.Duration{8 * 24 * time.Hour, 6 * 24 * time.Hour, 20 * time.Hour, 50 * time.Minute, 10 * time.Minute, 10 * time.Minute, 20 * time.Second} {
		at := now.Add(-ago)
		h.took(at, "games", time.Second)
		h.sample(at, map[string]int{"players": 6})
		h.sample(at, map[string]int{"players": 8})
	}
	for name, want := range map[string]struct{ games, steps, filled int }{"15m": {3, 90, 2}, "1h": {4, 360, 3}, "24h": {5, 289, 4}, "7d": {6, 337, 4}} {
		r := ranges[name]
		ran := make([]bool, want.steps)
		s := h.series(now, r, ran, []string{"games"}, []string{"players", "never"})
		games, steps := known(s.Values["games"])
		players, sampled := known(s.Values["players"])
		_, never := known(s.Values["never"])
		if len(s.Values["games"]) != want.steps || len(s.Values["players"]) != want.steps || never != 0 {
			t.Errorf("%s has %d and %d steps", name, len(s.Values["games"]), len(s.Values["players"]))
		}
		inOpen := 0 // counted in the step that has not ended
		if r.in != fine {
			place, _ := h.rings[r.in].find(&resolutions[r.in], resolutions[r.in].number(now))
			inOpen = int(h.rings[r.in].values["games"][place])
		}
		if int(games) != want.games-inOpen || players != 7*float64(sampled) || sampled < steps || sampled > want.filled+1 {
			t.Errorf("%s has %g games in %d steps and a mean of %g players in %d; want %d games", name, games, steps, players, sampled, want.games-inOpen)
		}
		counts, took := h.in(now, r)
		if median, ok := took["games"].quantile(.5); counts["games"] != want.games || !ok || median < .7 || median > 1.5 {
			t.Errorf("%s has %d games with a median of %g s, want %d with about 1", name, counts["games"], median, want.games)
		}
		if end := s.From.Add(time.Duration(len(s.Values["games"])) * time.Duration(s.Step) * time.Millisecond); end.Before(now.Add(-10*time.Second)) || end.After(now.Add(30*time.Minute)) {
			t.Errorf("%s ends at %v, now is %v", name, end, now)
		}
		q := h.quantiles(now, r, "games")
		if _, filled := known(q.Values["p90"]); filled == 0 || filled > want.games {
			t.Errorf("%s has %d quantiles", name, filled)
		}
	}
	if counts, _ := h.lately(now); counts["games"] != 1 {
		t.Errorf("5 minutes have %d games, want 1", counts["games"])
	}
	h.count(now.Add(14*24*time.Hour), "games")
	if counts, _ := h.in(now.Add(14*24*time.Hour), ranges["7d"]); counts["games"] != 1 {
		t.Errorf("two weeks later there are %d games, want 1", counts["games"])
	}
	h.count(now, "games") // long ago by now
	if counts, _ := h.in(now.Add(14*24*time.Hour), ranges["7d"]); counts["games"] != 1 {
		t.Errorf("what came two weeks late counts: %d", counts["games"])
	}
}

// A count is zero where it is known that nothing happened, and unknown elsewhere.
func TestHistory_Gaps(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0).Add(30 * time.Minute)
	var whole, h history
	for ago := time.Duration(0); ago < 10*time.Minute; ago += 10 * time.Second {
		if ago < 3*time.Minute || ago >= 5*time.Minute {
			whole.count(now.Add(-ago), ran)
		}
	}
	h.count(now.Add(-4*time.Minute), "games") // in the gap, and yet known
	s := h.series(now, ranges["15m"], whole.has(now, ranges["15m"], ran), []string{"games"}, nil)
	var got []int // lengths of what is known and what is not, in turn
	was := true
	for _, v := range s.Values["games"] {
		if is := v != nil; len(got) == 0 || is != was {
			got, was = append(got, 0), is
		}
		got[len(got)-1]++
	}
	if want := []int{31, 30, 5, 1, 6, 17}; !slices.Equal(got, want) {
		t.Errorf("unknown and known are %v steps in turn, want %v", got, want)
	}
}

// What is saved and restored is what was recorded, and adds to what came since.
func TestHistory_Restore(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	var a, b history
	for i := range 2000 {
		at := now.Add(-time.Duration(i) * 7 * time.Minute / 2)
		a.took(at, "placed", time.Duration(i)*time.Millisecond)
		a.took(at, "asked", 5*time.Second)
		a.sample(at, map[string]int{"players": i})
	}
	b.took(now, "placed", time.Second)
	for in := range resolutions {
		of := &resolutions[in]
		last := of.row(of.number(now))
		for row := last - of.rows() + 1; row <= last; row++ {
			b.restore(in, a.saved(in, row), now)
		}
	}
	b.restore(fine, []savedStep{{Number: resolutions[fine].number(now) + 1, Values: map[string]uint32{"placed": 1000}}, {Number: -5}}, now)
	if counts, _ := b.since(now.Add(10*time.Second), fine, 0); counts["placed"] != 0 {
		t.Errorf("a step of the future has %v", counts)
	}
	for name, r := range ranges {
		was, waited := a.in(now, r)
		is, waits := b.in(now, r)
		placed := waited["placed"]
		placed.add(time.Second)
		if is["placed"] != was["placed"]+1 || is["players"] != was["players"] || waits["placed"] != placed || waits["asked"] != waited["asked"] {
			t.Errorf("%s: %v became %v", name, was, is)
		}
	}
}
