package sqltext

import (
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/pack"
)

// part is one SQL table as a dump reads or writes it.
type part struct {
	name    string
	place   store.Place
	number  int
	fixed   []string
	columns []store.ColumnSchema

	retention time.Duration // of archives and logs
}

// parts lists the tables that store the cell's rows.
func (c Cell) parts() []part {
	var parts []part
	for i, t := range c.Schema.Tables {
		parts = append(parts, part{name: t.Name, place: store.Live, number: i, fixed: []string{"key", "doc", "seq"}, columns: t.Columns})
		if t.Retention > 0 {
			parts = append(parts, c.archive(i))
		}
	}
	for i := range c.Schema.Logs {
		parts = append(parts, c.log(i))
	}
	return parts
}

// archive returns the table of what is archived of a table.
func (c Cell) archive(table int) part {
	t := c.Schema.Tables[table]
	return part{name: ArchiveOf(t.Name), place: store.Archive, number: table, columns: t.Columns, retention: t.Retention,
		fixed: []string{"key", "doc", "archived_at"}}
}

// log returns the table of a log.
func (c Cell) log(log int) part {
	l := c.Schema.Logs[log]
	return part{name: l.Name, place: store.LogPart, number: log, columns: l.Columns, retention: l.Retention, fixed: []string{"seq", "doc", "time"}}
}

// packed reports whether documents and columns are stored in fewer bytes: those of what has ended.
func (p part) packed() bool { return p.place != store.Live }

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
	switch p.place {
	case store.Live:
		return AppendColumns([]any{Escape(it.Key), Doc(it.Doc), int64(it.Seq)}, it.Columns, true)
	case store.Archive:
		return AppendColumns([]any{Escape(it.Key), Pack(it.Key, it.Doc), Millis(it.Time)}, Brief(it.Columns, p.columns), false)
	default:
		return AppendColumns([]any{int64(it.Seq), Pack("", it.Doc), Millis(it.Time)}, Brief(it.Columns, p.columns), false)
	}
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
	var doc []byte
	var third int64
	into := []any{&it.Key, &doc, &third}
	if p.place == store.LogPart {
		into[0] = &it.Seq
	}
	values := make([]sql.NullString, len(p.columns))
	for i := range values {
		into = append(into, &values[i])
	}
	if err := row.Scan(into...); err != nil {
		return it, err
	}
	it.Key, it.Doc = Unescape(it.Key), doc
	if p.packed() {
		var err error
		if it.Doc, err = pack.Unpack(doc, it.Key); err != nil {
			return it, fmt.Errorf("%q %d: %w", it.Key, it.Seq, err)
		}
	}
	switch p.place {
	case store.Live:
		it.Seq = uint64(third)
	case store.Archive:
		it.Time = Moment(third)
		it.Expires = it.Time.Add(p.retention)
	case store.LogPart:
		it.Time = Moment(third)
	}
	for _, v := range values {
		it.Columns = append(it.Columns, Unescape(v.String))
	}
	return it, nil
}
