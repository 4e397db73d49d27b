package cell

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// deployment is a made-up deployment: who owns which cell, and what each node prefers.
type deployment struct {
	owners  map[string]string
	prefers map[string][]string // cells, by node
	since   map[string]time.Time
}

// loads returns how many cells each node has.
func (d *deployment) loads() map[string]int {
	loads := map[string]int{}
	for _, owner := range d.owners {
		loads[owner]++
	}
	return loads
}

// survey returns what the nodes know.
func (d *deployment) survey() survey {
	var v survey
	for _, c := range slices.Sorted(maps.Keys(d.owners)) {
		v.Leases = append(v.Leases, holding{Cell: c, Node: d.owners[c], Live: d.owners[c] != "", since: d.since[c]})
		for _, n := range slices.Sorted(maps.Keys(d.prefers)) {
			v.Nodes = append(v.Nodes, presence{Cell: c, Node: n, Prefers: slices.Contains(d.prefers[n], c), Ready: true})
		}
	}
	return v
}

// Moves end: every cell is then with a node that prefers it, if there is one, and otherwise
// no node has two more than another that would take one.
func TestPlan_Settles(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for seed := range uint64(5000) {
		r := rand.New(rand.NewPCG(seed, 1))
		d := &deployment{owners: map[string]string{}, prefers: map[string][]string{}, since: map[string]time.Time{}}
		nodes, cells := []string{"a", "b", "c", "d"}[:1+r.IntN(4)], []string{"1", "2", "3", "4", "5", "6"}[:1+r.IntN(6)]
		for _, n := range nodes {
			d.prefers[n] = nil
			oneIn := 1 + r.IntN(8) // cells that it prefers
			for _, c := range cells {
				if r.IntN(oneIn) == 0 {
					d.prefers[n] = append(d.prefers[n], c)
				}
			}
		}
		for _, c := range cells {
			d.owners[c] = nodes[r.IntN(len(nodes))]
		}
		moves := 0
		for {
			v := d.survey()
			m, ok := v.plan(len(cells), now)
			if !ok {
				break
			}
			if d.owners[m.Cell] != m.From || m.To == m.From {
				t.Fatalf("seed %d: %+v with %v", seed, m, d.owners)
			}
			d.owners[m.Cell] = m.To
			if moves++; moves > 2*len(cells) {
				t.Fatalf("seed %d: the moves do not end; the last is %+v", seed, m)
			}
		}
		for c, owner := range d.owners {
			preferred := slices.ContainsFunc(nodes, func(n string) bool { return slices.Contains(d.prefers[n], c) })
			if preferred && !slices.Contains(d.prefers[owner], c) {
				t.Errorf("seed %d: %s, which some node prefers, stays with %s", seed, c, owner)
			}
			loads := d.loads()
			for _, n := range nodes {
				takes := slices.Contains(d.prefers[n], c) || !slices.Contains(d.prefers[owner], c)
				if takes && loads[owner] >= loads[n]+2 {
					t.Errorf("seed %d: %s stays with %s, though %s would take it: they have %d and %d cells", seed, c, owner, n, loads[owner], loads[n])
				}
			}
		}
	}
}

// Nothing moves while a cell has no owner, has had its owner for a short time, or has one that
// is not there.
func TestPlan_Waits(t *testing.T) {
	t.Parallel()
	now := time.Now()
	fresh := func() *deployment {
		return &deployment{owners: map[string]string{"1": "a", "2": "a", "3": "a"}, prefers: map[string][]string{"a": nil, "b": nil}, since: map[string]time.Time{}}
	}
	v := fresh().survey()
	if m, ok := v.plan(3, now); !ok || m.From != "a" || m.To != "b" {
		t.Fatalf("three cells of one node: %+v, %v", m, ok)
	}
	if _, ok := v.plan(4, now); ok {
		t.Error("moves while a cell was never owned")
	}
	for what, change := range map[string]func(*deployment){
		"a cell has no owner":               func(d *deployment) { d.owners["3"] = "" },
		"an owner is not there":             func(d *deployment) { d.owners["3"] = "c" },
		"a cell has just changed owners":    func(d *deployment) { d.since["3"] = now.Add(time.Second) },
		"the other node has nearly as many": func(d *deployment) { d.owners["3"] = "b" },
	} {
		d := fresh()
		change(d)
		v := d.survey()
		if m, ok := v.plan(3, now); ok {
			t.Errorf("%s: %+v", what, m)
		}
	}
}

// The nodes agree who takes a free cell first, and the one that gave it away comes last.
func TestRank(t *testing.T) {
	t.Parallel()
	d := &deployment{owners: map[string]string{"1": "a", "2": "b", "3": "a"}, prefers: map[string][]string{"a": {"1"}, "b": nil, "c": nil}}
	v := d.survey()
	for i := range v.Leases {
		v.Leases[i].Live = v.Leases[i].Cell != "1"
	}
	if got := []int{v.rank("1", "c"), v.rank("1", "b"), v.rank("1", "a")}; !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("the ranks of c, b and a, the last owner, are %v", got)
	}
	var none survey
	if got := none.rank("1", "a"); got != 0 {
		t.Errorf("the rank of a node that knows nothing is %d", got)
	}
}
