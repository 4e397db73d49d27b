package pool

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
)

// maxMaskLevels is the most levels for which a ticket's locations are stored by level.
// With more levels, one set for all of them prunes, and the evaluator decides.
const maxMaskLevels = 64

// maxMasks is the most masks by level that are remembered, to be shared by tickets.
const maxMasks = 4096

// columns says which rules of a rule set are judged from values stored with each ticket,
// and which by the evaluator.
type columns struct {
	rules *search.Rules
	rs    *ruleset.RuleSet

	partitions []int // rules
	windows    []window
	latencies  []int // rules
	perTicket  []int // rules
	shrinking  []int // shrinking rules without a column
	uncounted  []int // of shrinking: those that states do not count
	flat       []int // flat rules without a column

	exactMasks bool
	growing    bool          // items have masks by level
	oldest     bool          // the oldest ticket's age counts
	sorts      bool          // there are sort rules
	packable   bool          // matches can be packed
	width      float64       // of a bucket of the index; 0 without windows, and for large matches
	reach      float64       // the loosest limit of the first window, or without windows of the first spread
	limits     [][]float64   // by level, then window: the limit
	loosest    [][]float64   // by level, then window: the loosest limit that a growing match can still reach
	between    [][][]float64 // likewise if no ticket is beyond a second level; only if the oldest counts
	teams      *teamSizes    // nil for large matches, which have too many
	largest    int           // players that a team may have at any level

	spreads []spread         // rules that bound spreads without being windows
	choices []choice         // rules about what tickets have in common
	inTeam  []int            // rules that each ticket passes or breaks in its team alone
	counted []search.Counted // strings that rules about counts count, each once
	kinds   []kind           // of tickets seen
	kindOf  map[string]int32 // by what is counted
	seats   []*seats         // by level; nil where there are too many states
	plain   bool             // there are only rules of which sets of the first neighbors rarely break one

	locations map[string]place // of location masks
	masks     map[string]masks // by level, as bytes
	exact     []uint64         // memory
	key       []byte           // likewise
	crowded   bool             // more locations than bits
}

// masks are locations by level. Tickets share them.
type masks struct {
	exact []uint64 // those allowed at the level
	upTo  []uint64 // those allowed at the level or at one below it; nil unless columns.growing
}

// place is a location in masks.
type place struct {
	name string // in the same memory for all tickets
	bit  uint64
}

// window is a limited spread.
type window struct {
	rule int
	ruleset.Window
}

func columnsOf(rules *search.Rules) *columns {
	rs := rules.Set
	c := &columns{rules: rules, rs: rs, locations: map[string]place{}, masks: map[string]masks{}, exactMasks: len(rs.Levels()) <= maxMaskLevels, oldest: rs.Algorithm.OldestAge}
	if !rs.Large {
		c.teams = teamSizesOf(rs)
	}
	for _, level := range rs.Levels() {
		for _, size := range level.Sizes {
			c.largest = max(c.largest, size.Max)
		}
	}
	for _, i := range rules.Flat {
		if !c.take(i) {
			c.flat = append(c.flat, i)
		}
	}
	if slices.ContainsFunc(c.flat, c.located) { // all must share a location, so the evaluator needs all
		c.flat = append(slices.DeleteFunc(c.flat, c.located), c.latencies...)
	}
	for _, i := range rules.Shrinking {
		if slices.Contains(c.flat, i) && !slices.Contains(c.latencies, i) {
			c.shrinking = append(c.shrinking, i)
		}
	}
	c.uncounted = slices.DeleteFunc(slices.Clone(c.shrinking), c.counts)
	for i := range rs.Level(0).Rules {
		c.sorts = c.sorts || rs.Traits(i).Sorts
	}
	c.limit()
	if !rs.Large {
		c.prepareCrowds()
	}
	c.growing = len(rs.Levels()) > 1 && c.exactMasks && !c.oldest && len(c.latencies) > 0
	c.packable = len(rs.Levels()) == 1 && len(c.windows) == 1 && len(c.latencies) == 0 && len(c.perTicket) == 0 &&
		len(c.flat) == 0 && len(rules.Teams) == 0 && !c.sorts && rules.Least == rules.Most && rules.Options.AdditionalPlayerCount == 0
	return c
}

func (c *columns) located(rule int) bool { return c.rs.Traits(rule).Located() }

// take adds a column for a flat rule. It returns false if the evaluator must judge the
// rule.
func (c *columns) take(rule int) bool {
	switch column := c.rs.Traits(rule).Column.(type) {
	case ruleset.Partition:
		c.partitions = append(c.partitions, rule)
		return true
	case ruleset.Window:
		c.windows = append(c.windows, window{rule, column})
		return true
	case ruleset.PerTicket:
		if len(c.rs.Levels()) > 64 {
			return false
		}
		c.perTicket = append(c.perTicket, rule)
		return true
	case ruleset.AtLocation:
		c.latencies = append(c.latencies, rule)
		return c.exactMasks && column.Alone
	}
	return false
}

