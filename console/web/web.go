// Package web is the console's pages, as one program for browsers.
//
// static is sent as it is. dist is bundled from src, with the libraries in vendor, by make typescript; it needs
// no Node.js. The program of Now is loaded first, those of other pages as they are needed. The program asks the
// server it came from, and nobody else.
package web

import (
	"embed"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"github.com/musterhq/muster/internal/asset"
)

//go:embed static dist
var files embed.FS

// Tokens is the style sheet with every color, size and duration of the console, for other pages
// that look as it does.
//
//go:embed src/style/tokens.css
var Tokens string

// policy lets a page load its own program and styles, ask its own server, and nothing else:
// text that strangers have chosen is never run.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Handler serves the files below prefix, which ends with a slash. Every other path below it
// is a page, which the program shows.
func Handler(prefix string) http.Handler {
	assets := map[string]*asset.Asset{}
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := files.ReadFile(name)
		if err == nil {
			_, below, _ := strings.Cut(name, "/")
			assets[below] = asset.New(name, text, asset.Options{Policy: policy, Named: strings.HasPrefix(name, "dist/assets/")})
		}
		return err
	})
	if err != nil {
		panic(err) // the files are part of the program
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !asset.Reads(w, r) {
			return
		}
		name := strings.TrimPrefix(r.URL.Path, prefix)
		file := assets[name]
		switch {
		case file == nil && path.Ext(name) != "" && strings.HasPrefix(name, "assets/"):
			http.NotFound(w, r)
			return
		case file == nil:
			file = assets["index.html"]
		}
		file.Send(w, r, http.StatusOK)
	})
}
