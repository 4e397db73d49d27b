package api

import (
	"maps"
	"slices"
	"time"

	"github.com/musterhq/muster/gamelift"
	"github.com/musterhq/muster/internal/fault"
)

// val returns what p points to, or the zero value if p is nil.
func val[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// opt returns a pointer to v, or nil if v is the zero value.
func opt[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// ref returns p, or nil if it points to a zero value. Outputs refer to rows in this way,
// since neither changes.
func ref[T comparable](p *T) *T {
	var zero T
	if *p == zero {
		return nil
	}
	return p
}

// num returns n as an integer of the wire.
func num(n int) *int32 { return new(int32(n)) }

// as converts an optional string to a domain's string type.
func as[T ~string](p *string) *T {
	if p == nil {
		return nil
	}
	return new(T(*p))
}

// count converts an optional number.
func count(n *int32) *int {
	if n == nil {
		return nil
	}
	return new(int(*n))
}

// times converts an optional number of units of time.
func times(n *int32, unit time.Duration) *time.Duration {
	if n == nil {
		return nil
	}
	return new(time.Duration(*n) * unit)
}

// list maps each item; the result is never nil, so that an empty list is a list on the
// wire.
func list[A, B any](items []A, f func(A) B) []B {
	out := make([]B, 0, len(items))
	for _, item := range items {
		out = append(out, f(item))
	}
	return out
}

// some is like list for an optional list, which is absent if it is empty.
func some[A, B any](items []A, f func(A) B) []B {
	if len(items) == 0 {
		return nil
	}
	return list(items, f)
}

// listIfGiven is like list for an optional list, which is nil if it was not given.
func listIfGiven[A, B any](items []A, f func(A) B) *[]B {
	if items == nil {
		return nil
	}
	return new(list(items, f))
}

// mapped maps each value; the result is nil if there is none.
func mapped[A, B any](items map[string]A, f func(A) B) map[string]B {
	if len(items) == 0 {
		return nil
	}
	out := make(map[string]B, len(items))
	for name, item := range items {
		out[name] = f(item)
	}
	return out
}

// tagMap returns a list of tags as a map. Keys must be unique.
func tagMap(tags []gamelift.Tag) (map[string]string, error) {
	m := make(map[string]string, len(tags))
	for i, t := range tags {
		if _, twice := m[*t.Key]; twice {
			return nil, fault.New(fault.TaggingFailed, "Tags.%d.Key: %q is given twice", i+1, *t.Key)
		}
		m[*t.Key] = *t.Value
	}
	return m, nil
}

// tagList returns tags as a list in order of keys.
func tagList(m map[string]string) []gamelift.Tag {
	return list(slices.Sorted(maps.Keys(m)), func(k string) gamelift.Tag {
		return gamelift.Tag{Key: new(k), Value: new(m[k])}
	})
}

// oneOf returns a filter's value, or a fault if it is not one of values; the API's
// model does not restrict it.
func oneOf[T ~string](member string, given *string, values ...T) (T, error) {
	if given == nil || slices.Contains(values, T(*given)) {
		return T(val(given)), nil
	}
	return "", fault.Invalid("%s: %q is none of %v", member, *given, values)
}

func minutes(n *int32) time.Duration { return time.Duration(val(n)) * time.Minute }

func seconds(n *int32) time.Duration { return time.Duration(val(n)) * time.Second }
