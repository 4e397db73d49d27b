package cell

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// SpreadOptions configures a node's part in spreading the cells of a deployment.
type SpreadOptions struct {
	URL      string   // postgres:// URL of the cells' database
	Password string   // for the database; "" uses the URL's
	Cells    []string // of the deployment
	Node     string   // this node's name
	TTL      time.Duration
	Prefers  func(cell string) bool // whether this node shall have the cell if it can
	Ready    func(cell string) bool // whether this node could own the cell at once, or does
	Give     func(cell string)      // releases a cell that this node owns, for another node
	Logger   *slog.Logger
}

// Spread spreads the leases of several cells over the nodes of a deployment: each to a node
// that prefers it, and otherwise evenly. It moves one at a time, and only while all cells
// have owners. What it knows is old by up to half a lease, so it decides nothing that the
// leases do not check.
type Spread struct {
	opts SpreadOptions
	log  *slog.Logger

	mu   sync.Mutex
	seen survey
}

// settled is how many leases an owner keeps a cell before it is moved again, and before others
// are moved.
const settled = 3

// presence is a node that can own a cell, or does.
type presence struct {
	Cell, Node     string
	Prefers, Ready bool
}

// holding is the lease of a cell.
type holding struct {
	Cell, Node string
	Live       bool
	epoch      uint64
	since      time.Time // by this node's clock: when it first saw this epoch
}

// survey is what a node knows about the leases of a deployment.
type survey struct {
	Leases []holding  // of all cells that were ever owned, by cell
	Nodes  []presence // of the nodes that were there lately
}

// NewSpread returns what spreads cells; Run begins it.
func NewSpread(o SpreadOptions) *Spread {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return &Spread{opts: o, log: o.Logger.With("component", "cell")}
}

// Run takes part until ctx ends.
func (s *Spread) Run(ctx context.Context) {
	l, err := newLease(Options{URL: s.opts.URL, Password: s.opts.Password})
	if err != nil {
		s.log.Error("cells are not spread over the nodes", "error", err)
		return
	}
	defer l.close()
	tick := time.NewTicker(s.opts.TTL / 2)
	defer tick.Stop()
	failing := false
	for {
		err := s.step(ctx, l)
		if err != nil && !failing && ctx.Err() == nil {
			s.log.Warn("the leases of the other cells cannot be read; trying again", "error", err)
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			s.forget(l)
			return
		case <-tick.C:
		}
	}
}

// step stores what other nodes need to know of this one, and releases a cell if it is this
// node's turn.
func (s *Spread) step(ctx context.Context, l *lease) error {
	ctx, cancel := context.WithTimeout(ctx, s.opts.TTL)
	defer cancel()
	if err := s.announce(ctx, l); err != nil {
		return err
	}
	now, err := s.look(ctx, l)
	if err != nil {
		return err
	}
	move, ok := now.plan(len(s.opts.Cells), time.Now().Add(-settled*s.opts.TTL))
	if ok && move.From == s.opts.Node {
		s.log.Info("this node releases a cell for another one", "cell", move.Cell, "node", move.To, "reason", move.Reason)
		s.opts.Give(move.Cell)
	}
	return nil
}

// announce stores which cells this node could own. It does not wait for the database's disk.
func (s *Spread) announce(ctx context.Context, l *lease) error {
	var prefers, ready []bool
	for _, cell := range s.opts.Cells {
		prefers, ready = append(prefers, s.opts.Prefers(cell)), append(ready, s.opts.Ready(cell))
	}
	conn, err := l.commands(ctx)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, `WITH former AS (DELETE FROM "muster"."presence" WHERE "seen" < clock_timestamp() - interval '1 day')
		INSERT INTO "muster"."presence" ("cell", "node", "prefers", "ready", "seen")
		SELECT c, $2, p, r, clock_timestamp() FROM set_config('synchronous_commit', 'off', true), unnest($1::text[], $3::bool[], $4::bool[]) AS me(c, p, r)
		ON CONFLICT ("cell", "node") DO UPDATE SET "prefers" = excluded."prefers", "ready" = excluded."ready", "seen" = excluded."seen"`,
		s.opts.Cells, s.opts.Node, prefers, ready)
	return err
}

// forget removes this node, which stops.
func (s *Spread) forget(l *lease) {
	ctx, cancel := context.WithTimeout(context.Background(), s.opts.TTL/2)
	defer cancel()
	if conn, err := l.commands(ctx); err == nil {
		_, err = conn.Exec(ctx, `DELETE FROM "muster"."presence" WHERE "node" = $1`, s.opts.Node)
		if err != nil {
			s.log.Debug("this node's presence was not removed", "error", err)
		}
	}
}

