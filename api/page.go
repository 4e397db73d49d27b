package api

import (
	"encoding/base64"
	"hash/fnv"
	"iter"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/musterhq/muster/internal/fault"
)

// Page sizes of operations for which AWS documents none.
const (
	defaultPage = 25
	largestPage = 100
)

// limit returns the page size: the requested one, or the default, but at most the
// largest.
func limit(asked *int32, standard, largest int) int {
	if asked == nil {
		return standard
	}
	return min(int(*asked), largest)
}

// token is the content of a NextToken: where the next page starts, and a hash of the
// request, so that the token cannot be used with another request.
type token[C any] struct {
	Request string
	Cursor  C
}

// cursor decodes a NextToken. parts identify the request: the operation and the
// parameters that select and order its items.
func cursor[C any](next *string, parts ...string) (C, error) {
	var t token[C]
	if next == nil {
		return t.Cursor, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(*next)
	if err == nil {
		err = json.Unmarshal(raw, &t)
	}
	if err != nil || t.Request != requestHash(parts) {
		var none C
		return none, fault.Invalid("NextToken: it does not belong to this request; repeat the parameters of the request that gave it, or leave it out to start anew")
	}
	return t.Cursor, nil
}

// nextToken returns the NextToken for a cursor, or nil if no more items follow.
func nextToken[C any](more bool, c C, parts ...string) *string {
	if !more {
		return nil
	}
	raw, err := json.Marshal(token[C]{requestHash(parts), c})
	if err != nil {
		panic(err) // cursors are plain data, which always encodes
	}
	return new(base64.RawURLEncoding.EncodeToString(raw))
}

// pageOf returns a page of at most n items of a list, and the NextToken for the page after
// it. all returns the items after a key, in order of keys, and key the key of an item;
// parts identify the request, as for cursor.
func pageOf[T any](next *string, n int, all func(after string) iter.Seq[T], key func(T) string, parts ...string) ([]T, *string, error) {
	after, err := cursor[string](next, parts...)
	if err != nil {
		return nil, nil, err
	}
	page, more := take(all(after), n)
	if more {
		after = key(page[len(page)-1])
	}
	return page, nextToken(more, after, parts...), nil
}

// take returns the first n items of a sequence and reports whether more follow.
func take[T any](all iter.Seq[T], n int) (page []T, more bool) {
	for v := range all {
		if len(page) == n {
			return page, true
		}
		page = append(page, v)
	}
	return page, false
}

// existing returns those of the named items that exist.
func existing[T any](names []string, get func(name string) *T) []*T {
	var found []*T
	for _, name := range names {
		if v := get(name); v != nil {
			found = append(found, v)
		}
	}
	return found
}

func requestHash(parts []string) string {
	h := fnv.New64a()
	h.Write([]byte(strings.Join(parts, "\x00")))
	return strconv.FormatUint(h.Sum64(), 36)
}
