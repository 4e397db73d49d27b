package store

import (
	"context"
	"fmt"
	"slices"
)

// Query selects archived rows of a table.
type Query struct {
	Where   []Eq     // all must hold
	Keys    []string // only rows with one of these keys, at most 1000; nil: any
	OrderBy string   // a column's name or "key"; "" is "key". Ties are ordered by key
	From    string   // bounds of the OrderBy column: From <= x < To, "" is open
	To      string

	// AfterOrder and AfterKey continue strictly after a row, given by its value of
	// the OrderBy column and its key. AfterKey "" starts at the beginning.
	AfterOrder, AfterKey string

	Desc  bool
	Limit int // 1 to 1000
}

// Eq selects rows whose column (or "key") has the value.
type Eq struct{ Column, Value string }

// maxLimit is how many rows one query may load into memory.
const maxLimit = 1000

// Archived reads ended rows from SQL. A row appears there once the command that
// archived it is durable, and until the table's retention has passed. Looking up keys that
// are not there usually needs no query.
func (t *Table[V]) Archived(ctx context.Context, q Query) ([]*V, error) {
	found, err := t.core.archived(ctx, q)
	if err != nil {
		return nil, err
	}
	rows := make([]*V, len(found))
	for i, row := range found {
		rows[i] = typed[V](row)
	}
	return rows, nil
}

func (t *table) archived(ctx context.Context, q Query) ([]any, error) {
	if t.retention <= 0 {
		return nil, fmt.Errorf("read archive of %s: the table keeps none", t.label)
	}
	if q.OrderBy == "" {
		q.OrderBy = "key"
	}
	if err := checkQuery(q.Limit, q.Where, q.OrderBy, t.fields); err != nil {
		return nil, fmt.Errorf("read archive of %s: %w", t.label, err)
	}
	if len(q.Keys) > maxLimit {
		return nil, fmt.Errorf("read archive of %s: %d keys; at most %d are allowed", t.label, len(q.Keys), maxLimit)
	}
	if t.narrow(&q) {
		return nil, nil
	}
	docs, err := ask(ctx, t.store, func(ctx context.Context, db DB) ([][]byte, error) { return db.Archived(ctx, t.number, q) })
	if err != nil {
		return nil, fmt.Errorf("read archive of %s: %w", t.label, err)
	}
	rows := make([]any, len(docs))
	for i, doc := range docs {
		if rows[i], err = t.decode(doc); err != nil {
			return nil, fmt.Errorf("decode archived %s: %w", t.label, err)
		}
	}
	return rows, nil
}

// checkQuery keeps unknown column names out of SQL.
func checkQuery(limit int, where []Eq, orderBy string, columns []ColumnSchema) error {
	if limit < 1 || limit > maxLimit {
		return fmt.Errorf("limit %d is not within 1 and %d", limit, maxLimit)
	}
	known := map[string]bool{"": true, "key": orderBy != ""}
	for _, c := range columns {
		known[c.Name] = true
	}
	if !known[orderBy] || slices.ContainsFunc(columns, func(c ColumnSchema) bool { return c.Digest && c.Name == orderBy }) {
		return fmt.Errorf("no column %q to order by", orderBy)
	}
	for _, eq := range where {
		if eq.Column == "" || !known[eq.Column] {
			return fmt.Errorf("no column %q to select by", eq.Column)
		}
	}
	return nil
}
