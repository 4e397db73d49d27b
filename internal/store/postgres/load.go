package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/sqltext"
)

// Load reads all live rows. It sends all queries together, so it takes one round trip
// plus the time to transfer the rows. If the connection turns out to be broken before
// the first row, Load retries with another.
func (db *db) Load(ctx context.Context, row func(table int, key string, doc []byte) error) (store.State, error) {
	l := &loading{db: db, row: row}
	for try := 0; ; try++ {
		state, err := l.run(ctx)
		switch {
		case err == nil:
			return state, nil
		case !l.lost:
			return state, err
		case l.begun || try == readers || ctx.Err() != nil:
			return state, fmt.Errorf("%w: %w", store.ErrTransient, err)
		}
	}
}

// loading is the state of one Load.
type loading struct {
	db    *db
	row   func(table int, key string, doc []byte) error
	begun bool // rows were passed to row
	lost  bool // the last attempt lost its connection
}

func (l *loading) run(ctx context.Context) (store.State, error) {
	l.lost = false
	conn, err := l.db.reader.Acquire(ctx)
	if err != nil {
		l.lost = true
		return store.State{}, err
	}
	defer conn.Release()
	state, err := l.read(ctx, conn)
	if err != nil {
		l.lost = conn.Conn().IsClosed()
		conn.Conn().Close(context.WithoutCancel(ctx)) // it may be inside the transaction
	}
	return state, err
}

func (l *loading) read(ctx context.Context, conn *pgxpool.Conn) (store.State, error) {
	results := conn.Conn().PgConn().ExecBatch(ctx, l.questions())
	defer results.Close()
	if err := each(results, nil); err != nil { // BEGIN
		return store.State{}, err
	}
	for i, t := range l.db.Schema.Tables {
		err := each(results, func(values [][]byte) error {
			l.begun = true
			return l.row(i, sqltext.Unescape(string(values[0])), bytes.Clone(values[1]))
		})
		if err != nil {
			return store.State{}, fmt.Errorf("read %s: %w", t.Name, err)
		}
	}
	state, err := l.db.readState(results)
	return state, errors.Join(err, results.Close())
}

// questions returns the queries of a Load, within one transaction.
func (l *loading) questions() *pgconn.Batch {
	batch := &pgconn.Batch{}
	ask := func(text string) { batch.ExecParams(text, nil, nil, nil, nil) }
	ask("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
	for _, t := range l.db.Schema.Tables {
		ask(`SELECT "key", "doc" FROM ` + sqltext.Quote(t.Name) + ` ORDER BY "key"`)
	}
	l.db.askState(batch)
	ask("COMMIT")
	return batch
}

// askState adds the queries that readState reads.
func (db *db) askState(batch *pgconn.Batch) {
	batch.ExecParams(`SELECT "owner", "epoch", "seq", "now", coalesce((SELECT "mark" FROM "muster_commit" AS m WHERE m."seq" = c."seq"), 0)
		FROM "muster_cell" AS c WHERE "name" = $1`,
		[][]byte{[]byte(db.Name)}, nil, nil, nil)
	batch.ExecParams(`SELECT "name", "last" FROM "muster_log"`, nil, nil, nil, nil)
}

// readState reads the fence and the logs' last numbers; for a cell without an owner so far
// they are zero.
func (db *db) readState(results *pgconn.MultiResultReader) (store.State, error) {
	var state store.State
	err := each(results, func(values [][]byte) (err error) {
		state.Fence.Owner = string(values[0])
		var now uint64
		for i, to := range []*uint64{&state.Fence.Epoch, &state.Fence.Seq, &now, &state.Mark} {
			*to, err = number(values[1+i], err)
		}
		state.Now = sqltext.Moment(int64(now))
		return err
	})
	if err != nil {
		return state, fmt.Errorf("read fence: %w", err)
	}
	last := map[string]uint64{}
	err = each(results, func(values [][]byte) (err error) {
		last[string(values[0])], err = number(values[1], nil)
		return err
	})
	if err != nil {
		return state, fmt.Errorf("read last numbers of logs: %w", err)
	}
	state.Last = make([]uint64, len(db.Schema.Logs))
	for i, log := range db.Schema.Logs {
		state.Last[i] = last[log.Name]
	}
	return state, nil
}

func number(text []byte, before error) (uint64, error) {
	n, err := strconv.ParseUint(string(text), 10, 64)
	return n, errors.Join(before, err)
}

// each calls f for each row of the next result. The values are only valid during the
// call.
func each(results *pgconn.MultiResultReader, f func(values [][]byte) error) error {
	if !results.NextResult() {
		if err := results.Close(); err != nil {
			return err
		}
		return errors.New("an answer is missing")
	}
	answer := results.ResultReader()
	for answer.NextRow() {
		if err := f(answer.Values()); err != nil {
			return err
		}
	}
	_, err := answer.Close()
	return err
}
