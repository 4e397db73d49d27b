package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/sqltext"
)

// Archives and logs are partitioned by time, so that what has expired is
// dropped: deleting it row by row would cost about as much as writing it, and leave holes.
//
// The commit that stores the first row of a time creates its partition, in the same
// transaction, whatever the clock says: there is no gap, and no row without a partition. A
// partition is created as a table and attached, which waits for no reader.

// partition is a partition of a table: rows of the time from or later, and earlier than until.
type partition struct {
	name        string
	from, until time.Time
}

// partitions are those that the database has, by table.
type partitions map[string][]partition

// covering returns the partition for a time. The caller has sorted the list.
func covering(list []partition, at time.Time) (partition, bool) {
	i := sort.Search(len(list), func(i int) bool { return list[i].until.After(at) })
	if i == len(list) || at.Before(list[i].from) {
		return partition{}, false
	}
	return list[i], true
}

const (
	narrowest = 10 * time.Minute // the boundaries of partitions are multiples of it
	forever   = 30 * 24 * time.Hour
	pieces    = 12 // partitions of a retention
)

// width returns the time that a partition of rows with a retention spans. Rows are kept for
// up to that much longer than their retention.
func width(retention time.Duration) time.Duration {
	if retention <= 0 {
		return forever
	}
	return max((retention / pieces).Truncate(narrowest), narrowest)
}

// missing returns the partition for a time that none of list covers. It overlaps none of
// them, which may have other widths: a retention can be changed.
func missing(table string, list []partition, at time.Time, retention time.Duration) partition {
	from := at.Truncate(width(retention))
	p := partition{from: from, until: from.Add(width(retention))}
	for _, other := range list {
		if !other.until.After(at) && other.until.After(p.from) {
			p.from = other.until
		}
		if other.from.After(at) && other.from.Before(p.until) {
			p.until = other.from
		}
	}
	p.name = table + "_" + p.from.UTC().Format("200601021504")
	return p
}

// create returns the statements that create a partition. Its rows have no key that is unique,
// without which PostgreSQL would refuse to delete them if the database is replicated logically.
func (p partition) create(table string) []string {
	return []string{
		fmt.Sprintf(`CREATE TABLE %s (LIKE %s INCLUDING DEFAULTS)`, sqltext.Quote(p.name), sqltext.Quote(table)),
		fmt.Sprintf(`ALTER TABLE %s REPLICA IDENTITY FULL`, sqltext.Quote(p.name)),
		fmt.Sprintf(`ALTER TABLE %s ATTACH PARTITION %s %s`, sqltext.Quote(table), sqltext.Quote(p.name), p.bounds()),
	}
}

// bounds returns the bounds as PostgreSQL writes them.
func (p partition) bounds() string {
	return fmt.Sprintf("FOR VALUES FROM ('%d') TO ('%d')", sqltext.Millis(p.from), sqltext.Millis(p.until))
}

var boundsForm = regexp.MustCompile(`^FOR VALUES FROM \('(-?\d+)'\) TO \('(-?\d+)'\)$`)

func partitionOf(name, bounds string) (partition, error) {
	found := boundsForm.FindStringSubmatch(bounds)
	if found == nil {
		return partition{}, fmt.Errorf("partition %s has bounds that Muster does not make: %s", name, bounds)
	}
	from, err := strconv.ParseInt(found[1], 10, 64)
	until, also := strconv.ParseInt(found[2], 10, 64)
	return partition{name, time.UnixMilli(from).UTC(), time.UnixMilli(until).UTC()}, errors.Join(err, also)
}

// listPartitions lists the names of partitions and of their tables, with bounds.
const listPartitions = `SELECT p.relname::text, c.relname::text, pg_get_expr(c.relpartbound, c.oid)
	FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid JOIN pg_class AS p ON p.oid = i.inhparent
	WHERE p.relnamespace = to_regnamespace(quote_ident(current_schema())) AND p.relkind = 'p' AND c.relkind = 'r'`

