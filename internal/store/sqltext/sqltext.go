// Package sqltext is what the SQL drivers of internal/store share: how names and strings
// are quoted, the tables, and the operations whose statements are the same in both
// engines (Cell). Arguments are marked $1, $2, …, which both understand.
package sqltext

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
	"unsafe"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/pack"
)

// Dialect is what differs between the engines.
type Dialect struct {
	Text string // type of keys and columns; must compare byte by byte
	Doc  string // type of documents of live rows
	Int  string // type of 64-bit integers

	Bytes  string // type of packed documents
	Parted bool   // tables of packed documents are partitioned by time, and so have no primary key
}

// mark returns the n-th placeholder, from 1.
func mark(n int) string { return "$" + strconv.Itoa(n) }

// Quote quotes a name that was checked at registration.
func Quote(name string) string { return `"` + name + `"` }

// Literal returns a text as a string literal of SQL.
func Literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// ArchiveOf returns the name of a table's archive.
func ArchiveOf(table string) string { return table + "_archive" }

var escaper = strings.NewReplacer("\x00", "\x01\x01", "\x01", "\x01\x02")
var unescaper = strings.NewReplacer("\x01\x01", "\x00", "\x01\x02", "\x01")

// Escape returns s in a form that SQL can store: valid UTF-8 without 0x00. Escaped
// strings compare like the originals.
func Escape(s string) string {
	if !utf8.ValidString(s) { // several times faster than ToValidUTF8
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	if strings.IndexByte(s, 0) < 0 && strings.IndexByte(s, 1) < 0 {
		return s
	}
	return escaper.Replace(s)
}

// Unescape returns the string that Escape was given, if that was valid UTF-8.
func Unescape(s string) string {
	if strings.IndexByte(s, 1) < 0 {
		return s
	}
	return unescaper.Replace(s)
}

// Doc returns a document as a string, in the same memory: the document must not change.
func Doc(doc []byte) string { return unsafe.String(unsafe.SliceData(doc), len(doc)) }

// Pack returns the packed form of the document of an archived row or, with key "", of a log
// entry.
func Pack(key string, doc []byte) []byte { return pack.Pack(make([]byte, 0, len(doc)/2), doc, key) }

// Brief returns the columns of a row or entry as they are stored beside a packed document.
func Brief(columns []string, schema []store.ColumnSchema) []string {
	brief := slices.Clone(columns)
	for i := range brief {
		brief[i] = schema[i].Brief(brief[i])
	}
	return brief
}

// Millis converts a time to the form of the time columns; the zero time is 0.
func Millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// Moment converts the value of a time column to a time.
func Moment(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// Names returns the quoted columns, each after a comma.
func Names(columns []store.ColumnSchema) string {
	var b strings.Builder
	for _, c := range columns {
		b.WriteString(", " + Quote(c.Name))
	}
	return b.String()
}
