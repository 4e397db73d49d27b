package terraform

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"
)

// shows checks that a response has each member of a request as it was asked for, and no others
// but computed ones: then a plan has nothing to change. Of lists it checks the elements.
func shows(t *testing.T, asked, shown any, computed ...string) {
	t.Helper()
	for _, d := range differences("", plain(t, asked), plain(t, shown), computed) {
		t.Errorf("the provider would plan a change of %s", d)
	}
}

// plain returns a value of the client as maps, lists and scalars.
func plain(t *testing.T, value any) (out any) {
	t.Helper()
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func differences(at string, asked, shown any, computed []string) (all []string) {
	switch want := asked.(type) {
	case map[string]any:
		got, _ := shown.(map[string]any)
		for name, value := range want {
			all = append(all, differences(at+"."+name, value, got[name], computed)...)
		}
		for name, value := range got {
			if _, asked := want[name]; !asked && !isEmpty(value) && !slices.Contains(computed, name) {
				all = append(all, fmt.Sprintf("%s.%s, which was not asked for and is %v", at, name, value))
			}
		}
	case []any:
		got, _ := shown.([]any)
		if len(got) != len(want) {
			return []string{fmt.Sprintf("%s, which is %v, not %v", at, shown, asked)}
		}
		for n := range want {
			all = append(all, differences(fmt.Sprintf("%s[%d]", at, n), want[n], got[n], computed)...)
		}
	default:
		if !isEmpty(asked) && !reflect.DeepEqual(asked, shown) || isEmpty(asked) && !isEmpty(shown) && !isIn(computed, at) {
			return []string{fmt.Sprintf("%s, which is %v, not %v", at, shown, asked)}
		}
	}
	return all
}

// isEmpty reports whether a member is absent, as the client shows it.
func isEmpty(value any) bool {
	list, isList := value.([]any)
	return value == nil || value == "" || isList && len(list) == 0
}

// isIn reports whether one of the names is the last part of a path.
func isIn(names []string, path string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return len(path) > len(name) && path[len(path)-len(name)-1:] == "."+name })
}
