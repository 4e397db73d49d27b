package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/sqltext"
)

// Archives and logs are partitioned by time, so that what has expired is dropped: deleting
// it row by row would cost about as much as writing it, and leave holes.
//
// The parent has no indexes; each partition has its own. A table from before becomes the
// partition of everything until a time to come, once a check of its rows has proved that
// nothing in it is later. That check is long, and beside commits; the change itself is
// short. Rows with a time for which there is no partition yet are in the default one, so
// that no commit fails for want of a partition.

// timed is a table whose rows are partitioned by time.
type timed struct {
	name      string
	at        string // the column with the time
	key       string // primary key of a partition
	create    string // columns, without a primary key
	columns   []store.ColumnSchema
	retention time.Duration
	log       int // its number, or -1 for an archive
}

// timed lists the archives and logs. Those that are kept forever are not partitioned.
func (db *db) timed() []timed {
	var all []timed
	d := dialect()
	for _, t := range db.Schema.Tables {
		if t.Retention > 0 {
			all = append(all, timed{sqltext.ArchiveOf(t.Name), "archived_at", "key",
				fmt.Sprintf(`"key" %s NOT NULL, "doc" %s, "archived_at" %s NOT NULL, "expires_at" %s, "packed" bytea`, d.Text, d.Doc, d.Int, d.Int),
				t.Columns, t.Retention, -1})
		}
	}
	for i, l := range db.Schema.Logs {
		all = append(all, timed{l.Name, "time", "seq",
			fmt.Sprintf(`"seq" %s NOT NULL, "time" %s NOT NULL, "doc" %s, "packed" bytea`, d.Int, d.Int, d.Doc), l.Columns, l.Retention, i})
	}
	return all
}

// unpackedToo returns statements that let a table from before have packed documents.
func (t timed) unpackedToo() []string {
	texts := []string{fmt.Sprintf(`ALTER TABLE %s ADD COLUMN IF NOT EXISTS "packed" bytea, ALTER COLUMN "doc" DROP NOT NULL`, sqltext.Quote(t.name))}
	if t.log < 0 {
		texts[0] += `, ALTER COLUMN "expires_at" DROP NOT NULL`
	}
	return texts
}

// expired returns the time until which rows have expired; zero if none has.
func (t timed) expired(p store.Pruning) time.Time {
	if t.log >= 0 {
		return p.Before[t.log]
	}
	return p.Now.Add(-t.retention)
}

const (
	narrowest = 10 * time.Minute
	widest    = 24 * time.Hour
	ahead     = 3 // partitions that exist before they are needed
)

// width returns how long the rows of one partition are apart at most.
func (t timed) width() time.Duration {
	return min(max((t.retention/24).Truncate(10*time.Minute), narrowest), widest)
}

// boundary returns the first boundary of partitions after a time.
func (t timed) boundary(after time.Time) time.Time { return after.Truncate(t.width()).Add(t.width()) }

// partition is one partition of a table.
type partition struct {
	name        string
	from, until time.Time // zero: unbounded
	rest        bool      // it has what no other one takes
}

func (p partition) first() bool { return !p.rest && p.from.IsZero() }

// parted is a table as the database has it.
type parted struct {
	timed
	split bool // it has partitions
	parts []partition
}

// bounds reads what PostgreSQL says of a partition's bounds.
var bounds = regexp.MustCompile(`^FOR VALUES FROM \((?:'?(-?\d+)'?|MINVALUE)\) TO \('?(-?\d+)'?\)$`)

