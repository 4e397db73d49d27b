package app

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/musterhq/muster/app/pages"
	"github.com/musterhq/muster/auth"
)

// A page that shows a part of the game sessions gets that part, and how many there are.
func TestSessions_Parts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.games(7)
	anybody := func(*http.Request, auth.Action) (auth.Caller, error) { return auth.Anybody(), nil }
	read := b.home().domain.pages.Views(pages.Gate{Who: anybody})["sessions"].Data
	list := func(query string) *pages.SessionList {
		t.Helper()
		q, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		data, err := read(t.Context(), auth.Anybody(), q)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		return data.(*pages.SessionList)
	}
	all := list("")
	if len(all.Sessions) != 7 || all.From != 0 || all.Found != 7 {
		t.Fatalf("%d of %d from %d", len(all.Sessions), all.Found, all.From)
	}
	for query, want := range map[string]struct{ from, count int }{
		"from=2&limit=3": {2, 3}, "from=5&limit=3": {5, 2}, "from=7": {7, 0}, "from=100": {7, 0}, "from=0&limit=1": {0, 1},
		"from=1&text=" + url.QueryEscape(all.Sessions[4].ID): {1, 0},
	} {
		got := list(query)
		if got.From != want.from || len(got.Sessions) != want.count || got.All != 7 || !strings.Contains(query, "text") && got.Found != 7 {
			t.Errorf("%s: %d of %d from %d", query, len(got.Sessions), got.Found, got.From)
		}
		for i, row := range got.Sessions {
			if other := all.Sessions[got.From+i]; row.ID != other.ID {
				t.Errorf("%s: %s is in place of %s", query, row.ID, other.ID)
			}
		}
	}
	for query, want := range map[string]string{
		"from=-1": `from: "-1" is no number from 0 to 2147483647`, "from=x": `from: "x" is no number`, "limit=0": `limit: "0" is no number from 1 to 10000`, "limit=10001": `limit: "10001" is no number`,
	} {
		q, _ := url.ParseQuery(query)
		if _, err := read(t.Context(), auth.Anybody(), q); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", query, err, want)
		}
	}
}
