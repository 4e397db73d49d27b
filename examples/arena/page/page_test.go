package page_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/musterhq/muster/examples/arena/page"
)

func TestHandler(t *testing.T) {
	t.Parallel()
	bots, full := 0, false
	s := httptest.NewServer(page.Handler(page.Settings{URL: "http://muster.test", Matchmaker: "demo"}, func() error {
		if full {
			return errors.New("too many bots play")
		}
		bots++
		return nil
	}))
	defer s.Close()
	ask := func(method, path, origin string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(text)
	}
	for path, want := range map[string]string{"/": "<canvas", "/page.js": "muster.player.v1", "/settings.json": `{"url":"http://muster.test","matchmaker":"demo"}`} {
		if status, text := ask("GET", path, ""); status != 200 || !strings.Contains(text, want) {
			t.Errorf("%s: %d, without %q:\n%.200s", path, status, want, text)
		}
	}
	if status, _ := ask("GET", "/src/main.ts", ""); status != 404 {
		t.Errorf("/src/main.ts: %d", status)
	}
	if status, _ := ask("POST", "/bots", s.URL); status != 204 || bots != 1 {
		t.Errorf("/bots of the page: %d, %d bots", status, bots)
	}
	if status, _ := ask("POST", "/bots", "https://elsewhere.test"); status != 403 || bots != 1 {
		t.Errorf("/bots of another site: %d, %d bots", status, bots)
	}
	full = true
	if status, text := ask("POST", "/bots", s.URL); status != 503 || !strings.Contains(text, "too many bots") {
		t.Errorf("/bots, full: %d, %s", status, text)
	}
}

// What Muster does not tell is not there, and a Muster that is not reached is another matter.
func TestHandler_Untold(t *testing.T) {
	t.Parallel()
	muster := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.URL.Query().Get("id"); got != "a/b?c" {
			t.Errorf("asked for ticket %q", got)
		}
		http.Error(w, "an access key is required", http.StatusForbidden)
	}))
	site := httptest.NewServer(page.Handler(page.Settings{URL: muster.URL}, func() error { return nil }))
	defer site.Close()
	for _, want := range []int{http.StatusNotFound, http.StatusBadGateway} {
		answer, err := http.Get(site.URL + "/matches/a%2Fb%3Fc")
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("answered %s, want %d", answer.Status, want)
		}
		muster.Close()
	}
}
