package api

import (
	"encoding/base64"
	"hash/fnv"
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

func requestHash(parts []string) string {
	h := fnv.New64a()
	h.Write([]byte(strings.Join(parts, "\x00")))
	return strconv.FormatUint(h.Sum64(), 36)
}
