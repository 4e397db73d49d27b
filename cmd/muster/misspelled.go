package main

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/musterhq/muster/internal/nearest"
)

// unknownKey matches how the parsers of YAML and JSON report a key that a type does not have.
var unknownKey = regexp.MustCompile(`(?:line (\d+): field (\S+) not found in type \S+|unknown field "([^"]+)")`)

// misspelled returns err with file, line and the key that was likely meant, if it is about
// unknown keys in a file that is read into a T; otherwise it returns err.
func misspelled[T any](file string, text []byte, err error) error {
	if err == nil {
		return nil
	}
	keys := keysOf(reflect.TypeFor[T](), map[reflect.Type]bool{})
	var all []error
	for _, m := range unknownKey.FindAllStringSubmatch(err.Error(), -1) {
		line, key := m[1], m[2]
		if key == "" {
			line, key = lineOf(text, m[3]), m[3]
		}
		all = append(all, fmt.Errorf("%s:%s: there is no key %q%s", file, line, key, nearest.DidYouMean(key, keys)))
	}
	if len(all) == 0 {
		return err
	}
	return errors.Join(all...)
}

// lineOf returns the number of the first line of a YAML or JSON text that has a key.
func lineOf(text []byte, key string) string {
	for n, line := range strings.Split(string(text), "\n") {
		if at := strings.Index(line, key); at >= 0 && strings.HasPrefix(strings.TrimLeft(line[at+len(key):], `"' `), ":") {
			return fmt.Sprint(n + 1)
		}
	}
	return "1"
}

// keysOf returns the keys of a type and of all that it has.
func keysOf(t reflect.Type, seen map[reflect.Type]bool) (keys []string) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return keysOf(t.Elem(), seen)
	case reflect.Struct:
	default:
		return nil
	}
	if seen[t] {
		return nil
	}
	seen[t] = true
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() && !f.Anonymous {
			continue
		}
		name := strings.ToLower(f.Name)
		for _, tag := range []string{"json", "yaml"} {
			if named, _, _ := strings.Cut(f.Tag.Get(tag), ","); named != "" {
				name = named
			}
		}
		keys = append(append(keys, name), keysOf(f.Type, seen)...)
	}
	return keys
}
