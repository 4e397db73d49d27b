package sqltext

import (
	"database/sql"
	"fmt"
	"strings"

	"github.com/musterhq/muster/internal/store"
)

// part is one SQL table as a dump reads or writes it.
type part struct {
	name    string
	place   store.Place
	number  int
	fixed   []string
	columns []store.ColumnSchema
}

// partsOf lists the tables that store a schema's rows.
func partsOf(schema store.Schema) []part {
	var parts []part
	for i, t := range schema.Tables {
		parts = append(parts, part{t.Name, store.Live, i, []string{"key", "doc", "seq"}, t.Columns})
		if t.Retention > 0 {
			parts = append(parts, part{ArchiveOf(t.Name), store.Archive, i, []string{"key", "doc", "archived_at", "expires_at"}, t.Columns})
		}
	}
	for i, l := range schema.Logs {
		parts = append(parts, part{l.Name, store.LogPart, i, []string{"seq", "doc", "time"}, l.Columns})
	}
	return parts
}

// partOf returns the part that an item belongs to.
func partOf(parts []part, it store.Item) (part, error) {
	for _, p := range parts {
		if p.place == it.Place && p.number == it.Number {
			return p, nil
		}
	}
	return part{}, fmt.Errorf("the schema has no %s part %d", it.Place, it.Number)
}

func (p part) names() string { return `"` + strings.Join(p.fixed, `", "`) + `"` + Names(p.columns) }

// selection returns a query of all rows in the order of their keys.
func (p part) selection() string {
	return "SELECT " + p.names() + " FROM " + Quote(p.name) + " ORDER BY " + Quote(p.fixed[0])
}

// first returns a query that yields a row if there are any.
func (p part) first() string { return "SELECT 1 FROM " + Quote(p.name) + " LIMIT 1" }

// insert returns a statement that adds a row of values.
func (p part) insert() string {
	marks := make([]string, len(p.fixed)+len(p.columns))
	for i := range marks {
		marks[i] = mark(i + 1)
	}
	return "INSERT INTO " + Quote(p.name) + " (" + p.names() + ") VALUES (" + strings.Join(marks, ", ") + ")"
}

// setColumns returns a statement that sets the columns of the row with a key; "" if
// there are none.
func (p part) setColumns() string {
	if len(p.columns) == 0 {
		return ""
	}
	sets := make([]string, len(p.columns))
	for i, c := range p.columns {
		sets[i] = Quote(c.Name) + " = " + mark(i+2)
	}
	return "UPDATE " + Quote(p.name) + " SET " + strings.Join(sets, ", ") + " WHERE " + Quote(p.fixed[0]) + " = " + mark(1)
}

// columnValues returns an item's key and columns in the order of setColumns.
func (p part) columnValues(it store.Item) []any {
	values := p.values(it)
	return append([]any{values[0]}, values[len(p.fixed):]...)
}

// values returns an item's values in the order of insert.
func (p part) values(it store.Item) []any {
	var values []any
	switch p.place {
	case store.Live:
		values = []any{Escape(it.Key), Doc(it.Doc), int64(it.Seq)}
	case store.Archive:
		values = []any{Escape(it.Key), Doc(it.Doc), Millis(it.Time), Millis(it.Expires)}
	case store.LogPart:
		values = []any{int64(it.Seq), Doc(it.Doc), Millis(it.Time)}
	}
	return AppendColumns(values, it.Columns, p.place == store.Live)
}

// AppendColumns appends the columns of a row to its values. In live rows NULL replaces "",
// which unique indexes ignore.
func AppendColumns(values []any, columns []string, live bool) []any {
	for _, v := range columns {
		if v == "" && live {
			values = append(values, nil)
		} else {
			values = append(values, Escape(v))
		}
	}
	return values
}

// scan reads an item from a row of selection.
func (p part) scan(row Row) (store.Item, error) {
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
