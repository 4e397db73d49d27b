package site

import (
	"log/slog"
	"net/http"
	"strings"
	"sync"

	"github.com/musterhq/muster/docs"
	"github.com/musterhq/muster/internal/asset"
)

// policy lets a page load its own script, styles and pictures, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Prefix is the path below which Handler serves the site.
const Prefix = "/docs/"

// Handler serves the site with the documents of this program to anybody. The pages are made when
// the first one is asked for.
func Handler(logger *slog.Logger) http.Handler {
	assets := sync.OnceValues(load)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !asset.Reads(w, r) {
			return
		}
		all, err := assets()
		if err != nil {
			logger.Error("the documents cannot be shown", "error", err)
			http.Error(w, "the documents cannot be shown: the log says why", http.StatusInternalServerError)
			return
		}
		name, below := strings.CutPrefix(r.URL.Path, Prefix)
		if !below {
			http.Redirect(w, r, Prefix, http.StatusMovedPermanently)
			return
		}
		if name == "" || strings.HasSuffix(name, "/") {
			name += "index.html"
		}
		switch file := all[name]; {
		case file != nil:
			file.Send(w, r, http.StatusOK)
		case all[name+".html"] != nil:
			http.Redirect(w, r, Prefix+name+".html", http.StatusFound)
		default:
			all["404.html"].Send(w, r, http.StatusNotFound)
		}
	})
}

// load makes the pages of the documents.
func load() (map[string]*asset.Asset, error) {
	s, err := New(docs.Files, "/console/")
	if err != nil {
		return nil, err
	}
	files, err := s.Files()
	if err != nil {
		return nil, err
	}
	all := map[string]*asset.Asset{}
	for name, text := range files {
		all[name] = asset.New(name, text, asset.Options{Policy: policy})
	}
	return all, nil
}