// readPartitions reads which tables have which partitions, in the order of time. It is not
// prepared, which would cost the first commit of an owner an additional round trip.
func readPartitions(ask sqltext.Query) (partitions, error) {
	all := partitions{}
	err := ask(func(row sqltext.Row) error {
		var table, name string
		var bounds *string
		if err := row.Scan(&table, &name, &bounds); err != nil {
			return err
		}
		if bounds == nil || *bounds == "DEFAULT" { // dropped since it was listed, or made by an operator
			return nil
		}
		p, err := partitionOf(name, *bounds)
		all[table] = append(all[table], p)
		return err
	}, listPartitions, pgx.QueryExecModeExec)
	if err != nil {
		return nil, fmt.Errorf("read partitions: %w", err)
	}
	for _, list := range all {
		sortByTime(list)
	}
	return all, nil
}

func sortByTime(list []partition) {
	slices.SortFunc(list, func(a, b partition) int { return a.from.Compare(b.from) })
}

// catalog is what this owner knows of the partitions, and under which fence it writes.
type catalog struct {
	mu     sync.Mutex
	known  partitions // nil: not read yet, or not certain any more
	doubts int        // how often known became uncertain
	fence  store.Fence
}

// forget makes the next commit read which partitions there are.
func (c *catalog) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known = nil
	c.doubts++
}

// hold sets the fence. Another owner may have changed the partitions before.
func (c *catalog) hold(f store.Fence) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fence, c.known = f, nil
	c.doubts++
}

// read returns the partitions; ask reads them if they are not known.
func (c *catalog) read(ask sqltext.Query) (partitions, error) {
	c.mu.Lock()
	known, doubts := c.known, c.doubts
	c.mu.Unlock()
	if known != nil {
		return known, nil
	}
	known, err := readPartitions(ask)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil && c.doubts == doubts {
		c.known = known
	}
	return known, err
}

// need returns the partitions that a batch lacks, by table. It reads which there are
// if that is not known.
func (db *db) need(ask sqltext.Query, b *store.Batch) (partitions, error) {
	known, err := db.parted.read(ask)
	if err != nil {
		return nil, err
	}
	lacks := partitions{}
	note := func(name string, retention time.Duration, at time.Time) {
		if _, ok := covering(known[name], at); ok {
			return
		}
		list := slices.Concat(known[name], lacks[name])
		sortByTime(list)
		if _, ok := covering(list, at); !ok {
			lacks[name] = append(lacks[name], missing(name, list, at, retention))
		}
	}
	for _, tb := range b.Tables {
		t := db.Schema.Tables[tb.Table]
		for _, row := range tb.Archives {
			note(sqltext.ArchiveOf(t.Name), t.Retention, row.Time)
		}
	}
	for _, lb := range b.Logs {
		l := db.Schema.Logs[lb.Log]
		for _, e := range lb.Entries {
			note(l.Name, l.Retention, e.Time)
		}
	}
	return lacks, nil
}

// rename appends the number of a try to the names of partitions: the usual one may be that of
// a table which somebody detached to keep it.
func (lacks partitions) rename(try int) {
	for _, list := range lacks {
		for i := range list {
			list[i].name += "_" + strconv.Itoa(try)
		}
	}
}

// queueMissing queues the creation of partitions.
func (lacks partitions) queueMissing(p *statements) {
	for table, list := range lacks {
		for _, part := range list {
			for _, text := range part.create(table) {
				p.queue(text)
			}
		}
	}
}

// made notes partitions that a commit created.
func (c *catalog) made(lacks partitions) {
	if len(lacks) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		return
	}
	next := maps.Clone(c.known)
	for table, list := range lacks {
		next[table] = slices.Concat(next[table], list)
		sortByTime(next[table])
	}
	c.known = next
}

const (
	// lockWait is how long commits may have to wait because a partition that is to be
	// created or dropped waits for a reader of the table. If that takes longer, as with a
	// backup, it is tried again later.
	lockWait = 100 * time.Millisecond
	// longestChange ends a change of partitions in the database, whatever becomes of this program.
	longestChange = 5 * time.Second
)

