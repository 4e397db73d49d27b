package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/musterhq/muster/internal/nearest"
)

// misnamed returns an error if a word stands where a subcommand belongs and is none, with the
// command that was likely meant; otherwise it returns nil. wrong is the parser's error, if it
// has one.
//
// A default subcommand with an argument reads any word as that argument. There the word is
// refused only if it is a subcommand's name but for a letter or two; after the default
// subcommand's own name, or after "--", it is never refused.
func misnamed(parsed *kong.Context, wrong error) error {
	node, argument := parsed.Model.Node, (*kong.Path)(nil)
	for _, p := range parsed.Path {
		switch {
		case p.Command != nil && node.DefaultCmd == p.Command && !slices.Contains(parsed.Args, p.Command.Name):
		case p.Command != nil:
			node = p.Command
		case p.Positional != nil && argument == nil:
			argument = p
		}
	}
	switch {
	case node.Leaf():
		return nil
	case argument != nil:
		word := fmt.Sprint(parsed.Value(argument).Interface())
		meant := nearest.Within(word, namesOf(node), 1+len(word)/6)
		if meant == "" || slices.Contains(parsed.Args, "--") {
			return nil
		}
		return fmt.Errorf("%w; if it is a name, type it after the command: '%s %s'", noCommand(node, word, meant), node.DefaultCmd.FullPath(), word)
	case wrong == nil:
		return nil
	}
	text, ok := strings.CutPrefix(wrong.Error(), "unexpected argument ")
	if !ok {
		return nil
	}
	word, _, _ := strings.Cut(text, ", did you mean ")
	return noCommand(node, word, nearest.Of(word, namesOf(node)))
}

// noCommand returns the error that a command has no subcommand of a name, with the one that
// was likely meant, or with all if meant is "".
func noCommand(n *kong.Node, word, meant string) error {
	path := n.FullPath()
	switch {
	case meant != "":
		return fmt.Errorf("there is no command \"%s %s\" (did you mean \"%s %s\"?)", path, word, path, meant)
	case n.Parent != nil:
		return fmt.Errorf("there is no command \"%s %s\"; there are: %s", path, word, strings.Join(namesOf(n), ", "))
	}
	return fmt.Errorf("there is no command \"%s %s\"", path, word) // that would be too many to list
}

// namesOf returns the names of the subcommands that help shows.
func namesOf(n *kong.Node) (names []string) {
	for _, child := range n.Children {
		if !child.Hidden {
			names = append(names, child.Name)
		}
	}
	return names
}
