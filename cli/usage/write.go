package usage

import (
	"fmt"
	"io"
	"strings"

	"github.com/musterhq/muster/cli/style"
)

// Page is where help is written.
type Page struct {
	Out   io.Writer
	Style style.Style
	Width int // columns; lines are wrapped at that
}

// row is a line of two columns.
type row struct {
	left, right string
}

// Overview writes what the program is, and its commands under the headings of their groups,
// which come in the order given. Commands without a group come last, as the others.
func (p Page) Overview(root *Command, groups []string, foot string) error {
	var b strings.Builder
	p.paragraph(&b, root.Summary, "")
	fmt.Fprintf(&b, "\nUsage: %s\n", root.Synopsis)
	widest := 0
	for _, c := range root.Commands {
		widest = max(widest, len(c.Path))
	}
	for _, group := range groups {
		var rows []row
		for _, c := range root.Commands {
			if c.Group == group {
				rows = append(rows, row{c.Path, c.Summary})
			}
		}
		p.heading(&b, group)
		p.rows(&b, rows, widest)
	}
	p.heading(&b, "Flags of every command")
	p.flags(&b, root.Flags)
	b.WriteString("\n")
	p.paragraph(&b, foot, "")
	_, err := io.WriteString(p.Out, b.String())
	return err
}

// Help writes how a command is used. The default subcommand's flags are shown with the
// command, since they can follow it directly.
func (p Page) Help(root, c *Command) error {
	var b strings.Builder
	p.paragraph(&b, c.Summary, "")
	if c.Detail != "" {
		b.WriteString("\n")
		p.detail(&b, c.Detail)
	}
	fmt.Fprintf(&b, "\nUsage: %s\n", c.Synopsis)
	flags, examples := c.Flags, c.Examples
	if d := root.Find(c.Default); c.Default != "" && d != nil {
		flags, examples = append(flags[:len(flags):len(flags)], d.Flags...), append(examples[:len(examples):len(examples)], d.Examples...)
	}
	p.examples(&b, examples)
	p.subcommands(&b, c)
	if len(c.Arguments) > 0 {
		p.heading(&b, "Arguments")
		var rows []row
		for _, a := range c.Arguments {
			rows = append(rows, row{a.Name, a.Help})
		}
		p.rows(&b, rows, 0)
	}
	p.groupedFlags(&b, flags)
	_, err := io.WriteString(p.Out, b.String())
	return err
}

// subcommands writes a command's own commands, with the sentence of each.
func (p Page) subcommands(b *strings.Builder, c *Command) {
	if len(c.Commands) == 0 {
		return
	}
	p.heading(b, "Commands")
	var rows []row
	for _, child := range c.Commands {
		name := strings.TrimPrefix(child.Path, c.Path+" ")
		if child.Path == c.Default {
			name += " (default)"
		}
		rows = append(rows, row{name, child.Summary})
	}
	p.rows(b, rows, 0)
}

func (p Page) examples(b *strings.Builder, all []Example) {
	if len(all) == 0 {
		return
	}
	p.heading(b, "Examples")
	for _, e := range all {
		fmt.Fprintf(b, "  %s\n", p.Style.Faint("# "+e.Does))
		fmt.Fprintf(b, "  %s\n", p.Style.Name(e.Line))
	}
}

// groupedFlags writes a command's own flags, then those under other headings in the order of
// their first.
func (p Page) groupedFlags(b *strings.Builder, all []Flag) {
	groups := map[string][]Flag{}
	names := []string{""}
	for _, f := range all {
		if _, known := groups[f.Group]; !known && f.Group != "" {
			names = append(names, f.Group)
		}
		groups[f.Group] = append(groups[f.Group], f)
	}
	for _, name := range names {
		if len(groups[name]) == 0 {
			continue
		}
		title := name
		if title == "" {
			title = "Flags"
		}
		p.heading(b, title)
		p.flags(b, groups[name])
	}
}

func (p Page) flags(b *strings.Builder, all []Flag) {
	var rows []row
	for _, f := range all {
		left := "    --" + f.Name
		if f.Negatable {
			left = "    --[no-]" + f.Name
		}
		if f.Short != "" {
			left = "-" + f.Short + ", " + left[4:]
		}
		if f.Value != "" {
			left += " " + f.Value
		}
		rows = append(rows, row{left, f.Help})
	}
	p.rows(b, rows, 0)
}

func (p Page) heading(b *strings.Builder, text string) {
	fmt.Fprintf(b, "\n%s\n", p.Style.Bold(text))
}

// maxLeft bounds the left column; what is longer has a line of its own.
const maxLeft = 30

// rows writes two columns, of which the left one has at least so many columns.
func (p Page) rows(b *strings.Builder, rows []row, least int) {
	left := least
	for _, r := range rows {
		if len(r.left) <= maxLeft {
			left = max(left, len(r.left))
		}
	}
	indent := strings.Repeat(" ", left+4)
	for _, r := range rows {
		lines := style.Wrap(r.right, max(p.Width-len(indent), 30))
		b.WriteString("  " + p.Style.Name(r.left))
		if len(r.left) > left {
			b.WriteString("\n" + indent)
		} else {
			b.WriteString(strings.Repeat(" ", left+2-len(r.left)))
		}
		b.WriteString(strings.Join(lines, "\n"+indent) + "\n")
	}
}

// detail writes paragraphs; lines that are indented stay as they are.
func (p Page) detail(b *strings.Builder, text string) {
	for n, part := range strings.Split(text, "\n\n") {
		if n > 0 {
			b.WriteString("\n")
		}
		if strings.HasPrefix(part, "    ") || strings.HasPrefix(part, "\t") {
			b.WriteString(part + "\n")
			continue
		}
		p.paragraph(b, part, "")
	}
}

func (p Page) paragraph(b *strings.Builder, text, indent string) {
	for _, line := range style.Wrap(text, p.Width-len(indent)) {
		b.WriteString(indent + line + "\n")
	}
}
