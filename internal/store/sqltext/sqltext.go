// Package sqltext writes the SQL that the drivers of internal/store share: how
// names and texts are spelled, the tables, and the questions asked of archives
// and logs. It runs nothing.
package sqltext

import (
	"strings"
	"time"

	"github.com/musterhq/muster/internal/store"
)

// Dialect is what differs between the engines.
type Dialect struct {
	Text string             // type of keys and columns; must compare byte by byte
	Doc  string             // type of documents
	Int  string             // type of 64-bit integers
	Mark func(n int) string // the n-th placeholder, from 1
}

// Quote spells a name that was checked at registration.
func Quote(name string) string { return `"` + name + `"` }

// ArchiveOf names the archive of a table.
func ArchiveOf(table string) string { return table + "_archive" }

var escaper = strings.NewReplacer("\x00", "\x01\x01", "\x01", "\x01\x02")
var unescaper = strings.NewReplacer("\x01\x01", "\x00", "\x01\x02", "\x01")

// Escape makes a text that SQL can keep: valid UTF-8 without 0x00. Escaped texts
// compare like the texts they stand for.
func Escape(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.IndexByte(s, 0) < 0 && strings.IndexByte(s, 1) < 0 {
		return s
	}
	return escaper.Replace(s)
}

// Unescape gives the text that Escape was given, if it was valid UTF-8.
func Unescape(s string) string {
	if strings.IndexByte(s, 1) < 0 {
		return s
	}
	return unescaper.Replace(s)
}

// Millis is a moment as the time columns keep it; the zero time is 0.
func Millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// Moment reads a time column.
func Moment(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// Names quotes the columns, each after a comma.
func Names(columns []store.ColumnSchema) string {
	var b strings.Builder
	for _, c := range columns {
		b.WriteString(", " + Quote(c.Name))
	}
	return b.String()
}
