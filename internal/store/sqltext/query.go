package sqltext

import (
	"fmt"
	"strings"

	"github.com/musterhq/muster/internal/store"
)

// question is a SELECT statement under construction.
type question struct {
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
		q.add(Quote(eq.Column)+" = %s", Escape(eq.Value))
	}
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

// finish returns the statement and its arguments. The limit is an argument, because
// clients choose it and each text is prepared once and kept.
func (q *question) finish(selection, order string, limit int) (string, []any) {
	text := selection
	if len(q.conds) > 0 {
		text += " WHERE " + strings.Join(q.conds, " AND ")
	}
	text += fmt.Sprintf(" ORDER BY %s LIMIT CAST(%s AS BIGINT)", order, q.arg(int64(limit)))
	return text, q.args
}

// archived returns the query of archived rows' documents.
func archived(t store.TableSchema, q store.Query) (string, []any) {
	ask := new(question)
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
	after, way := ">", ""
	if q.Desc {
		after, way = "<", " DESC"
	}
	if q.AfterKey != "" {
		ask.after(q, by, after)
	}
	order := by + way
	if q.OrderBy != "key" {
		order += ", " + Quote("key") + way
	}
	return ask.finish(`SELECT "doc" FROM `+Quote(ArchiveOf(t.Name)), order, q.Limit)
}

func (ask *question) after(q store.Query, by, after string) {
	if q.OrderBy == "key" {
		ask.add(by+" "+after+" %s", Escape(q.AfterKey))
		return
	}
	ask.add("("+by+`, "key") `+after+" (%s, %s)", Escape(q.AfterOrder), Escape(q.AfterKey))
}

// entries returns the query of log entries: number, time, document.
func entries(l store.LogSchema, q store.LogQuery) (string, []any) {
	ask := new(question)
	ask.equal(q.Where)
	for _, eq := range q.Where {
		if eq.Value != "" { // allows the index of the rows with a value
			ask.conds = append(ask.conds, Quote(eq.Column)+" <> ''")
		}
	}
	if !q.From.IsZero() {
		ask.add(`"seq" >= (`+firstAt(l)+`)`, Millis(q.From))
	}
	if !q.To.IsZero() {
		ask.add(`"seq" < (`+firstAt(l)+`)`, Millis(q.To))
	}
	after, way := ">", ""
	if q.Desc {
		after, way = "<", " DESC"
	}
	if q.AfterSeq != 0 {
		ask.add(`"seq" `+after+" %s", int64(q.AfterSeq))
	}
	return ask.finish(`SELECT "seq", "time", "doc" FROM `+Quote(l.Name), `"seq"`+way, q.Limit)
}

// firstAt returns an expression for the number of the first entry at a time or later;
// if there is none, a number after the last. It is a binary search, since times
// increase with numbers, so no index by time is needed.
func firstAt(l store.LogSchema) string {
	log := Quote(l.Name)
	late := `(SELECT "time" FROM ` + log + ` WHERE "seq" >= (low + high) / 2 ORDER BY "seq" LIMIT 1) >= %[1]s`
	return `WITH RECURSIVE half(low, high) AS (
		SELECT min("seq"), max("seq") + 1 FROM ` + log + `
		UNION ALL
		SELECT CASE WHEN ` + late + ` THEN low ELSE (low + high) / 2 + 1 END, CASE WHEN ` + late + ` THEN (low + high) / 2 ELSE high END
		FROM half WHERE low < high)
		SELECT low FROM half WHERE low >= high`
}
