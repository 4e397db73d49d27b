package placement

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// There are few names, so that many places are equal.
var names = []string{"a", "b", "c", "d"}

// order draws a ranking of any kind.
func order(t *rapid.T) ranking {
	r := &Request{Latencies: rapid.SliceOfN(latency(), 0, 8).Draw(t, "latencies")}
	if rapid.Bool().Draw(t, "override") {
		r.Override = &Override{LocationOrder: somePermutation(t, "override order")}
	}
	r.Summary = summarize(r.Latencies)
	q := &Queue{LocationOrder: somePermutation(t, "location order")}
	q.Priority = rapid.Permutation(defaultOrder).Draw(t, "priority")[:rapid.IntRange(0, 4).Draw(t, "criteria")]
	p := &Placement{}
	for range rapid.IntRange(0, 3).Draw(t, "failures") {
		p.failed(Place{FleetID: "f", Location: rapid.SampledFrom(names).Draw(t, "failed at")})
	}
	rules := newRules(q)
	return newRanking(&rules, p, r)
}

func latency() *rapid.Generator[Latency] {
	return rapid.Custom(func(t *rapid.T) Latency {
		return Latency{
			rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "player"), rapid.SampledFrom(names).Draw(t, "location"),
			float32(rapid.IntRange(0, 5).Draw(t, "ms")*50) + rapid.SampledFrom([]float32{0, 0, 0.5}).Draw(t, "fraction"),
		}
	})
}

func somePermutation(t *rapid.T, label string) []string {
	return rapid.Permutation(names).Draw(t, label)[:rapid.IntRange(0, len(names)).Draw(t, label+" length")]
}

func someCandidate(t *rapid.T, label string) *candidate {
	return &candidate{
		Place:       Place{FleetID: rapid.SampledFrom([]string{"f", "g"}).Draw(t, label+" fleet"), Location: rapid.SampledFrom(names).Draw(t, label+" location")},
		destination: rapid.IntRange(0, 2).Draw(t, label+" destination"), cost: float64(rapid.IntRange(0, 2).Draw(t, label+" cost")),
	}
}

// TestCompare_TotalOrder checks that there are no cycles, and that only the same
// destination and location are equal.
func TestCompare_TotalOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := order(t)
		a, b, c := someCandidate(t, "a"), someCandidate(t, "b"), someCandidate(t, "c")
		if k.compare(a, b) != -k.compare(b, a) {
			t.Fatalf("%+v and %+v: %d one way, %d the other", a, b, k.compare(a, b), k.compare(b, a))
		}
		if k.compare(a, b) <= 0 && k.compare(b, c) <= 0 && k.compare(a, c) > 0 {
			t.Fatalf("%+v, %+v, %+v go round", a, b, c)
		}
		same := a.destination == b.destination && a.Location == b.Location
		if k.compare(a, b) == 0 && !same {
			t.Fatalf("%+v and %+v have no order", a, b)
		}
	})
}

// TestCapAt compares the cap and the time of its next change with a model that steps
// through the policies second by second.
func TestCapAt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policies := ascending(rapid.SliceOfN(rapid.Custom(func(t *rapid.T) LatencyPolicy {
			return LatencyPolicy{rapid.IntRange(1, 300).Draw(t, "max"), time.Duration(rapid.IntRange(0, 9).Draw(t, "seconds")) * time.Second}
		}), 0, 4).Draw(t, "policies"))
		caps := modelCaps(policies)
		for at := range 60 {
			limit, until := capAt(policies, time.Duration(at)*time.Second)
			if limit != caps[at] {
				t.Fatalf("after %d s: cap %d, want %d, of %+v", at, limit, caps[at], policies)
			}
			if change := int(until / time.Second); until != 0 && (change <= at || slices.ContainsFunc(caps[at:change], func(c int) bool { return c != limit })) {
				t.Fatalf("after %d s: the cap holds until %v, of %+v", at, until, policies)
			}
		}
	})
}

// modelCaps returns the cap in each of 61 seconds.
func modelCaps(policies []LatencyPolicy) []int {
	caps := make([]int, 61)
	at := 0
	for _, p := range policies {
		for n := 0; at < len(caps) && (p.Duration == 0 || n < int(p.Duration/time.Second)); n++ {
			caps[at] = p.Max
			at++
		}
	}
	return caps
}

// TestRound_Bounded checks that a round with very many candidates keeps the first ones
// and the chosen one, and counts the rest.
func TestRound_Bounded(t *testing.T) {
	p := &planner{now: time.Unix(1_700_000_000, 0)}
	var cs []candidate
	for i := range 200 {
		cs = append(cs, candidate{Place: Place{FleetID: "f", Location: "l"}, destination: i})
	}
	cs[150].Location = "z"
	rules := newRules(&Queue{Priority: []Criterion{ByDestination}})
	x := newJudge(&rules, &Placement{Started: p.now}, &Request{}, p.now)
	r := p.round(&x, cs, &cs[150])
	last := r.Candidates[len(r.Candidates)-1]
	if len(r.Candidates) != maxVerdicts+1 || r.More != 200-maxVerdicts-1 || last.Outcome != Chosen || last.Place.Location != "z" {
		t.Errorf("%d kept, %d more, the last is %+v", len(r.Candidates), r.More, last)
	}
}
