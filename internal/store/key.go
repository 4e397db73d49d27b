package store

import (
	"strings"
	"time"
)

// Key joins the parts of an index key. Each part ends with 0x00, so keys sort part by
// part, and a prefix made of whole parts never matches into the next part. Parts
// should not contain 0x00 themselves.
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

// TimeKey formats t in UTC with milliseconds and a fixed width, as in
// 2026-01-02T03:04:05.678Z, so that keys sort like times. The year must be between 0
// and 9999.
func TimeKey(t time.Time) string {
	t = t.UTC()
	text := make([]byte, 0, len("2026-01-02T03:04:05.678Z"))
	text = t.AppendFormat(text, time.RFC3339) // layouts with fractions take three times as long
	ms := t.Nanosecond() / int(time.Millisecond)
	text = append(text[:len(text)-1], '.', '0'+byte(ms/100), '0'+byte(ms/10%10), '0'+byte(ms%10), 'Z')
	return string(text)
}
