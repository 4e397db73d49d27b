package postgres

import (
	"encoding/binary"
	"errors"
)

// keyWriter writes the keys of rows, by table, in few bytes:
//
//	written = version count { table }
//	table   = length name count { key }
//	key     = length of what it has in common with the key before it in the table, length rest
//
// All lengths and counts are unsigned varints.
type keyWriter struct {
	out  []byte
	last string // key
}

const keysVersion = 1

// writeKeys returns a writer for a number of tables.
func writeKeys(tables int) *keyWriter {
	return &keyWriter{out: binary.AppendUvarint(append(make([]byte, 0, 1024), keysVersion), uint64(tables))}
}

// table begins a table. As many calls of key have to follow as count says.
func (w *keyWriter) table(name string, count int) {
	w.out = append(binary.AppendUvarint(w.out, uint64(len(name))), name...)
	w.out = binary.AppendUvarint(w.out, uint64(count))
	w.last = ""
}

func (w *keyWriter) key(key string) {
	n := 0
	for n < len(key) && n < len(w.last) && key[n] == w.last[n] {
		n++
	}
	w.out = binary.AppendUvarint(w.out, uint64(n))
	w.out = append(binary.AppendUvarint(w.out, uint64(len(key)-n)), key[n:]...)
	w.last = key
}

var errKeys = errors.New("the keys of changed rows are not in the form of this release")

// readKeys calls f for each table of what a keyWriter has written. It returns an error if that
// is not complete, or has more.
func readKeys(written []byte, f func(table string, keys []string)) error {
	if len(written) == 0 || written[0] != keysVersion {
		return errKeys
	}
	r := keyReader{rest: string(written[1:])}
	for tables := r.number(); tables > 0 && !r.bad; tables-- {
		name, count := r.text(), r.number()
		var keys []string
		for key := ""; count > 0 && !r.bad; count-- {
			key = r.after(key)
			keys = append(keys, key)
		}
		if !r.bad {
			f(name, keys)
		}
	}
	if r.bad || r.rest != "" {
		return errKeys
	}
	return nil
}

// keyReader reads what is left of a text. Once that was not as expected, it is bad.
type keyReader struct {
	rest string
	bad  bool
}

func (r *keyReader) number() uint64 {
	// binary.Uvarint takes bytes; a varint has 10 of them at most.
	n, length := binary.Uvarint([]byte(r.rest[:min(len(r.rest), binary.MaxVarintLen64)]))
	if length <= 0 {
		r.bad, r.rest = true, ""
		return 0
	}
	r.rest = r.rest[length:]
	return n
}

func (r *keyReader) text() string {
	n := r.number()
	if n > uint64(len(r.rest)) {
		r.bad = true
		return ""
	}
	text := r.rest[:n]
	r.rest = r.rest[n:]
	return text
}

// after reads a key that follows another.
func (r *keyReader) after(last string) string {
	n := r.number()
	rest := r.text()
	if n > uint64(len(last)) {
		r.bad = true
		return ""
	}
	if n == 0 {
		return rest
	}
	return last[:n] + rest
}
