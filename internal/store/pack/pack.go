// Package pack stores documents in fewer bytes. What rows and events of a game session
// consist of are member names, identifiers and times, each once in a document of a few
// hundred bytes: a compressor for long texts finds little in them and takes long to start.
//
// A packed document is a byte that no JSON text begins with, and a sequence of tokens:
// printable ASCII stands for itself, and other bytes begin a token for a word of a fixed
// list, a UUID, a time, or bytes that have no shorter form. Every document is restored byte
// by byte.
package pack

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"time"
)

// mark is the first byte of a packed document. It also is the version of the format.
const mark = 0x01

// Tokens. All bytes from firstWord to lastControl and from firstHigh to lastHigh are words
// of one byte.
const (
	raw        = 0x00 // a count, and as many bytes
	newUUID    = 0x01 // 16 bytes
	oldUUID    = 0x02 // the index of a UUID that came before
	millis     = 0x03 // a time: 6 bytes, milliseconds since 1970
	nanos      = 0x04 // a time: 8 bytes, nanoseconds since 1970
	firstWord  = 0x05
	lastWord   = 0x1f
	firstHigh  = 0x7f
	lastHigh   = 0xfe
	secondPage = 0xff // the index of a word after those of one byte
)

const (
	low    = lastWord - firstWord + 1 // words of one byte, below printable ASCII
	single = low + lastHigh - firstHigh + 1
	most   = single + 256 // words

	uuidLength = 36
	maxUUIDs   = 256 // in one document
	shortest   = 4   // length of a word
)

func init() {
	if len(words) > most {
		panic("pack: too many words")
	}
	for i, w := range words {
		if len(w) < shortest {
			panic(fmt.Sprintf("pack: %q is too short", w))
		}
		b := bucket(w)
		buckets[b] = append(buckets[b], uint16(i))
	}
}

// buckets have the words by their first bytes.
var buckets [1024][]uint16

func bucket[T string | []byte](text T) uint32 {
	first := uint32(text[0]) | uint32(text[1])<<8 | uint32(text[2])<<16 | uint32(text[3])<<24
	return first * 2654435761 >> 22
}

// Packed reports whether a stored document is packed.
func Packed(stored []byte) bool { return len(stored) > 0 && stored[0] == mark }

// Pack appends the packed form of a document to into. key is that of its row, or "";
// Unpack needs the same.
func Pack(into, doc []byte, key string) []byte {
	p := packer{out: append(into, mark), seen: make(uuids, 0, 8)}
	p.seen.add(key)
	for at := 0; at < len(doc); {
		at += p.next(doc[at:])
	}
	return p.out
}

// packer is the state of Pack.
type packer struct {
	out  []byte
	seen uuids
}

// next packs what a document begins with, and returns how many bytes that was.
func (p *packer) next(doc []byte) int {
	if n, packed := p.uuid(doc); packed {
		return n
	}
	if n := p.time(doc); n > 0 {
		return n
	}
	if n := p.word(doc); n > 0 {
		return n
	}
	if printable(doc[0]) {
		p.out = append(p.out, doc[0])
		return 1
	}
	n := 1
	for n < len(doc) && n < 255 && !printable(doc[n]) {
		n++
	}
	p.out = append(append(p.out, raw, byte(n)), doc[:n]...)
	return n
}

func printable(b byte) bool { return b >= 0x20 && b < firstHigh }

func (p *packer) uuid(doc []byte) (n int, packed bool) {
	id, ok := uuidAt(doc)
	if !ok {
		return 0, false
	}
	if i := p.seen.index(id); i >= 0 {
		p.out = append(p.out, oldUUID, byte(i))
		return uuidLength, true
	}
	p.seen.note(id)
	p.out = append(append(p.out, newUUID), id[:]...)
	return uuidLength, true
}

func (p *packer) time(doc []byte) int {
	if len(doc) < len("2006-01-02T15:04:05Z") || doc[4] != '-' || doc[10] != 'T' || doc[13] != ':' {
		return 0
	}
	end := 19
	for end < len(doc) && end < 30 && doc[end] != 'Z' {
		end++
	}
	if end == len(doc) || doc[end] != 'Z' {
		return 0
	}
	text := doc[:end+1]
	t, err := time.Parse(time.RFC3339Nano, string(text))
	if err != nil || t.Year() < 1970 || t.Year() > 2200 || t.Format(time.RFC3339Nano) != string(text) {
		return 0
	}
	if t.Nanosecond()%int(time.Millisecond) != 0 {
		p.out = binary.BigEndian.AppendUint64(append(p.out, nanos), uint64(t.UnixNano()))
		return len(text)
	}
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(t.UnixMilli()))
	p.out = append(append(p.out, millis), ms[2:]...)
	return len(text)
}

// word packs the longest word that a document begins with.
func (p *packer) word(doc []byte) int {
	if len(doc) < shortest {
		return 0
	}
	best := -1
	for _, i := range buckets[bucket(doc)] {
		w := words[i]
		if len(w) <= len(doc) && string(doc[:len(w)]) == w && (best < 0 || len(w) > len(words[best])) {
			best = int(i)
		}
	}
	switch {
	case best < 0:
		return 0
	case best < low:
		p.out = append(p.out, byte(firstWord+best))
	case best < single:
		p.out = append(p.out, byte(firstHigh+best-low))
	default:
		p.out = append(p.out, secondPage, byte(best-single))
	}
	return len(words[best])
}

