package clients

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// differs returns how a value differs from what is wanted, or "". An object may have more
// members than wanted. An object whose only member begins with $ is a condition.
func differs(want, got any) string {
	switch want := want.(type) {
	case map[string]any:
		if name, operand, ok := condition(want); ok {
			return unmet(name, operand, got, true)
		}
		object, ok := got.(map[string]any)
		if !ok {
			return fmt.Sprintf("is %s, want an object", show(got))
		}
		for name, w := range want {
			value, has := object[name]
			if why := differsAt(w, value, has); why != "" {
				return "/" + name + " " + why
			}
		}
		return ""
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return fmt.Sprintf("is %s, want a list of %d", show(got), len(want))
		}
		for i := range want {
			if why := differs(want[i], list[i]); why != "" {
				return fmt.Sprintf("/%d %s", i, why)
			}
		}
		return ""
	}
	if !reflect.DeepEqual(want, got) {
		return fmt.Sprintf("is %s, want %s", show(got), show(want))
	}
	return ""
}

// differsAt is differs for a member, which may be absent.
func differsAt(want, got any, has bool) string {
	if m, ok := want.(map[string]any); ok {
		if name, operand, ok := condition(m); ok {
			return unmet(name, operand, got, has)
		}
	}
	if !has {
		return "is absent, want " + show(want)
	}
	return differs(want, got)
}

func condition(m map[string]any) (name string, operand any, ok bool) {
	for name, operand := range m {
		if len(m) == 1 && strings.HasPrefix(name, "$") {
			return name, operand, true
		}
	}
	return "", nil, false
}

// unmet returns why a value does not meet a condition, or "".
func unmet(name string, operand, got any, has bool) string {
	met := false
	switch name {
	case "$exists":
		met = has == (operand == true)
	case "$match":
		text, ok := got.(string)
		pattern, err := regexp.Compile(fmt.Sprint(operand))
		met = ok && err == nil && pattern.MatchString(text)
	case "$gt", "$lt":
		a, ok := got.(float64)
		b, is := operand.(float64)
		met = ok && is && (name == "$gt" && a > b || name == "$lt" && a < b)
	case "$length":
		n := -1
		switch got := got.(type) {
		case []any:
			n = len(got)
		case map[string]any:
			n = len(got)
		case string:
			n = len(got)
		}
		met = operand == float64(n)
	case "$has":
		if list, ok := got.([]any); ok {
			for _, v := range list {
				met = met || differs(operand, v) == ""
			}
		}
	case "$not":
		met = differsAt(operand, got, has) != ""
	case "$in":
		if list, ok := operand.([]any); ok {
			for _, v := range list {
				met = met || has && differs(v, got) == ""
			}
		}
	default:
		return "cannot be compared: there is no condition " + name
	}
	if met {
		return ""
	}
	if !has {
		return fmt.Sprintf("is absent, want %s %s", name, show(operand))
	}
	return fmt.Sprintf("is %s, want %s %s", show(got), name, show(operand))
}

func show(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// at returns the value that a JSON pointer (RFC 6901) leads to.
func at(v any, pointer string) (any, error) {
	for _, token := range strings.Split(pointer, "/")[1:] {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		switch in := v.(type) {
		case map[string]any:
			next, ok := in[token]
			if !ok {
				return nil, fmt.Errorf("%s leads nowhere in %s", pointer, show(v))
			}
			v = next
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(in) {
				return nil, fmt.Errorf("%s leads nowhere in %s", pointer, show(v))
			}
			v = in[i]
		default:
			return nil, fmt.Errorf("%s leads nowhere in %s", pointer, show(v))
		}
	}
	return v, nil
}
