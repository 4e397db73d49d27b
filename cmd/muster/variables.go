package main

import (
	"os"
	"strings"

	"github.com/alecthomas/kong"
)

// variables sets the MUSTER_… variables of flags, each of which has one meaning: those of
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

// setVariable sets the variable of a flag, unless it has one or none by its tag.
func setVariable(f *kong.Flag) {
	if len(f.Envs) == 0 {
		f.Envs = []string{variableOf(f)}
		f.Tag.Envs = f.Envs
	}
}

// variableOf returns the name of the variable that a flag has, if it has one.
func variableOf(f *kong.Flag) string {
	return "MUSTER_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
}

// notRead returns the variables that are set as if they set a flag of the command that was
// typed, which has none: "MUSTER_FLEET, for --fleet". Those that have a meaning with another
// command are not among them.
func notRead(k *kong.Context) (all []string) {
	meant := map[string]bool{}
	everyFlag(k.Model.Node, func(f *kong.Flag) {
		for _, v := range f.Envs {
			meant[v] = true
		}
	})
	for n := k.Selected(); n != nil && n.Parent != nil; n = n.Parent {
		for _, f := range n.Flags {
			if v := variableOf(f); os.Getenv(v) != "" && !meant[v] {
				all = append(all, v+", for --"+f.Name)
			}
		}
	}
	return all
}
