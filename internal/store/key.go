package store

import (
	"strings"
	"time"
)

// Key joins the parts of an index key. Each part ends with 0x00, so keys sort
// part by part and a prefix made of whole parts never runs into the next part.
// Parts should not contain 0x00 themselves.
func Key(parts ...string) string {
	n := len(parts)
	for _, p := range parts {
		n += len(p)
	}
	var b strings.Builder
	b.Grow(n)
	for _, p := range parts {
		b.WriteString(p)
		b.WriteByte(0)
	}
	return b.String()
}

// timeLayout has a fixed width, so texts sort like the times they stand for.
const timeLayout = "2006-01-02T15:04:05.000Z"

// TimeKey writes t in UTC with milliseconds and a fixed width, so that keys sort
// like times. Years must lie between 0 and 9999.
func TimeKey(t time.Time) string { return t.UTC().Format(timeLayout) }
