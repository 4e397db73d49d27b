package main

import (
	"strings"

	"github.com/alecthomas/kong"
)

// variables gives flags their MUSTER_… variables, each of which has one meaning: those of
// servers, agents and other programs that run on; those of the state that servers work on,
// wherever it is; and those that say which server to ask, and how to show the answer. Flags of
// single commands, such as simulate's --for, have none.
func variables(k *kong.Kong) error {
	state := map[string]bool{}
	for _, n := range k.Model.Children {
		switch n.Name {
		case "local", "serve", "agent", "beacon", "wrap":
			everyFlag(n, func(f *kong.Flag) {
				setVariable(f)
				state[f.Name] = state[f.Name] || n.Name == "local"
			})
		}
	}
	everyFlag(k.Model.Node, func(f *kong.Flag) {
		if f.Group != nil && f.Group.Key == "server" || state[f.Name] {
			setVariable(f)
		}
		if len(f.Envs) == 1 && f.Envs[0] == "-" {
			f.Envs, f.Tag.Envs = nil, nil
		}
	})
	return nil
}

// everyFlag calls do with each flag of a command and of those below it.
func everyFlag(n *kong.Node, do func(*kong.Flag)) {
	for _, f := range n.Flags {
		if f.Name != "help" {
			do(f)
		}
	}
	for _, child := range n.Children {
		everyFlag(child, do)
	}
}

// setVariable gives a flag its variable, unless it has one or none by its tag.
func setVariable(f *kong.Flag) {
	if len(f.Envs) == 0 {
		f.Envs = []string{"MUSTER_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))}
		f.Tag.Envs = f.Envs
	}
}
