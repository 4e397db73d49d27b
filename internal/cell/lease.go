package cell

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/musterhq/muster/internal/feature"
)

// Node is a member of a cell as the other nodes see it.
type Node struct {
	Name        string // unique per node, kept over its restarts
	Address     string // HOST:PORT where other nodes reach it
	Certificate string // SHA-256 of the certificate it presents there, in hex
	Check       string // shows whether nodes have the same secret
}

// state is the lease as read from the database.
type state struct {
	owner     Node
	epoch     uint64
	left      time.Duration // until it ends, by the database's clock; not positive: it is free
	now       time.Time     // by the database's clock
	level     feature.Level // of the cell
	needs     string        // the first release that knows it
	confirmed uint64        // the last sequence of the state that the owner knew to be confirmed
	ends      time.Time     // by this node's clock: when to send a statement that shall find the lease ended
}

// errTaken says that another node has the lease.
var errTaken = errors.New("another node has the cell")

// lease is the row of one cell. Its commands use one connection, one after the other;
// waiting for notifications uses another. There is no pool, because a pool waits for
// a silent connection to be closed before it opens another.
type lease struct {
	cell   string
	config *pgx.ConnConfig
	conn   *pgx.Conn // for commands; if nil or closed, the next one opens another
	ear    *pgx.Conn // for notifications; nil until the first wait
}

// tableLock keeps nodes that start together from creating the table concurrently.
const tableLock = 0x6d75737465720002

// channel is where nodes announce that a lease changed; the payload names the cell.
const channel = "muster_lease"

func openLease(ctx context.Context, o Options) (*lease, error) {
	l, err := newLease(o)
	if err != nil {
		return nil, err
	}
	if err := l.migrate(ctx); err != nil {
		l.close()
		return nil, fmt.Errorf("make the table of leases: %w", err)
	}
	return l, nil
}

// newLease returns a lease whose tables exist; the first command connects.
func newLease(o Options) (*lease, error) {
	config, err := pgxpool.ParseConfig(o.URL) // the URL may have parameters of the store's pool
	if err != nil {
		return nil, fmt.Errorf("read PostgreSQL address: %w", err)
	}
	if o.Password != "" {
		config.ConnConfig.Password = o.Password
	}
	config.ConnConfig.RuntimeParams["application_name"] = "muster lease"
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec // one round trip, also on a new connection
	return &lease{cell: o.Cell, config: config.ConnConfig}, nil
}

// commands returns the connection for commands. A connection whose command timed out
// has been closed.
func (l *lease) commands(ctx context.Context) (*pgx.Conn, error) {
	if l.conn != nil && !l.conn.IsClosed() {
		return l.conn, nil
	}
	conn, err := l.connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	l.conn = conn
	return conn, nil
}

// connect opens a connection to the first server of the URL that will do. Unless the URL limits
// it, each has an equal share of the time that is left, so that one that hangs leaves some for
// those after it.
func (l *lease) connect(ctx context.Context) (*pgx.Conn, error) {
	config := l.config.Copy()
	if until, ok := ctx.Deadline(); ok && config.ConnectTimeout == 0 {
		servers := map[string]bool{net.JoinHostPort(config.Host, fmt.Sprint(config.Port)): true}
		for _, f := range config.Fallbacks {
			servers[net.JoinHostPort(f.Host, fmt.Sprint(f.Port))] = true
		}
		config.ConnectTimeout = time.Until(until) / time.Duration(len(servers))
	}
	return pgx.ConnectConfig(ctx, config)
}

// insufficientPrivilege is the SQLSTATE of what the role may not do.
const insufficientPrivilege = "42501"

