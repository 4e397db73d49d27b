package flexmatch

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/musterhq/muster/flexmatch/explain"
	"github.com/musterhq/muster/flexmatch/life"
	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
	"github.com/musterhq/muster/flexmatch/search/pool"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wake"
)

const (
	searchingAtOnce = 1000        // tickets that one command moves to SEARCHING
	matchesAtOnce   = 100         // matches that one command creates
	afterError      = time.Second // how long a matcher waits after a failed write
)

type matchers struct {
	st       *store.Store
	t        *tables
	ruleSets *RuleSets
	limits   pool.Limits
	turns    *turns
	interval time.Duration
	metrics  *metrics
	waits    *waits
	pass     *store.Command[passArgs, []string]
	log      *slog.Logger

	mu    sync.Mutex
	m     map[string]*matcher
	fresh wake.Nudge // some matcher is not running yet
}

// of returns the matcher of a configuration, and adds it if there is none yet.
func (ms *matchers) of(configuration string) *matcher {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	m := ms.m[configuration]
	if m == nil {
		m = &matcher{matchers: ms, name: configuration, nudge: wake.NewNudge(), stale: true, rest: ms.interval}
		ms.m[configuration] = m
		ms.fresh.Send()
	}
	return m
}

func (ms *matchers) reset() {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	for _, m := range ms.m {
		m.reset()
	}
}

// run starts matchers as they are added. It returns when ctx is done and all have
// stopped.
func (ms *matchers) run(ctx context.Context) {
	for c := range ms.t.configurations.All(ms.st.View()) {
		ms.of(c.Name)
	}
	var running sync.WaitGroup
	defer running.Wait()
	for {
		for _, m := range ms.idle() {
			running.Go(func() { m.run(ctx) })
		}
		select {
		case <-ctx.Done():
			return
		case <-ms.fresh:
		}
	}
}

// idle returns the matchers that are not running yet, and marks them as running.
func (ms *matchers) idle() (out []*matcher) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	for _, m := range ms.m {
		if !m.running {
			m.running = true
			out = append(out, m)
		}
	}
	return out
}

// matcher finds the matches of one configuration. Its state is derived from the store and
// may be lost: it is notified of changed tickets, and reads from the committed state
// whether they wait.
type matcher struct {
	matchers *matchers
	name     string
	nudge    wake.Nudge
	running  bool // guarded by matchers.mu

	mu      sync.Mutex
	changed []string // tickets to look up
	stale   bool     // all tickets have to be looked up

	// Used only by the goroutine or with poolMu held.
	poolMu  sync.Mutex // held while the pool is used
	rules   *ruleset.RuleSet
	ruleSet string
	kept    int
	pool    *pool.Pool
	in      map[string]int // revisions of the tickets in the pool; those of a match leave with their proposal
	rest    time.Duration  // from one pass to the next
	turn    *turn          // of the pass

	explained time.Time            // when a ticket that can never be matched was last explained
	said      map[string]time.Time // when a cause was last logged

	share  share
	lately lately
}

// notify notifies a matcher of changed tickets or, without tickets, of a changed
// configuration. It never blocks.
func (m *matcher) notify(tickets ...string) {
	m.mu.Lock()
	m.changed = append(m.changed, tickets...)
	m.mu.Unlock()
	m.nudge.Send()
}

func (m *matcher) reset() {
	m.mu.Lock()
	m.changed, m.stale = nil, true
	m.mu.Unlock()
	m.nudge.Send()
}

// run passes over the pool an interval after it has changed, when tickets reach a wait
// time, and again if a pass has left work, until ctx is done.
func (m *matcher) run(ctx context.Context) {
	timer := time.NewTimer(m.rest)
	defer timer.Stop()
	due := time.Now().Add(m.rest) // when the timer fires; zero means never
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.nudge:
			if soon := time.Now().Add(m.rest); due.IsZero() || soon.Before(due) {
				due = soon
				timer.Reset(m.rest)
			}
			continue
		case <-timer.C:
		}
		var err error
		if due, err = m.cycle(ctx); err != nil {
			m.reset() // matches found are lost; waiting tickets are in the store
			due = time.Now().Add(afterError)
		}
		if !due.IsZero() {
			timer.Reset(time.Until(due))
		}
	}
}