// limit sets the limits of windows.
func (c *columns) limit() {
	if len(c.windows) == 0 {
		return
	}
	tightest := math.Inf(1)
	for n, l := range c.rs.Levels() {
		limits := make([]float64, len(c.windows))
		for i, w := range c.windows {
			limits[i] = l.Rules[w.rule].Traits.Column.(ruleset.Window).Limit
		}
		tightest, c.reach = min(tightest, limits[0]), max(c.reach, limits[0])
		loosest := slices.Clone(limits)
		for i, w := range c.windows {
			switch {
			case c.oldest:
				loosest[i] = w.Limit
			case n > 0:
				loosest[i] = max(loosest[i], c.loosest[n-1][i])
			}
		}
		c.limits, c.loosest = append(c.limits, limits), append(c.loosest, loosest)
	}
	for n := range c.limits {
		if !c.oldest {
			break
		}
		to, widest := make([][]float64, len(c.limits)), slices.Clone(c.limits[n])
		for top := n; top < len(c.limits); top++ {
			for i := range widest {
				widest[i] = max(widest[i], c.limits[top][i])
			}
			to[top] = slices.Clone(widest)
		}
		c.between = append(c.between, to)
	}
	if !c.rs.Large {
		// Half the tightest limit, but wide enough that the loosest spans few buckets.
		c.width = max(tightest/2, c.reach/16, 1e-9)
	}
}

// item is a ticket of the pool with its columns. What a pass reads of all items comes
// first, in one cache line; what the rules read follows, in the next.
type item struct {
	created   int64      // nanoseconds
	arrival   uint64     // of the ticket
	partition *partition // nil if it can never be matched
	bucket    *bucket    // nil if the ticket is of a game session
	mask      uint64     // locations allowed at any level
	one       [1]float64 // the memory of low, if there is one window
	rank      int32      // position among the anchors of a pass
	alike     int32      // in an exhaustive pass: equal for tickets that no rule distinguishes
	level     int32      // the level at its age
	gone      bool
	changed   bool // in an exhaustive pass: it is new, or other rules apply to it
	failed    bool // in an exhaustive pass: it is in no match
	cuts      int8 // how often a search was cut short since the ticket last changed

	search.Candidate
	exact   []uint64     // by level: locations allowed at that level; nil for a single level or more than maxMaskLevels
	has     []int        // by quota: how many players count
	low     []float64    // by window
	high    []float64    // by window; low itself unless the ticket is of a game session
	levels  uint64       // bits of the levels at which the per-ticket rules hold
	masks   []uint64     // mask by level, each including those of lower levels, if columns.growing
	spans   []float64    // by spread; nil if the ticket is of a game session
	marks   [][]uint64   // by choice, then level
	short   int32        // players that must come at least before a search in a crowd around it finds a match
	seated  []uint64     // by level: bits of the teams whose own rules the ticket passes; nil if there are none
	kind    int32        // in columns.kinds; 0 if the ticket is of a game session
	expands int64        // when its level changes, while it is among the expansions
	tally   search.Tally // of the searches around it that found no match; nil before the first
}

// value returns the value by which the item is in a bucket: that of the first window, or without
// windows of the first spread.
func (it *item) value() float64 {
	switch {
	case len(it.low) > 0:
		return it.low[0]
	case len(it.spans) > 0:
		return it.spans[0]
	}
	return 0
}

// older returns the level of a match with tickets of two levels.
func (c *columns) older(a, b int) int {
	if c.oldest {
		return max(a, b)
	}
	return min(a, b)
}

// maskAt returns the locations possible for a match at the level or at one that the match
// can still reach by growing.
func (c *columns) maskAt(e *entry, level int) uint64 {
	if !c.growing {
		return e.mask
	}
	return e.it.masks[level]
}

// exactly returns the locations allowed at a level, or at any level if exact is nil.
func (it *item) exactly(level int) uint64 {
	if it.exact == nil {
		return it.mask
	}
	return it.exact[level]
}

// fill computes an item's columns. It returns the partition's key, and false if the item
// can never be matched.
func (c *columns) fill(it *item) (key string, ok bool) {
	if key, ok = c.rules.Partition(&it.Candidate); !ok || c.rules.NoTeam(&it.Candidate) {
		return "", false
	}
	if len(c.rules.Quotas) > 0 {
		it.has = make([]int, len(c.rules.Quotas))
		for i := range it.has {
			it.has[i] = c.rules.Quotas[i].Of(&it.Candidate)
		}
	}
	if it.low = it.one[:]; len(c.windows) != 1 {
		it.low = make([]float64, len(c.windows))
	}
	if it.high = it.low; it.Party.Individuals {
		it.high = make([]float64, len(c.windows))
	}
	for i := range c.windows {
		w := &c.windows[i]
		it.low[i], it.high[i] = it.Party.Span(w.Attribute, w.Party)
	}
	if !c.rs.Large {
		c.know(it)
	}
	it.levels = math.MaxUint64
	if len(c.perTicket) > 0 {
		it.levels = c.passedAt(&it.Candidate)
	}
	c.locate(it)
	return key, it.levels != 0 && it.mask != 0
}

