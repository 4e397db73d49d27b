package sqltext

import (
	"fmt"
	"strings"

	"github.com/musterhq/muster/internal/store"
)

// SQLTable is a table that must exist: it is created if it is missing, otherwise its
// missing columns are added; then it is indexed.
type SQLTable struct {
	Name    string
	Create  string            // CREATE TABLE IF NOT EXISTS …
	Columns map[string]string // name → type, for ALTER TABLE … ADD COLUMN
	Indexes []string          // CREATE INDEX IF NOT EXISTS …
}

// System returns statements that create the tables of the drivers themselves.
func (d Dialect) System() []string {
	return []string{
		fmt.Sprintf(`CREATE TABLE IF NOT EXISTS "muster_schema" ("version" %s NOT NULL, "columns" %s NOT NULL)`, d.Int, d.Text),
		fmt.Sprintf(`CREATE TABLE IF NOT EXISTS "muster_release" ("level" %s PRIMARY KEY, "release" %s NOT NULL)`, d.Int, d.Text),
		fmt.Sprintf(`CREATE TABLE IF NOT EXISTS "muster_cell" ("name" %s PRIMARY KEY, "owner" %s NOT NULL, "epoch" %s NOT NULL, "seq" %s NOT NULL, "now" %s NOT NULL)`,
			d.Text, d.Text, d.Int, d.Int, d.Int),
		fmt.Sprintf(`CREATE TABLE IF NOT EXISTS "muster_log" ("name" %s PRIMARY KEY, "last" %s NOT NULL)`, d.Text, d.Int),
	}
}

// Tables lists the tables of a schema.
func (d Dialect) Tables(schema store.Schema) []SQLTable {
	var tables []SQLTable
	for _, t := range schema.Tables {
		tables = append(tables, d.live(t))
		if t.Retention > 0 {
			tables = append(tables, d.archive(t))
		}
	}
	for _, l := range schema.Logs {
		tables = append(tables, d.log(l))
	}
	return tables
}

func (d Dialect) live(t store.TableSchema) SQLTable {
	fixed := fmt.Sprintf(`"key" %s PRIMARY KEY, "doc" %s NOT NULL, "seq" %s NOT NULL`, d.Text, d.Doc, d.Int)
	table := newTable(t.Name, fixed, t.Columns, d.Text)
	for _, c := range t.Columns {
		if c.Unique {
			table.Indexes = append(table.Indexes, fmt.Sprintf(`CREATE UNIQUE INDEX IF NOT EXISTS %s ON %s (%s) WHERE %s IS NOT NULL`,
				Quote(t.Name+"_"+c.Name+"_unique"), Quote(t.Name), Quote(c.Name), Quote(c.Name)))
		}
	}
	return table
}

// archive is the table of archived rows.
func (d Dialect) archive(t store.TableSchema) SQLTable {
	table := d.packed(ArchiveOf(t.Name), "key", d.Text, "archived_at", t.Columns)
	if !d.Parted {
		table.index("archived_at")
	}
	for _, c := range t.Columns {
		if c.Digest { // few rows have one value: they need not be in order
			table.index(c.Name)
		} else {
			table.index(c.Name, "key")
		}
	}
	return table
}

func (d Dialect) log(l store.LogSchema) SQLTable {
	table := d.packed(l.Name, "seq", d.Int, "time", l.Columns)
	for _, c := range l.Columns {
		table.indexSome(c.Name, "seq")
	}
	return table
}

// packed returns a table of packed documents with a key and a time. Those with partitions cannot have a primary
// key that lacks the time.
func (d Dialect) packed(name, key, kind, at string, columns []store.ColumnSchema) SQLTable {
	unique, parted := "PRIMARY KEY", ""
	if d.Parted {
		unique, parted = "NOT NULL", fmt.Sprintf(" PARTITION BY RANGE (%s)", Quote(at))
	}
	fixed := fmt.Sprintf(`%s %s %s, %s %s NOT NULL, "doc" %s NOT NULL`, Quote(key), kind, unique, Quote(at), d.Int, d.Bytes)
	table := newTable(name, fixed, columns, d.Text+` NOT NULL DEFAULT ''`)
	table.Create += parted
	if d.Parted {
		table.index(key)
	}
	return table
}

// indexSome indexes the rows that have a value in the first column; most events have
// none in most columns.
func (t *SQLTable) indexSome(column, then string) {
	t.Indexes = append(t.Indexes, fmt.Sprintf(`CREATE INDEX IF NOT EXISTS %s ON %s (%s, %s) WHERE %s <> ''`,
		Quote(t.Name+"_with_"+column), Quote(t.Name), Quote(column), Quote(then), Quote(column)))
}

func newTable(name, fixed string, columns []store.ColumnSchema, columnType string) SQLTable {
	t := SQLTable{Name: name, Columns: map[string]string{}}
	var b strings.Builder
	b.WriteString(fixed)
	for _, c := range columns {
		t.Columns[c.Name] = columnType
		b.WriteString(", " + Quote(c.Name) + " " + columnType)
	}
	t.Create = fmt.Sprintf(`CREATE TABLE IF NOT EXISTS %s (%s)`, Quote(name), &b)
	return t
}

func (t *SQLTable) index(columns ...string) {
	quoted := make([]string, len(columns))
	for i, c := range columns {
		quoted[i] = Quote(c)
	}
	t.Indexes = append(t.Indexes, fmt.Sprintf(`CREATE INDEX IF NOT EXISTS %s ON %s (%s)`,
		Quote(t.Name+"_by_"+columns[0]), Quote(t.Name), strings.Join(quoted, ", ")))
}
