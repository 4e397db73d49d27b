// Package web is the console's pages, as one program for browsers.
//
// static is sent as it is. dist is bundled from src, with the libraries in vendor, by make typescript; it needs
// no Node.js. The program of Now is loaded first, those of other pages as they are needed. The program asks the
// server it came from, and nobody else.
package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

//go:embed static dist
var files embed.FS

// kinds are the media types of files by the ends of their names.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".json": "application/json",
	".svg":  "image/svg+xml",
	".txt":  "text/plain; charset=utf-8",
}

// policy lets a page load its own program and styles, ask its own server, and nothing else:
// text that strangers have chosen is never run.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// asset is a file as it is sent.
type asset struct {
	kind, tag   string
	named       bool // its name has a hash of it
	plain, gzip []byte
}

// Handler serves the files below prefix, which ends with a slash. Every other path below it
// is a page, which the program shows.
func Handler(prefix string) http.Handler {
	assets := map[string]*asset{}
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := files.ReadFile(name)
		if err == nil {
			_, below, _ := strings.Cut(name, "/")
			assets[below] = newAsset(name, text)
		}
		return err
	})
	if err != nil {
		panic(err) // the files are part of the program
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "pages are read with GET", http.StatusMethodNotAllowed)
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
		file.send(w, r)
	})
}

func newAsset(name string, text []byte) *asset {
	sum := sha256.Sum256(text)
	a := &asset{
		kind: kinds[path.Ext(name)], tag: `"` + hex.EncodeToString(sum[:12]) + `"`, plain: text,
		named: strings.HasPrefix(name, "dist/assets/"),
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err == nil {
		_, err = z.Write(text)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		panic(err) // writing to memory
	}
	a.gzip = b.Bytes()
	return a
}

func (a *asset) send(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", a.kind)
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	if a.named {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	} else {
		h.Set("Cache-Control", "no-cache")
	}
	h.Set("Vary", "Accept-Encoding")
	h.Set("ETag", a.tag)
	if r.Header.Get("If-None-Match") == a.tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := a.plain
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = a.gzip
	}
	if r.Method == http.MethodGet {
		w.Write(body) // fails if the browser has gone
	}
}
