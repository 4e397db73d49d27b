package site

import (
	"bytes"
	"errors"
	"path"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// A document is a page of the site before it has a layout.
type document struct {
	name           string // of its Markdown, in docs
	url            string // in the site
	title, summary string
	body           string // HTML
	headings       []heading
	sections       []section // for the index
	items          []item
}

// A heading of a document; level 1 is its title.
type heading struct {
	Level    int
	ID, Text string
}

// A section is what is below a heading, as text.
type section struct{ heading, id, text string }

// An item is an item of a list that begins with a link to another page.
type item struct{ section, group, title, url string }

// markdown reads documents as GitHub does. It leaves HTML in them out.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(&parts{}, 100))),
)

// render makes a page of a document. Links whose text is the name of a file show the title of that
// document instead, which titles has.
func render(name string, source []byte, titles map[string]string) (*document, error) {
	d := &document{name: name, url: urlOf(name)}
	root := markdown.Parser().Parse(text.NewReader(source), parser.WithContext(parser.NewContext(parser.WithIDs(&anchors{}))))
	err := ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			to := string(n.Destination)
			if title := titles[path.Join(path.Dir(name), to)]; title != "" && words(n, source) == path.Base(to) {
				n.RemoveChildren(n)
				n.AppendChild(n, ast.NewString([]byte(title)))
			}
			n.Destination = []byte(destination(name, to))
		case *ast.RawHTML, *ast.HTMLBlock:
			return ast.WalkStop, errors.New("HTML in a document is not shown")
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return nil, err
	}
	d.read(root, source)
	if d.title == "" {
		return nil, errors.New("the document has no title: begin it with one, # Title")
	}
	var b bytes.Buffer
	if err := markdown.Renderer().Render(&b, source, root); err != nil {
		return nil, err
	}
	d.body = strings.NewReplacer("<table>", `<div class="wide"><table>`, "</table>", "</table></div>").Replace(b.String())
	return d, nil
}

// read takes from a document what is shown apart from it.
func (d *document) read(root ast.Node, source []byte) {
	kind, group := "", ""
	for n := root.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Heading:
			id, _ := n.AttributeString("id")
			idText, _ := id.([]byte)
			h := heading{Level: n.Level, ID: string(idText), Text: words(n, source)}
			d.headings = append(d.headings, h)
			switch n.Level {
			case 1:
				d.title, h.ID = h.Text, ""
			case 2:
				kind, group = h.Text, ""
			default:
				group = h.Text
			}
			d.sections = append(d.sections, section{heading: h.Text, id: h.ID})
			continue
		case *ast.List:
			d.items = append(d.items, items(n, source, kind, group)...)
		case *ast.Paragraph:
			if d.summary == "" {
				d.summary = words(n, source)
			}
		}
		if len(d.sections) > 0 {
			s := &d.sections[len(d.sections)-1]
			s.text = strings.TrimSpace(s.text + " " + words(n, source))
		}
	}
}

// titleOf returns the title of a document, "" if it does not begin with one.
func titleOf(source []byte) string {
	line, _, _ := bytes.Cut(source, []byte("\n"))
	title, _ := bytes.CutPrefix(line, []byte("# "))
	if len(title) == len(line) {
		return ""
	}
	return string(bytes.TrimSpace(title))
}

// items returns the items of a list that begin with a link to a page.
func items(list *ast.List, source []byte, kind, group string) []item {
	var all []item
	for li := list.FirstChild(); li != nil; li = li.NextSibling() {
		if li.FirstChild() == nil {
			continue
		}
		if link, ok := li.FirstChild().FirstChild().(*ast.Link); ok && strings.HasSuffix(string(link.Destination), ".html") {
			all = append(all, item{section: kind, group: group, title: words(link, source), url: string(link.Destination)})
		}
	}
	return all
}

// longest is how many lines of a code block are found by a search: programs are not looked up.
const longest = 30

// words returns the text of a node in one line.
func words(n ast.Node, source []byte) string {
	var b strings.Builder
	ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Text:
			if entering {
				b.Write(n.Segment.Value(source))
				if n.SoftLineBreak() || n.HardLineBreak() {
					b.WriteByte(' ')
				}
			}
		case *ast.String:
			if entering {
				b.Write(n.Value)
			}
		case *ast.AutoLink:
			if entering {
				b.Write(n.URL(source))
			}
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			if lines := n.Lines(); entering && lines.Len() <= longest {
				for i := range lines.Len() {
					at := lines.At(i)
					b.Write(at.Value(source))
				}
			}
		default:
			if n.Type() == ast.TypeBlock {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	}) // which returns the errors of the function, of which there are none
	return strings.Join(strings.Fields(b.String()), " ")
}

// urlOf returns the URL in the site of a document: the first one of a folder is its index.
func urlOf(name string) string {
	folder, file := path.Split(name)
	if file == first {
		return folder + "index.html"
	}
	return strings.TrimSuffix(name, ".md") + ".html"
}

// destination returns where a link of a document leads. Files that are not in the site are in the
// repository.
func destination(from, to string) string {
	target, anchor, hasAnchor := strings.Cut(to, "#")
	if target == "" || strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
		return to
	}
	if hasAnchor {
		anchor = "#" + anchor
	}
	inside := path.Join("docs", path.Dir(from), target)
	below, ok := strings.CutPrefix(inside, "docs/")
	switch {
	case !ok:
		return repository + inside + anchor
	case strings.HasSuffix(below, ".md"):
		folder, file := path.Split(target)
		return folder + urlOf(file) + anchor
	case !strings.HasPrefix(below, "pictures/"):
		return repository + inside + anchor
	}
	return to
}
