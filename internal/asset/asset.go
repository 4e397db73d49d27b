// Package asset sends files of the program's own to browsers: compressed, with an entity tag,
// and with headers that keep pages from loading anything of others.
package asset

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"path"
	"strings"
)

// kinds are the media types of files by the ends of their names.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".json": "application/json",
	".svg":  "image/svg+xml",
	".png":  "image/png",
	".webp": "image/webp",
	".txt":  "text/plain; charset=utf-8",
}

// An Asset is a file as it is sent.
type Asset struct {
	kind, tag   string
	policy      string
	named       bool
	plain, gzip []byte // gzip is nil if the file is compressed already
}

// Options say how a file is sent.
type Options struct {
	Policy string // its Content-Security-Policy
	Named  bool   // its name has a hash of it, so that browsers never ask for it again
}

// New returns the asset of a file, whose kind follows from the end of its name.
func New(name string, text []byte, o Options) *Asset {
	sum := sha256.Sum256(text)
	a := &Asset{
		kind: kinds[path.Ext(name)], tag: `"` + hex.EncodeToString(sum[:12]) + `"`, plain: text,
		policy: o.Policy, named: o.Named,
	}
	if strings.HasPrefix(a.kind, "image/") && a.kind != kinds[".svg"] {
		return a
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

// Reads reports whether a request reads. If not, it is answered with an error.
func Reads(w http.ResponseWriter, r *http.Request) bool {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return true
	}
	w.Header().Set("Allow", "GET, HEAD")
	http.Error(w, "pages are read with GET", http.StatusMethodNotAllowed)
	return false
}

// Send answers a request with the file and a status. Browsers that have the file learn that it
// has not changed.
func (a *Asset) Send(w http.ResponseWriter, r *http.Request, status int) {
	h := w.Header()
	h.Set("Content-Type", a.kind)
	h.Set("Content-Security-Policy", a.policy)
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
	if status == http.StatusOK && r.Header.Get("If-None-Match") == a.tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := a.plain
	if a.gzip != nil && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = a.gzip
	}
	w.WriteHeader(status)
	if r.Method == http.MethodGet {
		w.Write(body) // fails if the browser has gone
	}
}
