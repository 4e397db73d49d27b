package sqltext

import (
	"fmt"
	"strings"

	"github.com/musterhq/muster/internal/store"
)

// question is a SELECT statement under construction.
type question struct {
	from  part
	conds []string
	args  []any
}

// arg adds an argument and returns its placeholder.
func (q *question) arg(value any) string {
	q.args = append(q.args, value)
	return mark(len(q.args))
}

func (q *question) add(format string, args ...any) {
	marks := make([]any, len(args))
	for i, arg := range args {
		marks[i] = q.arg(arg)
	}
	q.conds = append(q.conds, fmt.Sprintf(format, marks...))
}

func (q *question) equal(where []store.Eq) {
	for _, eq := range where {
		q.add(Quote(eq.Column)+" = %s", Escape(q.from.stored(eq)))
	}
}

// stored returns the value of a condition as the table has it.
func (p part) stored(eq store.Eq) string {
	for _, c := range p.columns {
		if p.packed() && c.Name == eq.Column {
			return c.Brief(eq.Value)
		}
	}
	return eq.Value
}

// among adds a condition that column has one of the values. The number of
// placeholders is a power of two, and the last value fills those left over: with a
// text for each number of values, each would be prepared and kept.
func (q *question) among(column string, values []string) {
	if len(values) == 0 {
		q.conds = append(q.conds, "1 = 0")
		return
	}
	var marks []string
	for n := 0; n < len(values) || n&(n-1) != 0; n++ {
		marks = append(marks, q.arg(Escape(values[min(n, len(values)-1)])))
	}
	q.conds = append(q.conds, Quote(column)+" IN ("+strings.Join(marks, ", ")+")")
}

// ask returns the query for the first rows in an order. where adds the conditions. The limit is an
// argument, because clients choose it and each text is prepared once and kept.
func (p part) ask(fixed, order []string, desc bool, limit int, where func(*question)) (string, []any) {
	q := &question{from: p}
	by := `"` + strings.Join(order, `", "`) + `"`
	if desc {
		by = `"` + strings.Join(order, `" DESC, "`) + `" DESC`
	}
	last := fmt.Sprintf(" ORDER BY %s LIMIT CAST(%s AS BIGINT)", by, q.arg(int64(limit)))
	where(q)
	text := `SELECT "` + strings.Join(fixed, `", "`) + `" FROM ` + Quote(p.name)
	if len(q.conds) > 0 {
		text += " WHERE " + strings.Join(q.conds, " AND ")
	}
	return text + last, q.args
}

// archived returns the query of archived rows' keys and documents.
func (c Cell) archived(table int, q store.Query) (string, []any) {
	order := []string{"key"}
	if q.OrderBy != "key" {
		order = []string{q.OrderBy, "key"}
	}
	return c.archive(table).ask([]string{"key", "doc"}, order, q.Desc, q.Limit, func(ask *question) { ask.query(q) })
}

// archivedKeys returns the query of the keys of archived rows after one.
func (c Cell) archivedKeys(table int, after string, limit int) (string, []any) {
	return c.archive(table).ask([]string{"key"}, []string{"key"}, false, limit, func(ask *question) {
		ask.add(`"key" > %s`, Escape(after))
	})
}

// query adds the conditions of a query of archived rows.
func (ask *question) query(q store.Query) {
	by := Quote(q.OrderBy)
	ask.equal(q.Where)
	if q.Keys != nil {
		ask.among("key", q.Keys)
	}
	if q.From != "" {
		ask.add(by+" >= %s", Escape(q.From))
	}
	if q.To != "" {
		ask.add(by+" < %s", Escape(q.To))
	}
	if q.AfterKey == "" {
		return
	}
	after := ">"
	if q.Desc {
		after = "<"
	}
	if q.OrderBy == "key" {
		ask.add(by+" "+after+" %s", Escape(q.AfterKey))
		return
	}
	ask.add("("+by+`, "key") `+after+" (%s, %s)", Escape(q.AfterOrder), Escape(q.AfterKey))
}

// entries returns the query of log entries: number, time, document.
func (c Cell) entries(log int, q store.LogQuery) (string, []any) {
	return c.log(log).ask([]string{"seq", "time", "doc"}, []string{"seq"}, q.Desc, q.Limit, func(ask *question) { ask.logQuery(q) })
}

// logQuery adds the conditions of a query of log entries.
func (ask *question) logQuery(q store.LogQuery) {
	ask.equal(q.Where)
	for _, eq := range q.Where {
		if eq.Value != "" { // allows the index of the rows with a value
			ask.conds = append(ask.conds, Quote(eq.Column)+" <> ''")
		}
	}
	if !q.From.IsZero() {
		ask.add(`"seq" >= (`+firstAt(ask.from.name)+`)`, Millis(q.From))
	}
	if !q.To.IsZero() {
		ask.add(`"seq" < (`+firstAt(ask.from.name)+`)`, Millis(q.To))
	}
	after := ">"
	if q.Desc {
		after = "<"
	}
	if q.AfterSeq != 0 {
		ask.add(`"seq" `+after+" %s", int64(q.AfterSeq))
	}
}

// firstAt returns an expression for the number of the first entry at a time or later;
// if there is none, a number after the last. It is a binary search, since times
// increase with numbers, so no index by time is needed.
func firstAt(table string) string {
	log := Quote(table)
	late := `(SELECT "time" FROM ` + log + ` WHERE "seq" >= (low + high) / 2 ORDER BY "seq" LIMIT 1) >= %[1]s`
	return `WITH RECURSIVE half(low, high) AS (
		SELECT min("seq"), max("seq") + 1 FROM ` + log + `
		UNION ALL
		SELECT CASE WHEN ` + late + ` THEN low ELSE (low + high) / 2 + 1 END, CASE WHEN ` + late + ` THEN (low + high) / 2 ELSE high END
		FROM half WHERE low < high)
		SELECT low FROM half WHERE low >= high`
}