// parted reads which tables have which partitions.
func (db *db) parted(ctx context.Context) ([]parted, error) {
	kinds := map[string]string{}
	parts := map[string][]partition{}
	err := query(ctx, db.reader)(func(row sqltext.Row) error {
		var name, kind, parent, text string
		if err := row.Scan(&name, &kind, &parent, &text); err != nil {
			return err
		}
		if kinds[name] = kind; parent == "" {
			return nil
		}
		p, err := partitionOf(name, text)
		parts[parent] = append(parts[parent], p)
		return err
	}, `SELECT c.relname::text, c.relkind::text, coalesce(p.relname::text, ''), coalesce(pg_get_expr(c.relpartbound, c.oid), '')
		FROM pg_class AS c LEFT JOIN pg_inherits AS i ON i.inhrelid = c.oid LEFT JOIN pg_class AS p ON p.oid = i.inhparent
		WHERE c.relnamespace = to_regnamespace($1) AND c.relkind IN ('r', 'p')`, db.space)
	if err != nil {
		return nil, fmt.Errorf("read partitions: %w", err)
	}
	var all []parted
	for _, t := range db.timed() {
		if t.retention <= 0 {
			continue
		}
		found := parts[t.name]
		slices.SortFunc(found, func(a, b partition) int {
			return cmp.Or(cmp.Compare(b2i(a.rest), b2i(b.rest)), a.until.Compare(b.until))
		})
		all = append(all, parted{t, kinds[t.name] == "p", found})
	}
	return all, nil
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func partitionOf(name, text string) (partition, error) {
	if text == "DEFAULT" {
		return partition{name: name, rest: true}, nil
	}
	found := bounds.FindStringSubmatch(text)
	if found == nil {
		return partition{}, fmt.Errorf("partition %s has bounds that Muster does not make: %s", name, text)
	}
	p := partition{name: name}
	if found[1] != "" {
		from, _ := strconv.ParseInt(found[1], 10, 64)
		p.from = time.UnixMilli(from).UTC()
	}
	until, err := strconv.ParseInt(found[2], 10, 64)
	p.until = time.UnixMilli(until).UTC()
	return p, err
}

// Partition implements the store's partitioner.
func (db *db) Partition(ctx context.Context, p store.Pruning) error {
	tables, err := db.parted(ctx)
	if err != nil {
		return err
	}
	var errs []error
	split := false
	for _, t := range tables {
		if t.split {
			continue
		}
		split = true
		if err := db.split(ctx, t, p.Now); err != nil && !busy(err) {
			errs = append(errs, fmt.Errorf("%s: %w", t.name, err))
		}
	}
	if split {
		if tables, err = db.parted(ctx); err != nil {
			return err
		}
	}
	for _, t := range tables {
		if !t.split {
			continue
		}
		if err := db.keep(ctx, t, p); err != nil && !busy(err) {
			errs = append(errs, fmt.Errorf("%s: %w", t.name, err))
		}
	}
	return errors.Join(errs...)
}

// keep creates the next partitions of a table and drops the expired ones.
func (db *db) keep(ctx context.Context, t parted, p store.Pruning) error {
	if err := db.extend(ctx, t, p.Now); err != nil {
		return err
	}
	expired := t.expired(p)
	for _, part := range t.parts {
		if part.rest || expired.IsZero() || part.until.After(expired) {
			continue
		}
		if err := db.change(ctx, "DROP TABLE "+sqltext.Quote(part.name)); err != nil {
			return fmt.Errorf("drop what expired: %w", err)
		}
	}
	return nil
}

// extend creates the partitions that come next.
func (db *db) extend(ctx context.Context, t parted, now time.Time) error {
	from := t.boundary(now).Add(-t.width())
	for _, part := range t.parts {
		if part.until.After(from) {
			from = part.until
		}
	}
	if late := now.Add(ahead * t.width()); !from.After(late) {
		last, err := db.latest(ctx, t)
		if err != nil {
			return err
		}
		for ; !from.After(late); from = t.boundary(from) {
			if from.After(last) {
				if err := db.change(ctx, t.part(from, t.boundary(from))...); err != nil {
					return fmt.Errorf("create the partition from %s: %w", from.Format(time.RFC3339), err)
				}
			}
		}
	}
	return nil
}

// latest returns the time of the newest row in the default partition, which usually is
// empty: no other partition may take it.
func (db *db) latest(ctx context.Context, t parted) (time.Time, error) {
	var last int64
	err := query(ctx, db.reader)(func(row sqltext.Row) error { return row.Scan(&last) },
		fmt.Sprintf(`SELECT coalesce(max(%s), 0) FROM %s`, sqltext.Quote(t.at), sqltext.Quote(t.restName())))
	return sqltext.Moment(last), err
}

func (t timed) restName() string { return fmt.Sprintf("%.50s_rest", t.name) }

// part returns statements that create a partition. It is made apart and then attached, which
// does not wait for those who read the table.
func (t timed) part(from, until time.Time) []string {
	name := fmt.Sprintf("%.50s_p%x", t.name, from.UnixMilli())
	return append(t.apart(name), fmt.Sprintf(`ALTER TABLE %s ATTACH PARTITION %s FOR VALUES FROM (%d) TO (%d)`,
		sqltext.Quote(t.name), sqltext.Quote(name), from.UnixMilli(), until.UnixMilli()))
}

// apart returns statements that create a table like t with the indexes of a partition.
func (t timed) apart(name string) []string {
	quoted := sqltext.Quote(name)
	texts := []string{
		fmt.Sprintf(`CREATE TABLE %s (LIKE %s INCLUDING DEFAULTS)`, quoted, sqltext.Quote(t.name)),
		fmt.Sprintf(`ALTER TABLE %s ADD PRIMARY KEY (%s)`, quoted, sqltext.Quote(t.key)),
	}
	for _, c := range t.columns {
		columns, some := sqltext.Quote(c.Name), ""
		if !c.Digest {
			columns += ", " + sqltext.Quote(t.key)
		}
		if t.log >= 0 {
			some = fmt.Sprintf(` WHERE %s <> ''`, sqltext.Quote(c.Name))
		}
		texts = append(texts, fmt.Sprintf(`CREATE INDEX ON %s (%s)%s`, quoted, columns, some))
	}
	return texts
}

// parent returns the statement that creates the partitioned table.
func (t timed) parent() string {
	var b strings.Builder
	for _, c := range t.columns {
		fmt.Fprintf(&b, `, %s %s NOT NULL DEFAULT ''`, sqltext.Quote(c.Name), dialect().Text)
	}
	return fmt.Sprintf(`CREATE TABLE %s (%s%s) PARTITION BY RANGE (%s)`, sqltext.Quote(t.name), t.create, &b, sqltext.Quote(t.at))
}

// rest returns statements that create the default partition.
func (t timed) rest() []string {
	return append(t.apart(t.restName()), fmt.Sprintf(`ALTER TABLE %s ATTACH PARTITION %s DEFAULT`, sqltext.Quote(t.name), sqltext.Quote(t.restName())))
}

// promise is the name of the check that no row of a table is later than what will be the
// bound of the first partition.
const promise = "muster_until"

// split makes a table without partitions a partition of one that has some. An empty one is
// replaced.
func (db *db) split(ctx context.Context, t parted, now time.Time) error {
	if empty, err := db.empty(ctx, t); err != nil {
		return err
	} else if empty {
		return db.replace(ctx, t, now)
	}
	until, proven, err := db.promised(ctx, t)
	if err != nil {
		return err
	}
	if !until.IsZero() && !now.Add(2*t.width()).Before(until) { // it took too long: no commit may reach the bound
		if err := db.change(ctx, fmt.Sprintf(`ALTER TABLE %s DROP CONSTRAINT %s`, sqltext.Quote(t.name), promise)); err != nil {
			return err
		}
		until, proven = time.Time{}, false
	}
	if until.IsZero() {
		until = t.boundary(now.Add(max((ahead+2)*t.width(), 3*time.Hour)))
		if err := db.change(ctx, fmt.Sprintf(`ALTER TABLE %s ADD CONSTRAINT %s CHECK (%s < %d) NOT VALID`,
			sqltext.Quote(t.name), promise, sqltext.Quote(t.at), until.UnixMilli())); err != nil {
			return err
		}
	}
	if !proven {
		if _, err := db.reader.Exec(ctx, fmt.Sprintf(`ALTER TABLE %s VALIDATE CONSTRAINT %s`, sqltext.Quote(t.name), promise)); err != nil {
			return fmt.Errorf("check what was stored before there were partitions: %w", err)
		}
	}
	before := fmt.Sprintf("%.50s_before", t.name)
	texts := []string{
		fmt.Sprintf(`ALTER TABLE %s RENAME TO %s`, sqltext.Quote(t.name), sqltext.Quote(before)),
		t.parent(),
		fmt.Sprintf(`ALTER TABLE %s ATTACH PARTITION %s FOR VALUES FROM (MINVALUE) TO (%d)`, sqltext.Quote(t.name), sqltext.Quote(before), until.UnixMilli()),
		fmt.Sprintf(`ALTER TABLE %s DROP CONSTRAINT %s`, sqltext.Quote(before), promise),
	}
	texts = append(texts, t.rest()...)
	return db.change(ctx, append(texts, t.part(until, t.boundary(until))...)...)
}

// empty reports whether a table has no rows.
func (db *db) empty(ctx context.Context, t parted) (empty bool, err error) {
	err = query(ctx, db.reader)(func(row sqltext.Row) error { return row.Scan(&empty) },
		fmt.Sprintf(`SELECT NOT EXISTS (SELECT 1 FROM %s)`, sqltext.Quote(t.name)))
	return empty, err
}

// replace replaces a table that has no rows. If it has some by now, it stays for later.
func (db *db) replace(ctx context.Context, t parted, now time.Time) error {
	from := t.boundary(now).Add(-t.width())
	texts := []string{
		fmt.Sprintf(`DO $do$ BEGIN IF EXISTS (SELECT 1 FROM %s) THEN RAISE lock_not_available; END IF; END $do$`, sqltext.Quote(t.name)),
		"DROP TABLE " + sqltext.Quote(t.name), t.parent(),
	}
	texts = append(texts, t.rest()...)
	return db.change(ctx, append(texts, t.part(from, t.boundary(from))...)...)
}

// promised returns the bound that a table's check promises, and whether it was proven.
func (db *db) promised(ctx context.Context, t parted) (until time.Time, proven bool, err error) {
	err = query(ctx, db.reader)(func(row sqltext.Row) error {
		var text string
		if err := row.Scan(&text, &proven); err != nil {
			return err
		}
		found := regexp.MustCompile(`< '?(\d+)`).FindStringSubmatch(text)
		if found == nil {
			return fmt.Errorf("the check %s is not Muster's: %s", promise, text)
		}
		ms, err := strconv.ParseInt(found[1], 10, 64)
		until = time.UnixMilli(ms).UTC()
		return err
	}, `SELECT pg_get_constraintdef(oid), convalidated FROM pg_constraint WHERE conname = $1 AND conrelid = to_regclass($2)`, promise, sqltext.Quote(t.name))
	return until, proven, err
}

// lockWait is how long a change of tables waits for others who use them, and so the longest
// time that commits wait for it. What cannot be changed now is changed a minute later.
const lockWait = "500ms"

// change runs statements as one transaction on the connection of the commits, so that it
// comes between two of them.
func (db *db) change(ctx context.Context, texts ...string) error {
	return pgx.BeginFunc(ctx, db.writer, func(tx pgx.Tx) error {
		begin := []string{"SET LOCAL lock_timeout = '" + lockWait + "'", fmt.Sprintf("SELECT pg_advisory_xact_lock(%d)", int64(migrateLock))}
		for _, text := range append(begin, texts...) {
			if _, err := tx.Exec(ctx, text, pgx.QueryExecModeSimpleProtocol); err != nil {
				return err
			}
		}
		return nil
	})
}

// busy reports whether a change was not made because others use the table.
func busy(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && refused.Code == "55P03" // lock_not_available
}

// pruneParts deletes expired rows where they are not dropped with a partition: in tables
// without partitions, in the partition that such a table became, and in the default one.
func (db *db) pruneParts(ctx context.Context, p store.Pruning) (pruned int, err error) {
	tables, err := db.parted(ctx)
	if err != nil {
		return 0, err
	}
	remove := func(text string, before time.Time) {
		if err != nil || pruned >= p.Rows || before.IsZero() {
			return
		}
		var n int64
		n, err = db.exec(ctx)(text, sqltext.Millis(before), p.Rows-pruned)
		pruned += int(n)
	}
	for _, t := range tables {
		for _, name := range t.kept() {
			if t.log >= 0 {
				remove(sqltext.PruneLog(name), t.expired(p))
			} else {
				remove(sqltext.PruneArchive(name), p.Now)
			}
		}
		if t.split {
			remove(fmt.Sprintf(`DELETE FROM %[1]s WHERE %[2]s IN (SELECT %[2]s FROM %[1]s WHERE %[3]s <= $1 LIMIT $2)`,
				sqltext.Quote(t.restName()), sqltext.Quote(t.key), sqltext.Quote(t.at)), t.expired(p))
		}
	}
	return pruned, err
}

// kept returns the tables of t that have rows as they were before there were partitions.
func (t parted) kept() []string {
	if !t.split {
		return []string{t.name}
	}
	for _, part := range t.parts {
		if part.first() {
			return []string{part.name}
		}
	}
	return nil
}