// migrate creates the tables where they are not there as this program needs them, which their
// owner alone may. The error says what to do if the role may not do that, or may not use them.
func (l *lease) migrate(ctx context.Context) error {
	conn, err := l.commands(ctx)
	if err != nil {
		return err
	}
	var role, database string
	var made, may bool
	err = conn.QueryRow(ctx, `SELECT quote_ident(current_user), quote_ident(current_database()),
			count(*) = 3, coalesce(bool_and(has_schema_privilege(relnamespace, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
				AND has_table_privilege(c.oid, 'INSERT') AND has_table_privilege(c.oid, 'UPDATE') AND has_table_privilege(c.oid, 'DELETE')), false)
		FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND NOT a.attisdropped
		WHERE relnamespace = to_regnamespace('muster') AND (relname, attname) IN (('lease', 'confirmed'), ('node', 'release'), ('presence', 'seen'))`,
		pgx.QueryExecModeExec).Scan(&role, &database, &made, &may)
	switch {
	case err != nil || made && may:
		return err
	case made:
		return fmt.Errorf("the role %[1]s may not use the tables of the schema muster: let their owner run GRANT USAGE ON SCHEMA muster TO %[1]s, "+
			"and GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA muster TO %[1]s", role)
	}
	err = l.makeTables(ctx, conn)
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && refused.Code == insufficientPrivilege {
		return fmt.Errorf("the role %[1]s may not create or extend the tables of the schema muster: run GRANT CREATE ON DATABASE %[2]s TO %[1]s, "+
			"and, if the schema is there, ALTER SCHEMA muster OWNER TO %[1]s, and ALTER TABLE … OWNER TO %[1]s for each of its tables, or connect as their owner: %[3]w", role, database, err)
	}
	return err
}

// makeTables creates the tables and their missing columns, in one transaction and one round trip.
func (l *lease) makeTables(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.PgConn().Exec(ctx, fmt.Sprintf("SELECT pg_advisory_xact_lock(%d)", int64(tableLock))+`;
		CREATE SCHEMA IF NOT EXISTS "muster";
		CREATE TABLE IF NOT EXISTS "muster"."lease" (
			"cell" text PRIMARY KEY, "epoch" bigint NOT NULL, "until" timestamptz NOT NULL,
			"node" text NOT NULL, "address" text NOT NULL, "certificate" text NOT NULL, "secret_check" text NOT NULL);
		ALTER TABLE "muster"."lease" ADD COLUMN IF NOT EXISTS "level" bigint NOT NULL DEFAULT 1, ADD COLUMN IF NOT EXISTS "release" text NOT NULL DEFAULT '',
			ADD COLUMN IF NOT EXISTS "confirmed" bigint NOT NULL DEFAULT 0;
		CREATE TABLE IF NOT EXISTS "muster"."node" (
			"cell" text, "node" text, "level" bigint NOT NULL, "seen" timestamptz NOT NULL, PRIMARY KEY ("cell", "node"));
		ALTER TABLE "muster"."node" ADD COLUMN IF NOT EXISTS "address" text NOT NULL DEFAULT '', ADD COLUMN IF NOT EXISTS "release" text NOT NULL DEFAULT '';
		CREATE TABLE IF NOT EXISTS "muster"."presence" (
			"cell" text, "node" text, "prefers" bool NOT NULL, "ready" bool NOT NULL, "seen" timestamptz NOT NULL, PRIMARY KEY ("cell", "node"))`).ReadAll()
	return err
}

// take takes the lease if it is free, has ended, or belongs to this node from before
// its restart, and this program knows the cell's feature level. It returns the lease's new
// epoch, or errTaken.
func (l *lease) take(ctx context.Context, n Node, ttl time.Duration) (epoch uint64, err error) {
	conn, err := l.commands(ctx)
	if err != nil {
		return 0, err
	}
	err = conn.QueryRow(ctx, `WITH taken AS (
			INSERT INTO "muster"."lease" AS l ("cell", "node", "address", "certificate", "secret_check", "epoch", "until")
			VALUES ($1, $2, $3, $4, $5, 1, clock_timestamp() + make_interval(secs => $6))
			ON CONFLICT ("cell") DO UPDATE SET "node" = excluded."node", "address" = excluded."address",
				"certificate" = excluded."certificate", "secret_check" = excluded."secret_check",
				"epoch" = l."epoch" + 1, "until" = excluded."until"
			WHERE (l."until" <= clock_timestamp() OR l."node" = excluded."node") AND l."level" <= $8
			RETURNING "epoch")
		SELECT "epoch" FROM taken, pg_notify($7, $1)`,
		l.cell, n.Name, n.Address, n.Certificate, n.Check, ttl.Seconds(), channel, int64(feature.Known())).Scan(&epoch)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, errTaken
	}
	return epoch, err
}

