// Package site makes a web site of the project's documents: for each a page with navigation, an
// index by which a script of the page searches, and nothing that is not the site's own.
//
// Handler serves it at /docs/ of each server; write writes it to a folder, where it works without
// a server, too.
package site

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"strings"

	"github.com/musterhq/muster/console/web"
)

// repository is where links to files lead that are not part of the site.
const repository = "https://github.com/musterhq/muster/blob/main/"

//go:embed static
var static embed.FS

//go:embed page.html
var layout string

var page = template.Must(template.New("page").Parse(layout))

// A Site is made of documents: Markdown, and what that refers to.
type Site struct {
	nav   []*Kind
	pages []*document
	files fs.FS
	home  string // where the link to Muster itself leads, "" if the site stands alone
}

// New reads the documents in files. The lists in README.md are the navigation. home is the URL of
// the console, "" if the site is not served by Muster.
func New(files fs.FS, home string) (*Site, error) {
	s := &Site{files: files, home: home}
	names, err := fs.Glob(files, "*.md")
	if err != nil {
		return nil, err
	}
	more, err := fs.Glob(files, "decisions/*.md")
	if err != nil {
		return nil, err
	}
	texts, titles := map[string][]byte{}, map[string]string{}
	names = append(names, more...)
	for _, name := range names {
		if texts[name], err = fs.ReadFile(files, name); err != nil {
			return nil, err
		}
		titles[name] = titleOf(texts[name])
	}
	for _, name := range names {
		d, err := render(name, texts[name], titles)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		s.pages = append(s.pages, d)
	}
	s.nav = s.navigation()
	return s, nil
}

// Files returns the files of the site by their names: pages, styles, the script and its index, and
// pictures.
func (s *Site) Files() (map[string][]byte, error) {
	all := map[string][]byte{"tokens.css": []byte(web.Tokens), "index.js": s.index()}
	for at, d := range s.pages {
		text, err := s.page(d, at)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d.name, err)
		}
		all[d.url] = text
	}
	if s.home != "" {
		var missing bytes.Buffer
		err := page.Execute(&missing, view{
			Title: "There is no such page", Base: Prefix, Nav: s.nav, Home: s.home,
			Body: `<h1>There is no such page</h1><p>Search for it, or begin at the <a href="` + Prefix + `">first page</a>.</p>`,
		})
		if err != nil {
			return nil, err
		}
		all["404.html"] = missing.Bytes()
	}
	if err := copyFiles(all, static, "static", ""); err != nil {
		return nil, err
	}
	return all, copyFiles(all, s.files, "pictures", "pictures/")
}

// copyFiles adds the files of a folder, with a prefix to their names.
func copyFiles(to map[string][]byte, from fs.FS, folder, prefix string) error {
	entries, err := fs.ReadDir(from, folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		text, err := fs.ReadFile(from, path.Join(folder, e.Name()))
		if err != nil {
			return err
		}
		to[prefix+e.Name()] = text
	}
	return nil
}

// view is what the layout shows.
type view struct {
	Title, Summary string
	Base           string // from the page to the top of the site
	Kind           string
	Current        string // the page's URL
	Nav            []*Kind
	Outline        []heading
	Body           template.HTML
	Previous, Next *Entry
	Source         string // where the document can be changed
	Home           string
}

func (s *Site) page(d *document, at int) ([]byte, error) {
	v := view{
		Title: d.title, Summary: d.summary, Base: strings.Repeat("../", strings.Count(d.name, "/")), Current: d.url,
		Nav: s.nav, Body: template.HTML(d.body), Source: repository + "docs/" + d.name, Home: s.home,
	}
	for _, h := range d.headings {
		if h.Level == 2 {
			v.Outline = append(v.Outline, h)
		}
	}
	if len(v.Outline) < 2 {
		v.Outline = nil
	}
	v.Kind, v.Previous, v.Next = s.around(d.url)
	var b bytes.Buffer
	err := page.Execute(&b, v)
	return b.Bytes(), err
}