// cycle updates the pool, passes over it and commits the matches. It returns when to pass
// again if no ticket changes, or zero.
func (m *matcher) cycle(ctx context.Context) (next time.Time, err error) {
	m.poolMu.Lock()
	queued := m.update(m.matchers.st.View())
	if m.pool == nil {
		m.poolMu.Unlock()
		return next, nil
	}
	now, workers := time.Now(), 0
	if m.pool.Pending(now) {
		workers = m.pool.Workers()
	}
	m.poolMu.Unlock()
	var matches []*search.Match
	if workers > 0 {
		if matches, now, err = m.search(ctx, workers); err != nil {
			return next, err
		}
	}
	m.poolMu.Lock()
	next = m.next(time.Now())
	m.poolMu.Unlock()
	return next, m.commit(ctx, queued, matches, now)
}

// search passes over the pool when it is the configuration's turn, and returns the matches and the
// time of the pass.
func (m *matcher) search(ctx context.Context, workers int) (matches []*search.Match, begun time.Time, err error) {
	asked := time.Now()
	if m.turn, err = m.matchers.turns.take(ctx, &m.share, workers); err != nil {
		return nil, begun, err
	}
	m.poolMu.Lock()
	defer m.poolMu.Unlock()
	if !m.pool.Exhaustive() { // such a pass is short, and would not be exhaustive if it was continued
		m.turn.hurry = max(1, m.matchers.limits.Time/turnTime)
	}
	m.pool.SetWorkers(m.turn.slots)
	begun = time.Now()
	before := m.pool.Effort
	matches = m.pool.Pass(begun)
	took := m.turn.end()
	m.rest = max(m.matchers.interval, took) // a pool is searched at most half of the time
	did := m.pool.Effort.Since(before)
	m.lately.add(begun, did)
	m.matchers.metrics.passed(m.name, begun.Sub(asked), took, did)
	return matches, begun, nil
}

// clock is the clock of the pool.
func (m *matcher) clock() time.Time { return m.turn.now() }

// next returns when to pass again if no ticket changes, or zero.
func (m *matcher) next(now time.Time) time.Time {
	soon := now.Add(m.rest)
	if m.pool.Pending(now) {
		return soon
	}
	if at, ok := m.pool.NextExpansion(); ok {
		if at.Before(soon) {
			return soon
		}
		return at
	}
	return time.Time{}
}

// update applies changed tickets to the pool. It returns the tickets that are QUEUED.
func (m *matcher) update(view *store.Snapshot) (queued []string) {
	m.mu.Lock()
	changed, all := m.changed, m.stale
	m.changed, m.stale = nil, false
	m.mu.Unlock()
	c := m.matchers.t.configurations.Get(view, m.name)
	if c == nil {
		m.pool, m.in = nil, nil
		return nil
	}
	if m.renew(view, c) || all {
		limits := m.matchers.limits
		limits.Clock = m.clock
		m.pool, m.in = pool.New(m.rules, search.Options{AdditionalPlayerCount: m.kept}, limits), map[string]int{}
		for _, t := range m.matchers.t.waiting.Prefix(view, store.Key(m.name)) {
			queued = m.look(view, t.ID, queued)
		}
		return queued
	}
	for _, id := range changed {
		queued = m.look(view, id, queued)
	}
	return queued
}

// renew adopts the configuration's rules. It returns true if they have changed or there
// is no pool.
func (m *matcher) renew(view *store.Snapshot, c *Configuration) bool {
	rs, err := m.matchers.ruleSets.of(view, c)
	if err != nil || (m.pool != nil && rs == m.rules && m.kept == c.kept()) {
		return false
	}
	m.rules, m.ruleSet, m.kept = rs, c.RuleSet, c.kept()
	return true
}

