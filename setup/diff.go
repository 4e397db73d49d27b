package setup

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/yamlfile"
)

// madeFrom are members that say what a resource is made from, which servers do not show.
var madeFrom = []string{"Folder", "Archive", "RuleSetFile"}

// Differences returns the members that want gives and have does not have so. Both point to the
// same type.
func Differences(kind Kind, want, have any) []Change {
	var all []Change
	w, h := reflect.ValueOf(want).Elem(), reflect.ValueOf(have).Elem()
	for i := range w.NumField() {
		name := w.Type().Field(i).Name
		switch {
		case slices.Contains(madeFrom, name), kind == BuildKind && name == "Name":
		case name == "Content" && h.Field(i).IsZero() && !h.IsZero():
			// Uploaded by another tool: its files cannot be compared.
		case given(w.Field(i)):
			diff(name, w.Field(i), h.Field(i), &all)
		}
	}
	return all
}

// given reports whether a member of a file is there.
func given(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return !v.IsNil()
	}
	return !v.IsZero()
}

// diff adds how h differs from w, a value that is given.
func diff(at string, w, h reflect.Value, all *[]Change) {
	switch w.Kind() {
	case reflect.Pointer:
		if !h.IsNil() {
			diff(at, w.Elem(), h.Elem(), all)
		} else if w.Elem().Kind() != reflect.Struct || !yamlfile.Empty(w) {
			*all = append(*all, Change{Member: at, To: yamlfile.Line(w)})
		}
	case reflect.Struct:
		for i := range w.NumField() {
			if f := w.Type().Field(i); f.IsExported() && given(w.Field(i)) {
				diff(at+"."+f.Name, w.Field(i), h.Field(i), all)
			}
		}
	case reflect.Map:
		diffMap(at, w, h, all)
	case reflect.Slice:
		if !sameList(ordered(at, w), ordered(at, h)) {
			*all = append(*all, Change{Member: at, From: yamlfile.Line(h), To: yamlfile.Line(w)})
		}
	default:
		if at == "RuleSetBody" {
			w, h = reflect.ValueOf(compact(w.String())), reflect.ValueOf(compact(h.String()))
		}
		if w.Interface() != h.Interface() {
			*all = append(*all, Change{Member: at, From: yamlfile.Line(h), To: yamlfile.Line(w)})
		}
	}
}

func diffMap(at string, w, h reflect.Value, all *[]Change) {
	names := map[string]bool{}
	for _, k := range append(w.MapKeys(), h.MapKeys()...) {
		names[k.String()] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		path, key := at+"."+name, reflect.ValueOf(name)
		of, is := w.MapIndex(key), h.MapIndex(key)
		switch {
		case !of.IsValid():
			*all = append(*all, Change{Member: path, From: yamlfile.Line(is)})
		case !is.IsValid():
			*all = append(*all, Change{Member: path, To: yamlfile.Line(of)})
		default:
			diff(path, of, is, all)
		}
	}
}

// sameList reports whether two lists have the same elements, as far as those of w are given.
func sameList(w, h reflect.Value) bool {
	if w.Len() != h.Len() {
		return false
	}
	var inside []Change
	for i := range w.Len() {
		diff("", w.Index(i), h.Index(i), &inside)
	}
	return len(inside) == 0
}

// ordered returns a list, or a copy in a fixed order if its order has no meaning.
func ordered(at string, list reflect.Value) reflect.Value {
	if !strings.HasSuffix(at, "InboundPermissions") && !strings.HasSuffix(at, "StoppedActions") {
		return list
	}
	elements := make([]reflect.Value, list.Len())
	for i := range elements {
		elements[i] = list.Index(i)
	}
	slices.SortStableFunc(elements, func(a, b reflect.Value) int { return strings.Compare(yamlfile.Line(a), yamlfile.Line(b)) })
	out := reflect.MakeSlice(list.Type(), 0, list.Len())
	return reflect.Append(out, elements...)
}

// compact returns JSON without the spaces between its parts, or the text if it is not JSON.
func compact(text string) string {
	var out bytes.Buffer
	if json.Compact(&out, []byte(text)) != nil {
		return text
	}
	return out.String()
}