// guarded runs statements in one transaction if this owner still has the cell. Commits wait
// until it has ended. All of it is sent at once: the database never waits for this program
// inside it.
func (db *db) guarded(ctx context.Context, texts ...string) error {
	db.parted.mu.Lock()
	f := db.parted.fence
	db.parted.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, 2*longestChange)
	defer cancel()
	conn, err := db.reader.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	begin := []string{
		"BEGIN",
		fmt.Sprintf("SET LOCAL lock_timeout = %d", lockWait.Milliseconds()),
		fmt.Sprintf("SET LOCAL statement_timeout = %d", longestChange.Milliseconds()),
		fmt.Sprintf(`SELECT 1 / count(*) FROM (SELECT 1 FROM "muster_cell" WHERE "name" = %s AND "owner" = %s AND "epoch" = %d FOR UPDATE) AS held`,
			sqltext.Literal(db.Name), sqltext.Literal(f.Owner), f.Epoch),
	}
	wire := conn.Conn().PgConn()
	err = execAll(ctx, wire, slices.Concat(begin, texts, []string{"COMMIT"}))
	if err != nil && !wire.IsClosed() && wire.TxStatus() != 'I' {
		err = errors.Join(err, execAll(ctx, wire, []string{"ROLLBACK"}))
	}
	return classify(err)
}

// keepPartitions drops the partitions whose rows have all expired, and creates those that
// will soon be needed, so that commits seldom do.
func (db *db) keepPartitions(ctx context.Context, p store.Pruning) error {
	all, err := readPartitions(query(ctx, db.reader))
	if err != nil {
		return err
	}
	for _, t := range db.expiring(p) {
		err := db.keepTable(ctx, t, all[t.name], p.Now)
		if busy(err) {
			return nil // something reads these tables for long: later
		}
		if err != nil {
			return fmt.Errorf("partitions of %s: %w", t.name, err)
		}
	}
	return nil
}

// expiring is an archive or a log, and what expires in it.
type expiring struct {
	name      string
	retention time.Duration
	before    time.Time // rows of this time or earlier have expired; zero: none have
}

func (db *db) expiring(p store.Pruning) []expiring {
	var all []expiring
	for _, t := range db.Schema.Tables {
		if t.Retention > 0 {
			all = append(all, expiring{sqltext.ArchiveOf(t.Name), t.Retention, p.Now.Add(-t.Retention)})
		}
	}
	for i, l := range db.Schema.Logs {
		all = append(all, expiring{l.Name, l.Retention, p.Before[i]})
	}
	return all
}

func (db *db) keepTable(ctx context.Context, t expiring, list []partition, now time.Time) error {
	for _, part := range list {
		if t.before.IsZero() || part.until.After(t.before) {
			break
		}
		if err := db.drop(ctx, t.name, part); err != nil {
			return err
		}
	}
	soon := now.Add(width(t.retention) / 4)
	_, used := covering(list, now)
	if _, ok := covering(list, soon); ok || !used {
		return nil // a table without rows gets none
	}
	err := db.guarded(ctx, missing(t.name, list, soon, t.retention).create(t.name)...)
	db.parted.forget()
	return err
}

// drop drops a partition. Its bounds are compared again once nobody else can change it.
func (db *db) drop(ctx context.Context, table string, p partition) error {
	defer db.parted.forget()
	return db.guarded(ctx,
		fmt.Sprintf(`LOCK TABLE ONLY %s, %s IN ACCESS EXCLUSIVE MODE`, sqltext.Quote(table), sqltext.Quote(p.name)),
		fmt.Sprintf(`SELECT 1 / count(*) FROM pg_class AS c JOIN pg_inherits AS i ON i.inhrelid = c.oid
			WHERE c.oid = %s::regclass AND i.inhparent = %s::regclass AND pg_get_expr(c.relpartbound, c.oid) = %s`,
			sqltext.Literal(sqltext.Quote(p.name)), sqltext.Literal(sqltext.Quote(table)), sqltext.Literal(p.bounds())),
		`DROP TABLE `+sqltext.Quote(p.name))
}

// busy reports whether a change was given up because something else uses the table, or
// because another node has the cell, or this one a later epoch.
func busy(err error) bool {
	reported, ok := errors.AsType[*pgconn.PgError](err)
	return errors.Is(err, store.ErrFenced) || ok && (reported.Code == lockNotAvailable || reported.Code == queryCanceled || strings.HasPrefix(reported.Code, classConflict))
}

// otherPartitions reports whether a commit failed because there are other partitions than
// this owner knew of: one that it wrote to is gone, or one that it created was there.
func otherPartitions(err error) bool {
	reported, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (reported.Code == checkViolation || reported.Code == duplicateTable)
}