// passedAt returns the bits of the levels at which a ticket passes the per-ticket rules.
func (c *columns) passedAt(candidate *search.Candidate) uint64 {
	var levels uint64
	l := search.Together(c.rs, candidate)
	for n, level := range c.rs.Levels() {
		if !slices.ContainsFunc(c.perTicket, func(i int) bool { return !level.Holds(i, l) }) {
			levels |= 1 << n
		}
	}
	return levels
}

// alone counts, for each rule judged on single tickets, whether the ticket passes it at
// any age.
func (c *columns) alone(it *item) search.Tally {
	t := make(search.Tally, len(c.rs.Level(0).Rules))
	l := search.Together(c.rs, &it.Candidate)
	for _, i := range slices.Concat(c.partitions, c.perTicket, c.latencies) {
		t.Note(i, slices.ContainsFunc(c.rs.Levels(), func(level *ruleset.Level) bool { return level.Holds(i, l) }))
	}
	return t
}

// locate finds the locations at which the ticket's latencies are allowed.
func (c *columns) locate(it *item) {
	it.mask = math.MaxUint64
	if len(c.latencies) == 0 || len(it.Party.Players) == 0 {
		return
	}
	it.mask = 0
	if n := len(c.rs.Levels()); n > 1 && c.exactMasks {
		c.exact = append(c.exact[:0], make([]uint64, n)...)
		it.exact = c.exact
	}
	it.Party.SetLatencies(c.rs.Level(0).Rules[c.latencies[0]].Traits.Column.(ruleset.AtLocation).Party, c.name)
	if all, ok := it.Party.Latencies(); ok {
		for i := range all {
			c.allow(it, all[i].Location)
		}
	} else {
		for _, location := range slices.Sorted(maps.Keys(it.Party.Players[0].Latency)) { // in order: place numbers them
			c.allow(it, location)
		}
	}
	if it.exact != nil {
		shared := c.shared(it.exact)
		it.exact, it.masks = shared.exact, shared.upTo
	}
}

// shared returns masks of the same locations that tickets share.
func (c *columns) shared(exact []uint64) masks {
	c.key = c.key[:0]
	for _, mask := range exact {
		c.key = binary.LittleEndian.AppendUint64(c.key, mask)
	}
	m, ok := c.masks[string(c.key)]
	if ok {
		return m
	}
	m.exact = slices.Clone(exact)
	if c.growing {
		m.upTo = slices.Clone(exact)
		for i := 1; i < len(m.upTo); i++ {
			m.upTo[i] |= m.upTo[i-1]
		}
	}
	if len(c.masks) == maxMasks {
		clear(c.masks)
	}
	c.masks[string(c.key)] = m
	return m
}

// allow adds a location to an item's masks, for each level that allows it.
func (c *columns) allow(it *item, location string) {
	bit := c.place(location).bit
	for n, level := range c.rs.Levels() {
		if !c.allowed(&it.Party, level, location) {
			continue
		}
		it.mask |= bit
		if it.exact != nil {
			it.exact[n] |= bit
		}
	}
}

// place returns the place of a location. All beyond the 63rd share the last bit, which then
// prunes less and decides nothing.
func (c *columns) place(location string) place {
	p, ok := c.locations[location]
	if !ok {
		p = place{strings.Clone(location), 1 << min(len(c.locations), 63)}
		c.locations[p.name] = p
		c.crowded = c.crowded || len(c.locations) > 63
	}
	return p
}

func (c *columns) name(location string) string { return c.place(location).name }

func (c *columns) allowed(p *ruleset.Party, level *ruleset.Level, location string) bool {
	for _, i := range c.latencies {
		if !level.Rules[i].Traits.Column.(ruleset.AtLocation).Allows(p, location) {
			return false
		}
	}
	return true
}

// Causes for which the columns of two tickets exclude a common match, in the order of
// checking. Further windows follow causeWindow, and then the quotas.
const (
	causeNone = iota
	causePartition
	causeLatency
	causePerTicket
	causeWindow
)

// causeQuota returns the cause of the first quota.
func (c *columns) causeQuota() int { return causeWindow + max(1, len(c.windows)) }

// causes counts how often columns agreed, and the causes of failures, by cause.
type causes []int

// into adds the verdicts of columns to their rules in a tally, and resets n. A rule was
// judged each time that nothing before it had failed.
func (n causes) into(t search.Tally, c *columns) {
	reached := n[causeNone]
	for i := range c.rules.Quotas {
		refused := n[c.causeQuota()+i]
		t.Add(c.rules.Quotas[i].Rule, 0, refused) // seating judges it too and counts it
		reached += refused
	}
	for i := len(c.windows) - 1; i >= 0; i-- {
		t.Add(c.windows[i].rule, reached, n[causeWindow+i])
		reached += n[causeWindow+i]
	}
	for _, step := range []struct {
		cause int
		rules []int
	}{{causePerTicket, c.perTicket}, {causeLatency, c.latencies}, {causePartition, c.partitions}} {
		for _, rule := range step.rules {
			passed := reached
			if slices.Contains(c.flat, rule) {
				passed = 0 // the evaluator judges it too and counts it
			}
			t.Add(rule, passed, n[step.cause])
		}
		reached += n[step.cause]
	}
	clear(n)
}
