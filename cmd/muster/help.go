package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/musterhq/muster/cli/style"
	"github.com/musterhq/muster/cli/usage"
	"github.com/musterhq/muster/internal/nearest"
)

// groups are the headings of the overview and of flags, in their order.
var groups = []kong.Group{
	{Key: "start", Title: "Start here"},
	{Key: "game", Title: "Your game"},
	{Key: "operate", Title: "Look and operate"},
	{Key: "run", Title: "Run servers and machines"},
	{Key: "admin", Title: "Administer"},
	{Key: "self", Title: "This program"},
	{Key: "server", Title: "Which server, and how to show the answer"},
}

// helpCommand is `muster help`.
type helpCommand struct {
	Output string   `short:"o" group:"server" enum:"table,text,json" default:"table" env:"-" help:"table, or json: the tree of commands with their flags (${default})."`
	Topic  []string `arg:"" optional:"" placeholder:"COMMAND" help:"The command to show; without one, all of them."`
}

// Run shows how a command is used.
func (c *helpCommand) Run(t *streams, k *kong.Kong) error {
	root := tree(k)
	path := strings.Join(c.Topic, " ")
	command := root.Find(path)
	if command == nil {
		return fmt.Errorf("help: there is no command %q%s; 'muster help' lists them", path, near(k.Model.Node, c.Topic))
	}
	if c.Output == "json" {
		e := json.NewEncoder(t.out)
		e.SetIndent("", "  ")
		return e.Encode(command)
	}
	return showHelp(t, &root, command)
}

// near returns a question that names the command which was likely meant, or "".
func near(n *kong.Node, words []string) string {
	for _, word := range words {
		var names []string
		var next *kong.Node
		for _, child := range n.Children {
			if child.Name == word {
				next = child
			} else if !child.Hidden {
				names = append(names, child.Name)
			}
		}
		if next == nil {
			return nearest.DidYouMean(word, names)
		}
		n = next
	}
	return ""
}

// tree returns all commands of the program, with their flags and examples.
func tree(k *kong.Kong) usage.Command { return usage.Of(k.Model, examples) }

// showHelp writes the help of a command, or the overview for the root.
func showHelp(t *streams, root, command *usage.Command) error {
	page := usage.Page{Out: t.screen, Style: style.Of(t.screen), Width: min(style.Width(t.screen, 100), 110)}
	if command != root {
		return page.Help(root, command)
	}
	var titles []string
	for _, g := range groups {
		titles = append(titles, g.Title)
	}
	return page.Overview(root, titles[:len(titles)-1], "Run 'muster help COMMAND' to see its flags and examples. "+
		"Flags of servers and agents, and those that say which server to ask, have variables: MUSTER_ENDPOINT sets --endpoint.")
}

// printHelp is called by kong for --help.
func printHelp(t *streams) kong.HelpPrinter {
	return func(_ kong.HelpOptions, k *kong.Context) error {
		root := tree(k.Kong)
		return showHelp(t, &root, root.Find(typedPath(k)))
	}
}

// typedPath returns the path of the command that was typed, without a default subcommand
// that was not.
func typedPath(k *kong.Context) string {
	var path []string
	for _, p := range k.Path {
		if p.Command != nil && (slices.Contains(k.Args, p.Command.Name) || slices.ContainsFunc(p.Command.Aliases, func(a string) bool { return slices.Contains(k.Args, a) })) {
			path = append(path, p.Command.Name)
		}
	}
	return strings.Join(path, " ")
}

// unfinished reports whether words lead to a command that only has subcommands, none of
// which runs by default.
func unfinished(n *kong.Node, words []string) bool {
	for _, word := range words {
		at := slices.IndexFunc(n.Children, func(child *kong.Node) bool { return child.Name == word || slices.Contains(child.Aliases, word) })
		if at < 0 {
			return false
		}
		n = n.Children[at]
	}
	return !n.Leaf() && n.DefaultCmd == nil
}
