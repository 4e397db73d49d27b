// Package usage describes a program's commands as data: help is written from it, and so is
// the reference in the documentation.
package usage

import (
	"strings"

	"github.com/alecthomas/kong"
)

// Command is a command with its subcommands; the root is the program itself.
type Command struct {
	Path      string     `json:"path"`              // the words after the program's name: "admin keys create"; "" for the program
	Synopsis  string     `json:"synopsis"`          // how it is typed: "muster deploy [FOLDER] [flags]"
	Summary   string     `json:"summary"`           // a sentence
	Detail    string     `json:"detail,omitempty"`  // paragraphs, separated by empty lines; indented ones are code
	Group     string     `json:"group,omitempty"`   // the heading under which the overview lists it; only of the program's own commands
	Default   string     `json:"default,omitempty"` // path of the subcommand that runs if none is named
	Arguments []Argument `json:"arguments,omitempty"`
	Flags     []Flag     `json:"flags,omitempty"` // without those of every command (the root's)
	Examples  []Example  `json:"examples,omitempty"`
	Commands  []Command  `json:"commands,omitempty"`
}

// Argument is a word that is not a flag.
type Argument struct {
	Name     string `json:"name"` // in capitals, as help shows it
	Help     string `json:"help"`
	Optional bool   `json:"optional,omitempty"`
	Repeated bool   `json:"repeated,omitempty"` // takes all words that are left
}

// Flag is a flag of a command.
type Flag struct {
	Name      string   `json:"name"`              // without dashes
	Short     string   `json:"short,omitempty"`   // one letter
	Aliases   []string `json:"aliases,omitempty"` // other names, without dashes
	Value     string   `json:"value,omitempty"`   // what follows it, such as FILE; "" if nothing does
	Default   string   `json:"default,omitempty"`
	OneOf     []string `json:"one_of,omitempty"`
	Required  bool     `json:"required,omitempty"`
	Negatable bool     `json:"negatable,omitempty"` // --no-NAME exists
	Variables []string `json:"variables,omitempty"` // environment variables that set it, the first that is set
	Group     string   `json:"group,omitempty"`     // the heading under which help lists it; "" for the command's own
	Help      string   `json:"help"`
}

// Example is a command line and what it does.
type Example struct {
	Line string `json:"line"` // with the program's name
	Does string `json:"does"` // a sentence without a full stop
}

// Of returns the commands of a program. The examples are by the commands' paths.
func Of(app *kong.Application, examples map[string][]Example) Command {
	root := of(app.Node, examples)
	if app.HelpFlag != nil {
		root.Flags = append([]Flag{flagOf(app.HelpFlag)}, root.Flags...)
	}
	return root
}

func of(n *kong.Node, examples map[string][]Example) Command {
	path := pathOf(n)
	c := Command{Path: path, Synopsis: synopsis(n), Summary: n.Help, Detail: n.Detail, Examples: examples[path]}
	if n.Group != nil {
		c.Group = n.Group.Title
	}
	if n.DefaultCmd != nil {
		c.Default = pathOf(n.DefaultCmd)
	}
	for _, a := range n.Positional {
		c.Arguments = append(c.Arguments, Argument{Name: argumentName(a), Help: a.Help, Optional: !a.Required, Repeated: a.IsCumulative()})
	}
	for _, f := range n.Flags {
		if !f.Hidden && f.Name != "help" {
			c.Flags = append(c.Flags, flagOf(f))
		}
	}
	for _, child := range n.Children {
		if !child.Hidden {
			c.Commands = append(c.Commands, of(child, examples))
		}
	}
	return c
}

func flagOf(f *kong.Flag) Flag {
	flag := Flag{
		Name: f.Name, Aliases: f.Aliases, Default: f.Default, Required: f.Required, Negatable: f.Tag.Negatable != "", Variables: f.Envs, Help: f.Help,
	}
	if f.Short != 0 {
		flag.Short = string(f.Short)
	}
	if !f.IsBool() && !f.IsCounter() {
		flag.Value = valueOf(f)
	}
	for _, value := range f.EnumSlice() {
		if value != "" {
			flag.OneOf = append(flag.OneOf, value)
		}
	}
	if f.Group != nil {
		flag.Group = f.Group.Title
	}
	return flag
}

// valueOf returns the word that stands for a flag's value.
func valueOf(f *kong.Flag) string {
	if f.PlaceHolder != "" {
		return f.PlaceHolder
	}
	switch f.Target.Type().String() {
	case "time.Duration":
		return "TIME"
	case "int", "int64", "uint64":
		return "NUMBER"
	}
	if f.Enum != "" {
		return "WHICH"
	}
	return strings.ToUpper(f.Name)
}

// argumentName returns the word that stands for an argument.
func argumentName(a *kong.Positional) string {
	if a.Tag.PlaceHolder != "" {
		return a.Tag.PlaceHolder
	}
	return strings.ToUpper(a.Name)
}

// pathOf returns the words that lead to a command.
func pathOf(n *kong.Node) string {
	if n.Parent == nil {
		return ""
	}
	return strings.TrimSpace(pathOf(n.Parent) + " " + n.Name)
}

func synopsis(n *kong.Node) string {
	words := []string{n.FullPath()}
	for _, f := range n.Flags {
		if f.Required && !f.Hidden {
			words = append(words, "--"+f.Name+" "+valueOf(f))
		}
	}
	switch {
	case len(n.Children) > 0 && n.DefaultCmd != nil:
		words = append(words, "[COMMAND]")
	case len(n.Children) > 0:
		words = append(words, "COMMAND")
	}
	for _, a := range n.Positional {
		word := argumentName(a)
		if a.IsCumulative() {
			word += "..."
		}
		if !a.Required {
			word = "[" + word + "]"
		}
		words = append(words, word)
	}
	return strings.Join(append(words, "[flags]"), " ")
}

// Find returns the command with a path, or nil.
func (c *Command) Find(path string) *Command {
	if c.Path == path {
		return c
	}
	for i := range c.Commands {
		if child := &c.Commands[i]; path == child.Path || strings.HasPrefix(path, child.Path+" ") {
			return child.Find(path)
		}
	}
	return nil
}

// Leaves returns the commands that do something themselves, in the order of help.
func (c *Command) Leaves() (all []*Command) {
	if len(c.Commands) == 0 {
		return []*Command{c}
	}
	for i := range c.Commands {
		all = append(all, c.Commands[i].Leaves()...)
	}
	return all
}
