package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/musterhq/muster/internal/feature"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/sqltext"
)

// Take stores owner in the fence, if this program knows the cell's feature level. In the
// same query it reads that level and which columns all rows have.
func (db *db) Take(ctx context.Context, owner string) (store.Fence, error) {
	return again(func() (store.Fence, error) {
		fence := store.Fence{Owner: owner}
		var settled string
		err := db.writer.QueryRow(ctx, `WITH taken AS (
				INSERT INTO "muster_cell" AS c ("name", "owner", "epoch", "seq", "now")
				SELECT $1, $2, 1, 0, 0 FROM "muster_schema" WHERE "version" <= $3
				ON CONFLICT ("name") DO UPDATE SET "owner" = excluded."owner", "epoch" = c."epoch" + 1 RETURNING "epoch", "seq")
			SELECT "epoch", "seq", "version", "columns" FROM taken, "muster_schema"`,
			pgx.QueryExecModeExec, db.Name, owner, int64(feature.Known())).Scan(&fence.Epoch, &fence.Seq, &db.level, &settled)
		if errors.Is(err, pgx.ErrNoRows) {
			_, err = db.Cell.Level(query(ctx, db.reader))
		}
		if err == nil {
			db.settled = &settled
			db.parted.hold(fence)
		}
		return fence, err
	})
}

// Renew moves the owner's fence to the next epoch. The row lock makes it wait for a
// commit that lost its client and may still be running.
func (db *db) Renew(ctx context.Context, owner string) (store.Fence, error) {
	writer := query(ctx, db.writer)
	fence, err := db.Cell.Renew(func(row func(sqltext.Row) error, text string, args ...any) error {
		return classify(writer(row, text, args...))
	}, owner)
	if err == nil {
		db.parted.hold(fence)
	}
	return fence, err
}

// Commit sends the batch as one pipeline, which PostgreSQL runs as one transaction: its
// first statement divides by the number of fence rows that it updated, so a stale fence
// aborts everything.
func (db *db) Commit(ctx context.Context, b *store.Batch) error {
	conn, err := db.writer.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", store.ErrTransient, err)
	}
	defer conn.Release()
	err = db.commit(ctx, conn.Conn(), b, 0)
	for try := 1; otherPartitions(err) && try <= mostTries; try++ {
		err = db.commit(ctx, conn.Conn(), b, try)
	}
	if isReadOnly(err) {
		conn.Conn().Close(ctx) // another server may be the primary now
	}
	return err
}

// mostTries bounds how often one commit may find other partitions than it had just read.
const mostTries = 10

// commit tries to commit a batch. After an error it is not certain which partitions there are.
func (db *db) commit(ctx context.Context, conn *pgx.Conn, b *store.Batch, try int) error {
	lacks, err := db.need(query(ctx, conn), b)
	if err != nil {
		return beforeCommit(err)
	}
	if try > 1 {
		lacks.rename(try)
	}
	err = classify(db.statements(b, lacks).run(ctx, conn))
	if err != nil {
		db.parted.forget()
		return err
	}
	db.parted.made(lacks)
	return nil
}

// beforeCommit classifies an error from before anything was sent that could commit.
func beforeCommit(err error) error {
	if classified := classify(err); !errors.Is(classified, store.ErrInDoubt) {
		return classified
	}
	return fmt.Errorf("%w: %w", store.ErrTransient, err)
}

// statements returns what a commit runs. lacks are the partitions that it creates.
func (db *db) statements(b *store.Batch, lacks partitions) *statements {
	p := &statements{}
	p.queue(`WITH moved AS (UPDATE "muster_cell" SET "seq" = $1, "now" = $2
		WHERE "name" = $3 AND "owner" = $4 AND "epoch" = $5 AND "seq" = $6 RETURNING 1)`+tellCommit+` SELECT 1 / count(*) FROM moved`,
		int64(b.Seq), sqltext.Millis(b.Now), db.Name, b.Fence.Owner, int64(b.Fence.Epoch), int64(b.Fence.Seq), newMark(), db.changedKeys(b))
	lacks.queueMissing(p)
	for _, tb := range b.Tables {
		db.queueTable(p, tb, b.Seq)
	}
	for _, lb := range b.Logs {
		db.queueLog(p, lb)
	}
	return p
}