// look adds a ticket to the pool or removes it, depending on the committed state.
func (m *matcher) look(view *store.Snapshot, id string, queued []string) []string {
	t := m.matchers.t.tickets.Get(view, id)
	waits := t != nil && t.Status.Waits()
	revision, in := m.in[id]
	switch {
	case waits && (!in || revision != t.Revision):
		ticket := life.Searchable(t, m.matchers.t.requests.Get(view, id))
		if m.pool.Add(ticket); m.pool.Hopeless(id) {
			m.warn(ticket, time.Now())
		}
		m.in[id] = t.Revision
		if t.Status == life.Queued {
			queued = append(queued, id)
		}
	case !waits && in:
		m.pool.Remove(id)
		delete(m.in, id)
	}
	return queued
}

// How often tickets that can never be matched are logged: few of them, so that a game that sends only
// such tickets neither fills the log nor slows down matching.
const (
	explainEvery = time.Second // any ticket of a configuration
	sayEvery     = time.Minute // the same cause
)

// warn logs why a ticket can never be matched, unless the cause was logged a short while ago.
func (m *matcher) warn(t *search.Ticket, now time.Time) {
	if now.Sub(m.explained) < explainEvery {
		return
	}
	m.explained = now
	e := explain.Ticket(m.rules, search.Options{AdditionalPlayerCount: m.kept}, t, nil, now, explain.Limits{Ahead: -1})
	if len(e.Never) == 0 || now.Sub(m.said[e.Never[0].Text]) < sayEvery {
		return
	}
	maps.DeleteFunc(m.said, func(_ string, at time.Time) bool { return now.Sub(at) >= sayEvery })
	if m.said == nil {
		m.said = map[string]time.Time{}
	}
	m.said[e.Never[0].Text] = now
	m.matchers.log.Warn("a matchmaking ticket can never be matched", "configuration", m.name, "ticket_id", t.ID, "cause", e.Never[0].Text)
}

// commit writes the results of a pass, in few transactions.
func (m *matcher) commit(ctx context.Context, queued []string, matches []*search.Match, found time.Time) error {
	proposals, taken := m.proposals(matches, found)
	alone := queued[:0]
	for _, id := range queued {
		if !taken[id] {
			alone = append(alone, id)
		}
	}
	wait := m.matchers.waits.estimate(m.name, found)
	for len(alone) > 0 || len(proposals) > 0 {
		args := passArgs{Configuration: m.name, RuleSet: m.ruleSet, Wait: wait}
		args.Searching, alone = cut(alone, searchingAtOnce)
		args.Proposals, proposals = cut(proposals, matchesAtOnce)
		refused, err := m.matchers.pass.Do(ctx, args)
		if err != nil {
			return err
		}
		m.notify(refused...)
	}
	return nil
}

// proposals converts matches to arguments of the command. Their tickets have left the
// pool, so they are unknown until the committed state shows their result.
func (m *matcher) proposals(matches []*search.Match, found time.Time) ([]Proposal, map[string]bool) {
	m.poolMu.Lock() // the deadlines read the counts of tickets that time out concurrently
	defer m.poolMu.Unlock()
	var out []Proposal
	taken := map[string]bool{}
	for _, match := range matches {
		p := Proposal{Level: match.Level, Tickets: make([]string, len(match.Tickets)), Teams: make([]string, len(match.Tickets)), Rules: match.Rules}
		for i, t := range match.Tickets {
			p.Tickets[i] = t.ID
			if team := match.Teams[i]; team >= 0 {
				p.Teams[i] = m.rules.Instances[team].Name
			}
			taken[t.ID] = true
			if revision := m.in[t.ID]; revision != 0 {
				if p.Of == nil {
					p.Of = make([]int, len(match.Tickets))
				}
				p.Of[i] = revision
			}
			delete(m.in, t.ID)
			m.matchers.metrics.waited(m.name, found.Sub(t.Created))
		}
		out = append(out, p)
	}
	return out, taken
}

// counts returns the rule counts of the searches around a waiting ticket, or nil.
func (m *matcher) counts(ticket string) []RuleCount {
	m.share.asked.Add(1)
	m.poolMu.Lock()
	m.share.asked.Add(-1)
	defer m.poolMu.Unlock()
	if m.pool == nil {
		return nil
	}
	if _, in := m.in[ticket]; !in {
		return nil
	}
	return m.pool.Counts(ticket)
}

func cut[T any](list []T, n int) (head, rest []T) {
	n = min(n, len(list))
	return list[:n], list[n:]
}
