package postgres

import (
	"fmt"
	"strings"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/sqltext"
)

// putText returns an upsert of live rows passed as arrays, so that one prepared statement handles
// any number of rows. $1 is the sequence; the arrays of keys, documents and columns come after it.
func putText(t store.TableSchema) string {
	arrays, aliases := []string{"$2::text[]", "$3::text[]"}, []string{"key", "doc"}
	names, picked := []string{`"key"`, `"doc"`, `"seq"`}, []string{"r.key", "r.doc::json", "$1"}
	for i, c := range t.Columns {
		alias := fmt.Sprintf("c%d", i)
		arrays, aliases = append(arrays, fmt.Sprintf("$%d::text[]", i+4)), append(aliases, alias)
		names, picked = append(names, sqltext.Quote(c.Name)), append(picked, "nullif(r."+alias+", '')")
	}
	return fmt.Sprintf(`INSERT INTO %s (%s) SELECT %s FROM unnest(%s) AS r(%s) ON CONFLICT ("key") DO UPDATE SET %s`,
		sqltext.Quote(t.Name), strings.Join(names, ", "), strings.Join(picked, ", "),
		strings.Join(arrays, ", "), strings.Join(aliases, ", "), replaceAll(names[1:]))
}

func replaceAll(names []string) string {
	sets := make([]string, len(names))
	for i, name := range names {
		sets[i] = name + " = excluded." + name
	}
	return strings.Join(sets, ", ")
}
