package postgres

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type tableKeys struct {
	Name string
	Keys []string
}

func written(tables []tableKeys) []byte {
	w := writeKeys(len(tables))
	for _, t := range tables {
		w.table(t.Name, len(t.Keys))
		for _, key := range t.Keys {
			w.key(key)
		}
	}
	return w.out
}

func keysIn(written []byte) (tables []tableKeys, err error) {
	err = readKeys(written, func(name string, keys []string) { tables = append(tables, tableKeys{name, keys}) })
	return tables, err
}

// TestKeys: all keys are read as they were written, and nothing else is read without an error.
func TestKeys(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 5))
	parts := []string{"", "a", "fleet-1/", "fleet-1/host-2/", "é", "\xe9", "\x00", fmt.Sprintf("%0300d", 7)}
	random := func() (tables []tableKeys) {
		for n := range r.IntN(4) {
			one := tableKeys{Name: fmt.Sprint("table_", n)}
			for range r.IntN(200) {
				one.Keys = append(one.Keys, parts[r.IntN(len(parts))]+parts[r.IntN(len(parts))]+fmt.Sprint(r.IntN(1000)))
			}
			tables = append(tables, one)
		}
		return tables
	}
	for range 40 {
		want := random()
		whole := written(want)
		got, err := keysIn(whole)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("keys (-want +got):\n%s", diff)
		}
		cut := r.IntN(len(whole))
		if _, err := keysIn(whole[:cut]); err == nil {
			t.Errorf("%d bytes of %d are read without an error", cut, len(whole))
		}
		if _, err := keysIn(append(whole, 0)); err == nil {
			t.Error("more than was written is read without an error")
		}
	}
	const many = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
	for _, bad := range []string{"", "\x00", "\x02\x00", "\x01\x01", "\x01" + many, "\x01\x01\x01t\x01\x01\x01a", "\x01\x01\x01t\x02\x00\x01a\x02\x00",
		"\x01\x01\x01t" + many, "\x01\x01" + many, "\x01\x01\x01t\x01\x00" + many, "\x01\xff" + many} {
		if got, err := keysIn([]byte(bad)); err == nil {
			t.Errorf("%q is read as %v", bad, got)
		}
	}
}

// TestKeys_Size: keys that begin alike take little more than what differs.
func TestKeys_Size(t *testing.T) {
	t.Parallel()
	const prefix = "arn:aws:gamelift:us-east-1::gamesession/fleet-00000000-0000-0000-0000-000000000001/"
	one := tableKeys{Name: "game_session"}
	for n := range 100 {
		one.Keys = append(one.Keys, fmt.Sprintf("%s%08d", prefix, n*7919))
	}
	if n := len(written([]tableKeys{one})); n > 1200 {
		t.Errorf("100 keys of %d bytes take %d", len(prefix)+8, n)
	}
}
