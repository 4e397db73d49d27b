package site

import (
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/musterhq/muster/docs"
)

// made returns the site of the project's documents, and its files.
func made(t *testing.T) (*Site, map[string][]byte) {
	t.Helper()
	s, err := New(docs.Files, "/console/")
	if err != nil {
		t.Fatal(err)
	}
	files, err := s.Files()
	if err != nil {
		t.Fatal(err)
	}
	return s, files
}

// Every document is in the navigation once; decisions are lists of their own page.
func TestNavigation_HasEveryDocument(t *testing.T) {
	s, _ := made(t)
	shown := map[string]int{}
	var kinds []string
	for _, k := range s.nav {
		kinds = append(kinds, k.Title)
		for _, g := range k.Groups {
			for _, e := range g.Entries {
				shown[e.URL]++
			}
		}
	}
	if want := []string{"Tutorials", "How-to guides", "Explanation", "Reference"}; !slices.Equal(kinds, want) {
		t.Errorf("the kinds of documents are %q, want %q", kinds, want)
	}
	for _, d := range s.pages {
		if d.name == first || strings.HasPrefix(d.name, "decisions/") && d.name != "decisions/README.md" {
			continue
		}
		if shown[d.url] != 1 {
			t.Errorf("docs/README.md has %s %d times: put it into one list", d.name, shown[d.url])
		}
	}
}

var (
	reference = regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	named     = regexp.MustCompile(` id="([^"]*)"`)
)

// Every link leads to a page and an anchor that are there, or to a file of the repository.
func TestLinks(t *testing.T) {
	_, files := made(t)
	anchors := map[string][]string{}
	for name, text := range files {
		for _, m := range named.FindAllStringSubmatch(string(text), -1) {
			anchors[name] = append(anchors[name], m[1])
		}
	}
	links := 0
	for name, text := range files {
		if path.Ext(name) != ".html" || name == "404.html" { // which is shown at any path
			continue
		}
		for _, m := range reference.FindAllStringSubmatch(string(text), -1) {
			links++
			to, anchor, _ := strings.Cut(m[1], "#")
			if file, ok := strings.CutPrefix(to, repository); ok {
				if _, err := os.Stat(filepath.Join("../..", filepath.FromSlash(file))); err != nil {
					t.Errorf("%s links to %s, which the repository does not have", name, file)
				}
				continue
			}
			if strings.Contains(to, "://") || to == "/console/" {
				continue
			}
			target := name
			if to != "" {
				target = path.Join(path.Dir(name), to)
			}
			if files[target] == nil {
				t.Errorf("%s links to %s, which the site does not have", name, to)
			} else if anchor != "" && !slices.Contains(anchors[target], anchor) {
				t.Errorf("%s links to %s#%s, and that page has no such section", name, target, anchor)
			}
		}
	}
	if links < 1000 {
		t.Errorf("found only %d links: the pattern is broken", links)
	}
}

// inline are parts of pages that the policy forbids.
var inline = regexp.MustCompile(`(?i)<style|<[^>]* style=|<[^>]* on[a-z]+=|<script(?:>| [^>]*>[^<])`)

func TestPages_KeepThePolicy(t *testing.T) {
	_, files := made(t)
	for name, text := range files {
		if m := inline.Find(text); path.Ext(name) == ".html" && m != nil {
			t.Errorf("%s has %q, which browsers would not load", name, m)
		}
	}
}

// Headings are named as GitHub names them.
func TestAnchors(t *testing.T) {
	var a anchors
	for _, c := range [][2]string{
		{"C#", "c"}, {"C++", "c-1"}, {"`muster local`, and more", "muster-local-and-more"},
		{"[A link](there.md) in it", "a-link-in-it"}, {"snake_case – dash", "snake_case--dash"},
	} {
		if got := string(a.Generate([]byte(c[0]), 0)); got != c[1] {
			t.Errorf("%q is named %q, want %q", c[0], got, c[1])
		}
	}
}

func TestNew_Refuses(t *testing.T) {
	for text, why := range map[string]string{
		"Text without a title.\n":     "no title",
		"# Title\n\n<b>bold</b>\n":    "HTML",
		"# Title\n\n<div>\nx\n</div>": "HTML",
	} {
		_, err := New(fstest.MapFS{"a.md": {Data: []byte(text)}}, "")
		if err == nil || !strings.Contains(err.Error(), why) || !strings.Contains(err.Error(), "a.md") {
			t.Errorf("%q: %v, want an error about a.md with %q", text, err, why)
		}
	}
}

func TestHandler(t *testing.T) {
	h := Handler(slog.New(slog.DiscardHandler))
	ask := func(method, path string, header ...string) *http.Response {
		r := httptest.NewRequest(method, path, nil)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Result()
	}
	page := ask("GET", "/docs/")
	if body, _ := io.ReadAll(page.Body); page.StatusCode != http.StatusOK || !strings.Contains(string(body), "Muster's documentation") {
		t.Errorf("the first page is answered with %d, %.200s", page.StatusCode, body)
	}
	if got := page.Header.Get("Content-Security-Policy"); got != policy {
		t.Errorf("the policy is %q", got)
	}
	for _, c := range []struct {
		method, path string
		status       int
		location     string
	}{
		{"GET", "/docs", 301, "/docs/"},
		{"GET", "/docs/hosting", 302, "/docs/hosting.html"},
		{"GET", "/docs/decisions/", 200, ""},
		{"GET", "/docs/index.js", 200, ""},
		{"HEAD", "/docs/hosting.html", 200, ""},
		{"GET", "/docs/nothing", 404, ""},
		{"GET", "/docs/../go.mod", 404, ""},
		{"POST", "/docs/", 405, ""},
	} {
		if r := ask(c.method, c.path); r.StatusCode != c.status || r.Header.Get("Location") != c.location {
			t.Errorf("%s %s is answered with %d, %q; want %d, %q", c.method, c.path, r.StatusCode, r.Header.Get("Location"), c.status, c.location)
		}
	}
	if r := ask("GET", "/docs/", "If-None-Match", page.Header.Get("ETag")); r.StatusCode != http.StatusNotModified {
		t.Errorf("a page that the browser has is answered with %d", r.StatusCode)
	}
}

// Every picture is shown by a page: what none shows only makes the program larger.
func TestPictures_AreShown(t *testing.T) {
	_, files := made(t)
	pictures, err := fs.Glob(docs.Files, "pictures/*")
	if err != nil || len(pictures) == 0 {
		t.Fatalf("found no pictures: %v", err)
	}
	for _, picture := range pictures {
		shown := false
		for name, text := range files {
			shown = shown || path.Ext(name) == ".html" && strings.Contains(string(text), picture)
		}
		if !shown {
			t.Errorf("no page shows %s", picture)
		}
	}
}
