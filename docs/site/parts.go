package site

import (
	"bytes"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// anchors names headings as GitHub does, so that a link leads to the same place
// on both.
type anchors struct{ taken map[string]bool }

// Generate returns the name of the next heading.
func (a *anchors) Generate(value []byte, _ ast.NodeKind) []byte {
	name := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r), unicode.IsNumber(r), r == '-', r == '_':
			return unicode.ToLower(r)
		case r == ' ':
			return '-'
		}
		return -1
	}, plainHeading(string(value)))
	unique := name
	for n := 1; a.taken[unique]; n++ {
		unique = name + "-" + strconv.Itoa(n)
	}
	a.Put([]byte(unique))
	return []byte(unique)
}

// Put takes a name.
func (a *anchors) Put(value []byte) {
	if a.taken == nil {
		a.taken = map[string]bool{}
	}
	a.taken[string(value)] = true
}

// plainHeading removes the targets of links from a heading.
func plainHeading(text string) string {
	for {
		before, rest, ok := strings.Cut(text, "](")
		if !ok {
			return text
		}
		_, after, _ := strings.Cut(rest, ")")
		text = before + after
	}
}

// parts writes the parts of pages that are not as goldmark writes them.
type parts struct{}

// RegisterFuncs registers them.
func (p *parts) RegisterFuncs(to renderer.NodeRendererFuncRegisterer) {
	to.Register(ast.KindHeading, p.heading)
	to.Register(ast.KindFencedCodeBlock, p.code)
}

// heading writes a heading with a link to itself.
func (p *parts) heading(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	h := n.(*ast.Heading)
	id, _ := h.AttributeString("id")
	name, _ := id.([]byte)
	level := strconv.Itoa(h.Level)
	switch {
	case entering:
		w.WriteString("<h" + level + ` id="` + string(util.EscapeHTML(name)) + `">`)
	case h.Level == 1:
		w.WriteString("</h1>\n")
	default:
		w.WriteString(` <a class="anchor" href="#` + string(util.EscapeHTML(name)) + `" aria-label="link to this section">#</a></h` + level + ">\n")
	}
	return ast.WalkContinue, nil
}

// code writes a code block, with its comments set apart.
func (p *parts) code(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	block := n.(*ast.FencedCodeBlock)
	language := string(block.Language(source))
	w.WriteString(`<div class="code"><pre`)
	if language != "" {
		w.WriteString(` data-language="` + string(util.EscapeHTML([]byte(language))) + `"`)
	}
	w.WriteString(`><code>`)
	mark := comments[language]
	for i := range block.Lines().Len() {
		at := block.Lines().At(i)
		line := at.Value(source)
		if mark != "" && bytes.HasPrefix(bytes.TrimLeft(line, " \t"), []byte(mark)) {
			w.WriteString("<i>" + string(util.EscapeHTML(bytes.TrimRight(line, "\n"))) + "</i>\n")
			continue
		}
		w.Write(util.EscapeHTML(line))
	}
	w.WriteString("</code></pre></div>\n")
	return ast.WalkSkipChildren, nil
}

// comments are what lines of comments begin with, by language.
var comments = map[string]string{
	"sh": "#", "python": "#", "yaml": "#", "toml": "#", "ini": "#", "gdscript": "#",
	"go": "//", "js": "//", "ts": "//", "csharp": "//", "cpp": "//", "c": "//", "cs": "//",
}
