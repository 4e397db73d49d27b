package main

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/musterhq/muster/cli/contexts"
)

// completionCommand is `muster completion`: a script for a shell, which calls muster for
// the words that can follow.
type completionCommand struct {
	Bash  shellCommand `cmd:"" help:"Print the script for bash: source <(muster completion bash)."`
	Zsh   shellCommand `cmd:"" help:"Print the script for zsh: source <(muster completion zsh)."`
	Fish  shellCommand `cmd:"" help:"Print the script for fish: muster completion fish | source."`
	Words wordsCommand `cmd:"" hidden:"" help:"Print what can follow the given words."`
}

type shellCommand struct{}

// Run prints the script of the shell after which the command is named.
func (shellCommand) Run(t *streams, k *kong.Context) error {
	_, err := fmt.Fprint(t.out, map[string]string{
		"bash": `_muster() { mapfile -t COMPREPLY < <(muster completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}"); }
complete -o default -F _muster muster
`,
		"zsh": `#compdef muster
_muster() { compadd -- ${(f)"$(muster completion words -- "${(@)words[2,CURRENT]}")"} || _files }
compdef _muster muster
`,
		"fish": `complete -c muster -a '(set -l w (commandline -opc) (commandline -ct); muster completion words -- $w[2..])'
`,
	}[k.Selected().Name])
	return err
}

type wordsCommand struct {
	Typed []string `arg:"" optional:"" passthrough:"" help:"What was typed so far, the unfinished word last."`
}

// Run prints the words that can be completed at the last typed one.
func (c *wordsCommand) Run(t *streams, k *kong.Context) error {
	typed := c.Typed
	if len(typed) > 0 && typed[0] == "--" {
		typed = typed[1:]
	}
	for _, word := range candidates(k.Model.Node, typed) {
		fmt.Fprintln(t.out, word)
	}
	return nil
}

// candidates returns the commands or flags that complete the last of the typed words.
func candidates(n *kong.Node, typed []string) []string {
	unfinished := ""
	if len(typed) > 0 {
		unfinished = typed[len(typed)-1]
		n = walk(n, typed[:len(typed)-1])
	}
	last := ""
	if len(typed) > 1 {
		last = typed[len(typed)-2]
	}
	var words []string
	add := func(word string) {
		if strings.HasPrefix(word, unfinished) {
			words = append(words, word)
		}
	}
	if last == "--context" || n.Name == "context" || n.Name == "logout" {
		if all, err := contexts.Read(); err == nil && !strings.HasPrefix(unfinished, "-") {
			for _, name := range all.Names() {
				add(name)
			}
			return words
		}
	}
	if n.Name == "help" && n.Parent != nil && n.Parent.Parent == nil {
		n = walk(n.Parent, typed[1:max(1, len(typed)-1)])
	}
	if strings.HasPrefix(unfinished, "-") {
		for _, group := range n.AllFlags(true) {
			for _, flag := range group {
				add("--" + flag.Name)
			}
		}
		return words
	}
	for _, child := range n.Children {
		if !child.Hidden {
			add(child.Name)
		}
	}
	return words
}

// walk follows the typed words in the tree of commands.
func walk(n *kong.Node, typed []string) *kong.Node {
	for _, word := range typed {
		for _, child := range n.Children {
			if child.Name == word {
				n = child
				break
			}
		}
	}
	return n
}