// look reads the leases and the nodes that are there.
func (s *Spread) look(ctx context.Context, l *lease) (survey, error) {
	conn, err := l.commands(ctx)
	if err != nil {
		return survey{}, err
	}
	var now survey
	rows, err := conn.Query(ctx, `SELECT "cell", "node", "until" > clock_timestamp(), "epoch" FROM "muster"."lease" WHERE "cell" = ANY($1) ORDER BY "cell"`, s.opts.Cells)
	if err != nil {
		return survey{}, fmt.Errorf("read leases: %w", err)
	}
	now.Leases, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (h holding, err error) {
		return h, row.Scan(&h.Cell, &h.Node, &h.Live, &h.epoch)
	})
	if err != nil {
		return survey{}, fmt.Errorf("read leases: %w", err)
	}
	rows, err = conn.Query(ctx, `SELECT "cell", "node", "prefers", "ready" FROM "muster"."presence"
		WHERE "cell" = ANY($1) AND "seen" > clock_timestamp() - make_interval(secs => $2) ORDER BY "cell", "node"`, s.opts.Cells, (2 * s.opts.TTL).Seconds())
	if err != nil {
		return survey{}, fmt.Errorf("read nodes: %w", err)
	}
	if now.Nodes, err = pgx.CollectRows(rows, pgx.RowToStructByPos[presence]); err != nil {
		return survey{}, fmt.Errorf("read nodes: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now.date(s.seen, time.Now())
	s.seen = now
	return now, nil
}

// date sets since when each owner is known, given an earlier survey.
func (v *survey) date(before survey, at time.Time) {
	for i := range v.Leases {
		h := &v.Leases[i]
		h.since = at
		for _, was := range before.Leases {
			if was.Cell == h.Cell && was.epoch == h.epoch {
				h.since = was.since
			}
		}
	}
}

// Yield returns how long this node waits before it takes a cell that is free: others that are
// there may be better for it.
func (s *Spread) Yield(cell string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Duration(s.seen.rank(cell, s.opts.Node)) * s.opts.TTL / 8
}

// loads returns how many cells each node has.
func (v *survey) loads() map[string]int {
	loads := map[string]int{}
	for _, h := range v.Leases {
		if h.Live {
			loads[h.Node]++
		}
	}
	return loads
}

// rank returns how many nodes are better for a cell that is free than this one: those that
// prefer it, then those that are ready, then those with fewer cells. The last owner, which is
// gone or released it, comes last. It is at most 4.
func (v *survey) rank(cell, node string) int {
	loads, last := v.loads(), ""
	for _, h := range v.Leases {
		if h.Cell == cell {
			last = h.Node
		}
	}
	order := func(p presence) []int {
		return []int{either(p.Node == last), either(!p.Prefers), either(!p.Ready), loads[p.Node], chance(cell, p.Node)}
	}
	var own *presence
	for i, p := range v.Nodes {
		if p.Cell == cell && p.Node == node {
			own = &v.Nodes[i]
		}
	}
	if own == nil {
		return 0
	}
	better := 0
	for _, p := range v.Nodes {
		if p.Cell == cell && p.Node != node && p.Node != last && slices.Compare(order(p), order(*own)) < 0 {
			better++
		}
	}
	return min(better, 4)
}

func either(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// chance orders nodes differently for each cell.
func chance(cell, node string) int {
	h := fnv.New32a()
	h.Write([]byte(cell + "\x00" + node))
	return int(h.Sum32())
}

// move is a cell that one node shall release, and another one take.
type move struct {
	Cell, From, To, Reason string
}

// plan returns the next move, which is the same on every node that has the same survey. There
// is none unless all cells have owners that are there, and have had them since before.
func (v *survey) plan(cells int, before time.Time) (move, bool) {
	there := map[string]map[string]presence{} // by cell and node
	loads := v.loads()
	for _, p := range v.Nodes {
		if there[p.Cell] == nil {
			there[p.Cell] = map[string]presence{}
		}
		there[p.Cell][p.Node] = p
	}
	if len(v.Leases) < cells {
		return move{}, false
	}
	for _, h := range v.Leases {
		if _, ok := there[h.Cell][h.Node]; !ok || !h.Live || h.since.After(before) {
			return move{}, false
		}
	}
	for _, h := range v.Leases {
		if there[h.Cell][h.Node].Prefers {
			continue
		}
		to, ok := least(there[h.Cell], loads, func(p presence) bool { return p.Prefers && p.Ready })
		if ok {
			return move{h.Cell, h.Node, to, "it prefers the cell"}, true
		}
	}
	var found move // from the node with the most cells, of those that have one to release
	for _, h := range v.Leases {
		own := there[h.Cell][h.Node]
		to, ok := least(there[h.Cell], loads, func(p presence) bool { return p.Ready && (p.Prefers || !own.Prefers) })
		if ok && loads[h.Node]-loads[to] >= 2 && loads[h.Node] > loads[found.From] {
			found = move{h.Cell, h.Node, to, "it has fewer cells"}
		}
	}
	return found, found.From != ""
}

// least returns the node with the fewest cells of those that are wanted.
func least(nodes map[string]presence, loads map[string]int, wanted func(presence) bool) (name string, ok bool) {
	for _, p := range nodes {
		if wanted(p) && (!ok || cmp.Or(cmp.Compare(loads[p.Node], loads[name]), cmp.Compare(p.Node, name)) < 0) {
			name, ok = p.Node, true
		}
	}
	return name, ok
}
