package main

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/musterhq/muster/cli/usage"
	"github.com/musterhq/muster/test/document"
)

//go:generate go test -count=1 -run TestReference -update .

var update = flag.Bool("update", false, "write docs/commands.md and docs/configuration.md anew")

// services are the commands that run until they are ended: their flags are the configuration.
var services = []string{"serve", "local", "agent run", "beacon"}

// titleOf returns the name by which the configuration lists a service: run can be left out.
func titleOf(service string) string { return "muster " + strings.TrimSuffix(service, " run") }

// docs/commands.md lists exactly the commands, with their flags.
func TestReference_Commands(t *testing.T) {
	root := program(t)
	var b strings.Builder
	b.WriteString(commandsHead)
	b.WriteString("\n## Flags of every command\n\n" + flagTable(slices.DeleteFunc(slices.Clone(root.Flags), func(f usage.Flag) bool { return f.Group != "" })))
	if shared := sharedFlags(&root); len(shared) > 0 {
		fmt.Fprintf(&b, "\n## %s\n\nCommands that talk to a server have these flags.\n\n%s", serverGroup, flagTable(shared))
	}
	for _, g := range groups {
		first := true
		for i := range root.Commands {
			top := &root.Commands[i]
			if top.Group != g.Title {
				continue
			}
			if first {
				fmt.Fprintf(&b, "\n## %s\n", g.Title)
				first = false
			}
			for _, c := range top.Leaves() {
				b.WriteString(commandSection(c))
			}
		}
	}
	document.Written(t, "commands.md", b.String(), *update)
}

const commandsHead = `# Commands

Every command of ` + "`muster`" + ` with its arguments and flags, as ` + "`muster help COMMAND`" + ` shows them. What servers, agents
and beacons can be set to is in [configuration](configuration.md).

Generated from the program; do not edit. Each flag has a variable, unless its row has a dash: ` + "`MUSTER_PUBLIC_URL`" + `
sets ` + "`--public-url`" + `.
`

// serverGroup is the heading of the flags that all commands share which talk to a server.
const serverGroup = "Which server, and how to show the answer"

// sharedFlags returns the flags of that heading, each once.
func sharedFlags(root *usage.Command) (all []usage.Flag) {
	for _, c := range root.Leaves() {
		for _, f := range c.Flags {
			if f.Group == serverGroup && !slices.ContainsFunc(all, func(o usage.Flag) bool { return o.Name == f.Name }) {
				all = append(all, f)
			}
		}
	}
	return all
}

func commandSection(c *usage.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n### muster %s\n\n%s\n\n```\n%s\n```\n", c.Path, c.Summary, c.Synopsis)
	if c.Detail != "" {
		b.WriteString("\n" + c.Detail + "\n")
	}
	for _, e := range c.Examples {
		fmt.Fprintf(&b, "\n%s:\n\n```\n%s\n```\n", e.Does, e.Line)
	}
	if len(c.Arguments) > 0 {
		var rows [][]string
		for _, a := range c.Arguments {
			rows = append(rows, []string{"`" + a.Name + "`", a.Help})
		}
		b.WriteString("\n" + document.Table([]string{"argument", "meaning"}, rows))
	}
	own := slices.DeleteFunc(slices.Clone(c.Flags), func(f usage.Flag) bool { return f.Group == serverGroup })
	switch {
	case slices.Contains(services, c.Path):
		fmt.Fprintf(&b, "\nIts flags are in [configuration](configuration.md#%s).\n", strings.ReplaceAll(titleOf(c.Path), " ", "-"))
	case len(own) > 0:
		b.WriteString("\n" + flagTable(own))
	}
	if len(own) < len(c.Flags) {
		b.WriteString("\nTalks to a server ([flags](#which-server-and-how-to-show-the-answer)).\n")
	}
	return b.String()
}

func flagTable(flags []usage.Flag) string {
	var rows [][]string
	for _, f := range flags {
		name := "`--" + f.Name + "`"
		if f.Negatable {
			name = "`--[no-]" + f.Name + "`"
		}
		if f.Short != "" {
			name = "`-" + f.Short + "` " + name
		}
		variable := "–"
		if len(f.Variables) > 0 {
			variable = "`" + strings.Join(f.Variables, "`, `") + "`"
		}
		help := escaped(f.Help)
		if f.Required {
			help += " Required."
		}
		rows = append(rows, []string{name, variable, help})
	}
	return document.Table([]string{"flag", "variable", "meaning (default)"}, rows)
}

// escaped keeps what looks like HTML or emphasis in a help text as it is.
func escaped(text string) string {
	return strings.NewReplacer("<", `\<`, "*", `\*`, "_", `\_`).Replace(text)
}

// docs/configuration.md lists exactly what services can be set to.
func TestReference_Configuration(t *testing.T) {
	root := program(t)
	var b strings.Builder
	b.WriteString(configurationHead)
	var before []string // the flags of muster serve
	for _, path := range services {
		c := root.Find(path)
		if c == nil {
			t.Fatalf("there is no command %q", path)
		}
		own := slices.DeleteFunc(slices.Clone(c.Flags), func(f usage.Flag) bool { return path == "local" && slices.Contains(before, f.Name) })
		if len(own) == 0 {
			t.Errorf("%s has no flags", path)
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s", titleOf(path), c.Summary)
		if path == "local" {
			b.WriteString(" It has the flags of `muster serve`, and these.")
		}
		b.WriteString("\n\n" + flagTable(own))
		if path == "serve" {
			for _, f := range own {
				before = append(before, f.Name)
			}
		}
	}
	document.Written(t, "configuration.md", b.String(), *update)
}

const configurationHead = `# Configuration

What servers, agents and beacons can be set to. Nothing must be: each has a default.

Each setting is a flag and a variable; the flag wins. For ` + "`muster serve` and `muster local`" + `, it is also a field
of the YAML file that ` + "`--config`" + ` names, which counts least; ` + "`muster admin backup`, `restore` and `verify`" + ` read the
same file. Agents and beacons have no such file: they are set with variables, such as in the environment file of
their service. Fields are named like flags, without dashes in front; lists may be lists of YAML:

` + "```yaml" + `
listen: 0.0.0.0:9080
store-file: /etc/muster/store
tls-cert: /etc/muster/cert.pem
tls-key: /etc/muster/key.pem
limits:
  game-backend: 2000:4000
` + "```" + `

` + "`muster serve`" + ` reads some of it again on SIGHUP ([which](operations.md#a-server)); the rest takes effect at the next
start. A field that none of the commands with ` + "`--config`" + ` has is an error; it is named with its line, and so
are wrong values.

Generated from the program; do not edit.
`
