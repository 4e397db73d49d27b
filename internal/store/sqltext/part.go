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

	packed    bool          // documents and columns are stored in fewer bytes
	retention time.Duration // of archives and logs
}

// parts lists the tables that store the cell's rows.
func (c Cell) parts() []part {
	var parts []part
	for i, t := range c.Schema.Tables {
		parts = append(parts, part{name: t.Name, place: store.Live, number: i, fixed: []string{"key", "doc", "seq"}, columns: t.Columns})
		if t.Retention > 0 {
			parts = append(parts, c.archives(i)...)
		}
	}
	for i := range c.Schema.Logs {
		parts = append(parts, c.logs(i)...)
	}
	return parts
}

// archives returns the tables of what is archived of a table.
func (c Cell) archives(table int) []part {
	t := c.Schema.Tables[table]
	plain := part{name: ArchiveOf(t.Name), place: store.Archive, number: table, columns: t.Columns, retention: t.Retention,
		fixed: []string{"key", "doc", "archived_at", "expires_at"}}
	packed := plain
	packed.name, packed.packed, packed.fixed = PackedOf(t.Name), true, []string{"key", "doc", "archived_at"}
	return c.existing(plain, packed)
}

// logs returns the tables of a log: all entries of the first come before those of the second.
func (c Cell) logs(log int) []part {
	l := c.Schema.Logs[log]
	plain := part{name: l.Name, place: store.LogPart, number: log, columns: l.Columns, retention: l.Retention, fixed: []string{"seq", "doc", "time"}}
	packed := plain
	packed.name, packed.packed = PackedOf(l.Name), true
	return c.existing(plain, packed)
}

func (c Cell) existing(plain, packed part) []part {
	if c.Missing[packed.name] {
		return []part{plain}
	}
	return []part{plain, packed}
}

// partOf returns the part that an item belongs to.
func partOf(parts []part, it store.Item) (part, error) {
	for _, p := range parts {
		if p.place == it.Place && p.number == it.Number && p.packed == it.Packed {
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
	if p.packed {
		return p.packedValues(it)
	}
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

func (p part) packedValues(it store.Item) []any {
	values := []any{int64(it.Seq), Pack("", it.Doc), Millis(it.Time)}
	if p.place == store.Archive {
		values = []any{Escape(it.Key), Pack(it.Key, it.Doc), Millis(it.Time)}
	}
	return AppendColumns(values, Brief(it.Columns, p.columns), false)
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
	it := store.Item{Place: p.place, Number: p.number, Packed: p.packed}
	var doc []byte
	var first, second int64
	var into []any
	switch {
	case p.place == store.Live, p.place == store.Archive && p.packed:
		into = []any{&it.Key, &doc, &first}
	case p.place == store.Archive:
		into = []any{&it.Key, &doc, &first, &second}
	case p.place == store.LogPart:
		into = []any{&second, &doc, &first}
	}
	values := make([]sql.NullString, len(p.columns))
	for i := range values {
		into = append(into, &values[i])
	}
	if err := row.Scan(into...); err != nil {
		return it, err
	}
	it.Key, it.Doc = Unescape(it.Key), doc
	if p.packed {
		var err error
		if it.Doc, err = pack.Unpack(doc, it.Key); err != nil {
			return it, fmt.Errorf("%q %d: %w", it.Key, second, err)
		}
	}
	switch p.place {
	case store.Live:
		it.Seq = uint64(first)
	case store.Archive:
		it.Time, it.Expires = Moment(first), Moment(second)
		if p.packed {
			it.Expires = it.Time.Add(p.retention)
		}
	case store.LogPart:
		it.Seq, it.Time = uint64(second), Moment(first)
	}
	for _, v := range values {
		it.Columns = append(it.Columns, Unescape(v.String))
	}
	return it, nil
}
