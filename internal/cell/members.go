package cell

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/musterhq/muster/internal/feature"
	"github.com/musterhq/muster/internal/release"
)

// Member is a node of a cell, as it registered last.
type Member struct {
	Name    string
	Address string        // HOST:PORT where other nodes reach it; "" if its release does not tell
	Release string        // of its program; "" if that does not tell
	Level   feature.Level // the highest one that it knows, or agrees to
	Silent  time.Duration // since it registered, by the database's clock, as of this node's last registration
	Away    bool          // it has not registered when it should have
}

// Gone reports whether the feature level no longer waits for the node.
func (m Member) Gone() bool { return m.Silent > gone }

// Lowest returns the lowest level that one of the nodes knows, of those that are not gone.
func Lowest(members []Member) (lowest feature.Level) {
	for _, m := range members {
		if !m.Gone() && (lowest == 0 || m.Level < lowest) {
			lowest = m.Level
		}
	}
	return lowest
}

// Members returns the nodes of the cell by name, this one included, as of this node's last
// registration, some leases ago at most.
func (k *Keeper) Members() []Member {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.members)
}

// Name returns this node's name.
func (k *Keeper) Name() string { return k.opts.Node.Name }

// meet records the nodes of the cell. It warns of each that is of a release that is not
// supported beside this one's, once for as long as it is.
func (k *Keeper) meet(members []Member) {
	k.mu.Lock()
	former := k.members
	k.members = members
	k.mu.Unlock()
	mine := k.opts.Release
	for _, m := range members {
		n, known := slices.BinarySearchFunc(former, m.Name, func(m Member, name string) int { return cmp.Compare(m.Name, name) })
		if m.Name == k.opts.Node.Name || m.Gone() || known && former[n].Release == m.Release && !former[n].Gone() {
			continue
		}
		why := release.Unsupported(m.Release, mine)
		switch {
		case why != "":
			k.log.Warn("a node of the cell is not supported beside this one", "node", m.Name, "reason", "its release and this one's: "+why)
		case m.Release != mine:
			k.log.Info("a node of the cell is of another release", "node", m.Name, "release", m.Release, "this", mine)
		}
	}
}

// register stores that a node is there, of which release and which feature level it knows,
// and returns the nodes of the cell by name. It does not wait for the database's disk, as renew does not.
func (l *lease) register(ctx context.Context, n Node, level feature.Level, number string) ([]Member, error) {
	conn, err := l.commands(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := conn.Query(ctx, `WITH me AS (
			INSERT INTO "muster"."node" ("cell", "node", "level", "seen", "address", "release")
			SELECT $1, $2, $3, clock_timestamp(), $4, $5 FROM set_config('synchronous_commit', 'off', true)
			ON CONFLICT ("cell", "node") DO UPDATE SET "level" = excluded."level", "seen" = excluded."seen",
				"address" = excluded."address", "release" = excluded."release"
			RETURNING "node", "address", "release", "level", 0::float8),
		former AS (DELETE FROM "muster"."node" WHERE "seen" < clock_timestamp() - interval '30 days')
		SELECT * FROM me UNION ALL
		SELECT "node", "address", "release", "level", greatest(0, extract(epoch FROM clock_timestamp() - "seen"))::float8
			FROM "muster"."node" WHERE "cell" = $1 AND "node" <> $2`,
		l.cell, n.Name, int64(level), n.Address, number)
	if err != nil {
		return nil, err
	}
	members, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (m Member, err error) {
		var silent float64
		err = row.Scan(&m.Name, &m.Address, &m.Release, &m.Level, &silent)
		m.Silent = time.Duration(silent * float64(time.Second))
		return m, err
	})
	slices.SortFunc(members, func(a, b Member) int { return cmp.Compare(a.Name, b.Name) })
	return members, err
}
