package postgres

import (
	"fmt"
	"strings"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/sqltext"
)

// insert is an upsert of rows passed as arrays, so that one prepared statement handles
// any number of rows. The arrays of keys, documents and columns come after the
// arguments that fixed and more use.
type insert struct {
	table   string
	fixed   []string // columns other than key and doc
	values  []string // their values; r is the row
	more    string   // another array, available as r.at
	columns []store.ColumnSchema
	live    bool // columns store NULL for ""
}

func (in insert) text() string {
	arg := len(in.fixed)
	next := func(kind string) string { arg++; return fmt.Sprintf("$%d::%s[]", arg, kind) }
	arrays, aliases := []string{next("text"), next("text")}, []string{"key", "doc"}
	names := append([]string{`"key"`, `"doc"`}, in.fixed...)
	picked := append([]string{"r.key", "r.doc::json"}, in.values...)
	for i, c := range in.columns {
		alias := fmt.Sprintf("c%d", i)
		arrays, aliases = append(arrays, next("text")), append(aliases, alias)
		names = append(names, sqltext.Quote(c.Name))
		if in.live {
			picked = append(picked, "nullif(r."+alias+", '')")
		} else {
			picked = append(picked, "r."+alias)
		}
	}
	if in.more != "" {
		arrays, aliases = append(arrays, in.more), append(aliases, "at")
	}
	return fmt.Sprintf(`INSERT INTO %s (%s) SELECT %s FROM unnest(%s) AS r(%s) ON CONFLICT ("key") DO UPDATE SET %s`,
		sqltext.Quote(in.table), strings.Join(names, ", "), strings.Join(picked, ", "),
		strings.Join(arrays, ", "), strings.Join(aliases, ", "), replaceAll(names[1:]))
}

func replaceAll(names []string) string {
	sets := make([]string, len(names))
	for i, name := range names {
		sets[i] = name + " = excluded." + name
	}
	return strings.Join(sets, ", ")
}