// renew extends a lease that was taken, tells the other nodes the last sequence that was
// confirmed, and returns the database's time. It returns
// errTaken if another node has taken it. A lease that has ended is renewed if nobody
// else took it. The update does not wait for the database's disk, so a slow disk
// changes no owner: if the database crashes and loses the update, the lease merely
// ends sooner.
func (l *lease) renew(ctx context.Context, n Node, epoch uint64, ttl time.Duration, confirmed uint64) (now time.Time, err error) {
	conn, err := l.commands(ctx)
	if err != nil {
		return now, err
	}
	err = conn.QueryRow(ctx, `UPDATE "muster"."lease" SET "until" = clock_timestamp() + make_interval(secs => $4), "confirmed" = greatest("confirmed", $5)
		FROM set_config('synchronous_commit', 'off', true)
		WHERE "cell" = $1 AND "node" = $2 AND "epoch" = $3 RETURNING clock_timestamp()`, l.cell, n.Name, int64(epoch), ttl.Seconds(), int64(confirmed)).Scan(&now)
	if errors.Is(err, pgx.ErrNoRows) {
		return now, errTaken
	}
	if err != nil && !conn.IsClosed() { // a server that is no longer primary refuses, and stays
		hangUp(conn)
	}
	return now, err
}

// release gives the lease back and notifies the other nodes.
func (l *lease) release(ctx context.Context, n Node, epoch uint64) error {
	conn, err := l.commands(ctx)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, `WITH given AS (
			UPDATE "muster"."lease" SET "until" = '-infinity' WHERE "cell" = $1 AND "node" = $2 AND "epoch" = $3 RETURNING 1)
		SELECT pg_notify($4, $1) FROM given`, l.cell, n.Name, int64(epoch), channel)
	return err
}

// read returns the current lease; if there never was one, only the time is set.
func (l *lease) read(ctx context.Context) (state, error) {
	conn, err := l.commands(ctx)
	if err != nil {
		return state{}, err
	}
	var s state
	var seconds float64
	asked := time.Now()
	o := &s.owner
	err = conn.QueryRow(ctx, `SELECT coalesce("node", ''), coalesce("address", ''), coalesce("certificate", ''), coalesce("secret_check", ''),
			coalesce("epoch", 0), CASE WHEN "until" > clock_timestamp() THEN extract(epoch FROM "until" - clock_timestamp())::float8 ELSE 0 END,
			clock_timestamp(), coalesce("level", 1), coalesce("release", ''), coalesce("confirmed", 0)
		FROM (SELECT 1) AS one LEFT JOIN "muster"."lease" ON "cell" = $1`, l.cell).
		Scan(&o.Name, &o.Address, &o.Certificate, &o.Check, &s.epoch, &seconds, &s.now, &s.level, &s.needs, &s.confirmed)
	s.left = time.Duration(seconds * float64(time.Second))
	s.ends = endOf(asked, time.Now(), s.left)
	return s, err
}

// endOf returns when to send a statement that shall find a lease ended, if an earlier
// statement, sent at asked, returned the remaining time. Both take about the same
// time to the database, so the way back does not count. An eighth of the round trip
// is added in case this statement is faster: one that arrives too early costs two
// round trips.
func endOf(asked, answered time.Time, left time.Duration) time.Time {
	return asked.Add(left + answered.Sub(asked)/8)
}

// wait returns when the lease may have changed since it was read, or after most.
func (l *lease) wait(ctx context.Context, most time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	switch anew, err := l.listen(ctx); {
	case err != nil:
		<-ctx.Done()
		return
	case anew: // earlier notifications were missed
		return
	}
	for {
		n, err := l.ear.WaitForNotification(ctx)
		if err != nil {
			if ctx.Err() == nil { // the connection broke
				l.deafen()
			}
			<-ctx.Done()
			return
		}
		if n.Payload == l.cell {
			return
		}
	}
}

// listen opens the connection for notifications unless it is open. It reports whether
// it opened one.
func (l *lease) listen(ctx context.Context) (anew bool, err error) {
	if l.ear != nil && !l.ear.IsClosed() {
		return false, nil
	}
	ear, err := l.connect(ctx)
	if err != nil {
		return false, err
	}
	l.ear = ear
	if _, err := ear.Exec(ctx, "LISTEN "+channel); err != nil {
		l.deafen()
		return false, err
	}
	return true, nil
}

// deafen closes the connection for notifications, which an owner does not need.
func (l *lease) deafen() {
	hangUp(l.ear)
	l.ear = nil
}

func (l *lease) close() {
	l.deafen()
	hangUp(l.conn)
}

// hangUp closes a connection, if there is one, without waiting long for its other
// end.
func hangUp(conn *pgx.Conn) {
	if conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	conn.Close(ctx)
}
