package sqltext

import (
	"database/sql"
	"fmt"
	"strings"

	"github.com/musterhq/muster/internal/store"
)

// Part is one SQL table as a dump reads or writes it.
type Part struct {
	Name    string
	place   store.Place
	number  int
	fixed   []string
	columns []store.ColumnSchema
}

// Parts lists the tables that store a schema's rows.
func Parts(schema store.Schema) []Part {
	var parts []Part
	for i, t := range schema.Tables {
		parts = append(parts, Part{t.Name, store.Live, i, []string{"key", "doc", "seq"}, t.Columns})
		if t.Retention > 0 {
			parts = append(parts, Part{ArchiveOf(t.Name), store.Archive, i, []string{"key", "doc", "archived_at", "expires_at"}, t.Columns})
		}
	}
	for i, l := range schema.Logs {
		parts = append(parts, Part{l.Name, store.LogPart, i, []string{"seq", "doc", "time"}, l.Columns})
	}
	return parts
}

// PartOf returns the part that an item belongs to.
func PartOf(parts []Part, it store.Item) (Part, error) {
	for _, p := range parts {
		if p.place == it.Place && p.number == it.Number {
			return p, nil
		}
	}
	return Part{}, fmt.Errorf("the schema has no %s part %d", it.Place, it.Number)
}

func (p Part) names() string { return `"` + strings.Join(p.fixed, `", "`) + `"` + Names(p.columns) }

// Select returns a query of all rows in the order of their keys.
func (p Part) Select() string {
	return "SELECT " + p.names() + " FROM " + Quote(p.Name) + " ORDER BY " + Quote(p.fixed[0])
}

// Any returns a query that yields 1 if there are rows and 0 otherwise.
func (p Part) Any() string {
	return "SELECT count(*) FROM (SELECT 1 FROM " + Quote(p.Name) + " LIMIT 1) AS found"
}

// Insert returns a statement that adds a row of Values.
func (p Part) Insert(d Dialect) string {
	marks := make([]string, len(p.fixed)+len(p.columns))
	for i := range marks {
		marks[i] = d.Mark(i + 1)
	}
	return "INSERT INTO " + Quote(p.Name) + " (" + p.names() + ") VALUES (" + strings.Join(marks, ", ") + ")"
}

// SetColumns returns a statement that sets the columns of the row with a key; "" if
// there are none.
func (p Part) SetColumns(d Dialect) string {
	if len(p.columns) == 0 {
		return ""
	}
	sets := make([]string, len(p.columns))
	for i, c := range p.columns {
		sets[i] = Quote(c.Name) + " = " + d.Mark(i+2)
	}
	return "UPDATE " + Quote(p.Name) + " SET " + strings.Join(sets, ", ") + " WHERE " + Quote(p.fixed[0]) + " = " + d.Mark(1)
}

// ColumnValues returns an item's key and columns in the order of SetColumns.
func (p Part) ColumnValues(it store.Item) []any {
	values := p.Values(it)
	return append([]any{values[0]}, values[len(p.fixed):]...)
}

// Values returns an item's values in the order of Insert.
func (p Part) Values(it store.Item) []any {
	var values []any
	switch p.place {
	case store.Live:
		values = []any{Escape(it.Key), string(it.Doc), int64(it.Seq)}
	case store.Archive:
		values = []any{Escape(it.Key), string(it.Doc), Millis(it.Time), Millis(it.Expires)}
	case store.LogPart:
		values = []any{int64(it.Seq), string(it.Doc), Millis(it.Time)}
	}
	for _, v := range it.Columns {
		if v == "" && p.place == store.Live {
			values = append(values, nil)
		} else {
			values = append(values, Escape(v))
		}
	}
	return values
}

// Scan reads an item from a row of Select.
func (p Part) Scan(row interface{ Scan(...any) error }) (store.Item, error) {
	it := store.Item{Place: p.place, Number: p.number}
	var doc string
	var first, second int64
	var into []any
	switch p.place {
	case store.Live:
		into = []any{&it.Key, &doc, &first}
	case store.Archive:
		into = []any{&it.Key, &doc, &first, &second}
	case store.LogPart:
		into = []any{&second, &doc, &first}
	}
	values := make([]sql.NullString, len(p.columns))
	for i := range values {
		into = append(into, &values[i])
	}
	if err := row.Scan(into...); err != nil {
		return it, err
	}
	it.Key, it.Doc = Unescape(it.Key), []byte(doc)
	switch p.place {
	case store.Live:
		it.Seq = uint64(first)
	case store.Archive:
		it.Time, it.Expires = Moment(first), Moment(second)
	case store.LogPart:
		it.Seq, it.Time = uint64(second), Moment(first)
	}
	for _, v := range values {
		it.Columns = append(it.Columns, Unescape(v.String))
	}
	return it, nil
}