// uuids are the UUIDs that came so far, in a document or the key of its row.
type uuids [][16]byte

// add notes the UUIDs in a key.
func (u *uuids) add(key string) {
	for at := 0; at+uuidLength <= len(key); at++ {
		if id, ok := uuidAt(key[at:]); ok {
			u.note(id)
			at += uuidLength - 1
		}
	}
}

func (u *uuids) note(id [16]byte) {
	if len(*u) < maxUUIDs {
		*u = append(*u, id)
	}
}

func (u uuids) index(id [16]byte) int {
	for i := range u {
		if u[i] == id {
			return i
		}
	}
	return -1
}

// uuidAt returns the UUID that a text begins with, in its usual form.
func uuidAt[T string | []byte](text T) (id [16]byte, ok bool) {
	if len(text) < uuidLength || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
		return id, false
	}
	at := 0
	for i := range id {
		if at == 8 || at == 13 || at == 18 || at == 23 {
			at++
		}
		high, low := digits[text[at]], digits[text[at+1]]
		if high|low > 0x0f {
			return id, false
		}
		id[i] = high<<4 | low
		at += 2
	}
	return id, true
}

// digits are the values of lower-case hexadecimal digits; others have 0xff.
var digits = func() (d [256]byte) {
	for i := range d {
		d[i] = 0xff
	}
	for i, c := range []byte("0123456789abcdef") {
		d[c] = byte(i)
	}
	return d
}()

var errCut = errors.New("a packed document is cut off")

// maxDoc bounds what a damaged document may unpack to.
const maxDoc = 64 << 20

// Unpack returns the document of a stored one: the same bytes if it is not packed.
func Unpack(stored []byte, key string) ([]byte, error) {
	if !Packed(stored) {
		return stored, nil
	}
	u := unpacker{in: stored[1:], out: make([]byte, 0, 6*len(stored)), seen: make(uuids, 0, 8)}
	u.seen.add(key)
	for len(u.in) > 0 {
		if err := u.next(); err != nil {
			return nil, err
		}
	}
	return u.out, nil
}

// unpacker is the state of Unpack.
type unpacker struct {
	in, out []byte
	seen    uuids
}

func (u *unpacker) next() error {
	token := u.in[0]
	u.in = u.in[1:]
	if printable(token) {
		u.out = append(u.out, token)
		return nil
	}
	switch token {
	case raw:
		n, err := u.take(1)
		if err == nil {
			n, err = u.take(int(n[0]))
		}
		u.out = append(u.out, n...)
		return err
	case newUUID:
		id, err := u.take(16)
		if err != nil {
			return err
		}
		u.seen.note([16]byte(id))
		u.out = appendUUID(u.out, [16]byte(id))
		return nil
	case oldUUID:
		i, err := u.take(1)
		if err != nil {
			return err
		}
		if int(i[0]) >= len(u.seen) {
			return errors.New("a packed document refers to an identifier that it does not have")
		}
		u.out = appendUUID(u.out, u.seen[i[0]])
		return nil
	case millis, nanos:
		return u.time(token)
	}
	return u.word(token)
}

func (u *unpacker) take(n int) ([]byte, error) {
	if n > len(u.in) {
		return nil, errCut
	}
	taken := u.in[:n]
	u.in = u.in[n:]
	return taken, nil
}

func (u *unpacker) time(token byte) error {
	if token == nanos {
		n, err := u.take(8)
		if err == nil {
			u.out = time.Unix(0, int64(binary.BigEndian.Uint64(n))).UTC().AppendFormat(u.out, time.RFC3339Nano)
		}
		return err
	}
	n, err := u.take(6)
	if err == nil {
		ms := int64(binary.BigEndian.Uint16(n))<<32 | int64(binary.BigEndian.Uint32(n[2:]))
		u.out = time.UnixMilli(ms).UTC().AppendFormat(u.out, time.RFC3339Nano)
	}
	return err
}

func (u *unpacker) word(token byte) error {
	var i int
	switch {
	case token <= lastWord:
		i = int(token) - firstWord
	case token != secondPage:
		i = low + int(token) - firstHigh
	default:
		n, err := u.take(1)
		if err != nil {
			return err
		}
		i = single + int(n[0])
	}
	if i >= len(words) {
		return fmt.Errorf("a packed document has word %d, and this program knows %d", i, len(words))
	}
	u.out = append(u.out, words[i]...)
	if len(u.out) > maxDoc {
		return errors.New("a packed document is too long")
	}
	return nil
}

func appendUUID(out []byte, id [16]byte) []byte {
	for i, end := range [...]int{4, 6, 8, 10, 16} {
		if i > 0 {
			out = append(out, '-')
		}
		begin := [...]int{0, 4, 6, 8, 10}[i]
		out = hex.AppendEncode(out, id[begin:end])
	}
	return out
}