func (db *db) queueTable(p *statements, tb store.TableBatch, seq uint64) {
	t := db.Schema.Tables[tb.Table]
	if len(tb.Deletes) > 0 {
		keys := make([]string, len(tb.Deletes))
		for i, key := range tb.Deletes {
			keys[i] = sqltext.Escape(key)
		}
		p.queue(`DELETE FROM `+sqltext.Quote(t.Name)+` WHERE "key" = ANY($1::text[])`, keys)
	}
	if len(tb.Puts) > 0 {
		p.queue(putText(t), append([]any{int64(seq)}, arrays(tb.Puts, t.Columns)...)...)
	}
	if len(tb.Archives) > 0 {
		queueArchives(p, t, tb.Archives)
	}
}

// queueArchives archives rows. Rows with the same keys may have been archived before, in any
// partition.
func queueArchives(p *statements, t store.TableSchema, rows []store.StoredRow) {
	keys, again := make([]string, len(rows)), []string(nil)
	docs, at := make([][]byte, len(rows)), make([]int64, len(rows))
	for i, row := range rows {
		keys[i], docs[i], at[i] = sqltext.Escape(row.Key), sqltext.Pack(row.Key, row.Doc), sqltext.Millis(row.Time)
		if !row.New {
			again = append(again, keys[i])
		}
	}
	if len(again) > 0 {
		p.queue(`DELETE FROM `+sqltext.Quote(sqltext.ArchiveOf(t.Name))+` WHERE "key" = ANY($1::text[])`, again)
	}
	p.queue(packedText(sqltext.ArchiveOf(t.Name), `"key", "doc", "archived_at"`, []string{"text", "bytea", "bigint"}, t.Columns),
		append([]any{keys, docs, at}, briefArrays(len(rows), t.Columns, func(i int) []string { return rows[i].Columns })...)...)
}

// packedText returns an INSERT of rows given as arrays: of the columns that have kinds, and
// then of the columns of the schema.
func packedText(table, names string, kinds []string, columns []store.ColumnSchema) string {
	marks := make([]string, 0, len(kinds)+len(columns))
	for i := range cap(marks) {
		kind := "text"
		if i < len(kinds) {
			kind = kinds[i]
		}
		marks = append(marks, fmt.Sprintf("$%d::%s[]", i+1, kind))
	}
	return fmt.Sprintf(`INSERT INTO %s (%s) SELECT * FROM unnest(%s)`, sqltext.Quote(table), names+sqltext.Names(columns), strings.Join(marks, ", "))
}

// briefArrays returns the values of each column of n rows as arrays, as they are stored beside
// packed documents. values returns the columns of the i-th row.
func briefArrays(n int, columns []store.ColumnSchema, values func(i int) []string) []any {
	args := make([]any, len(columns))
	for c, column := range columns {
		list := make([]string, n)
		for i := range list {
			list[i] = sqltext.Escape(column.Brief(values(i)[c]))
		}
		args[c] = list
	}
	return args
}

// arrays returns the keys, the documents and the values of each column of rows as
// arrays.
func arrays(rows []store.StoredRow, columns []store.ColumnSchema) []any {
	lists := make([][]string, 2+len(columns))
	for i := range lists {
		lists[i] = make([]string, len(rows))
	}
	for i, row := range rows {
		lists[0][i], lists[1][i] = sqltext.Escape(row.Key), sqltext.Doc(row.Doc)
		for c := range columns {
			lists[2+c][i] = sqltext.Escape(row.Columns[c])
		}
	}
	args := make([]any, len(lists))
	for i, list := range lists {
		args[i] = list
	}
	return args
}

func (db *db) queueLog(p *statements, lb store.LogBatch) {
	l := db.Schema.Logs[lb.Log]
	p.queue(sqltext.SetLast, l.Name, int64(lb.Last()))
	seqs, times, docs := make([]int64, len(lb.Entries)), make([]int64, len(lb.Entries)), make([][]byte, len(lb.Entries))
	for i, e := range lb.Entries {
		seqs[i], times[i], docs[i] = int64(e.Seq), sqltext.Millis(e.Time), sqltext.Pack("", e.Doc)
	}
	p.queue(packedText(l.Name, `"seq", "time", "doc"`, []string{"bigint", "bigint", "bytea"}, l.Columns),
		append([]any{seqs, times, docs}, briefArrays(len(lb.Entries), l.Columns, func(i int) []string { return lb.Entries[i].Columns })...)...)
}
