package node

import "testing"

// Must is for calls that have to succeed: Must(c.Operation(…))(t) returns the result, or ends the
// test if there is an error.
func Must[T any](out T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
}
