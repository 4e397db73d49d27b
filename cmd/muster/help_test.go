package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/musterhq/muster/cli/usage"
)

// program returns all commands.
func program(t *testing.T) usage.Command {
	t.Helper()
	parser, err := newParser(&commands{}, &streams{}, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	return tree(parser)
}

// Each command has a sentence and an example, each flag and argument a sentence, and what
// the overview lists is in one of its groups.
func TestHelp_IsComplete(t *testing.T) {
	root := program(t)
	sentence := func(what, text string) {
		if !strings.HasSuffix(text, ".") {
			t.Errorf("%s: %q is no sentence", what, text)
		}
	}
	for _, c := range root.Commands {
		if !slices.ContainsFunc(groups, func(g kong.Group) bool { return g.Title == c.Group }) {
			t.Errorf("%s is in the group %q, which help does not show", c.Path, c.Group)
		}
	}
	known := map[string]bool{}
	for _, c := range root.Leaves() {
		known[c.Path] = true
		sentence(c.Path, c.Summary)
		if len(c.Examples) == 0 {
			t.Errorf("%s has no example", c.Path)
		}
		for _, f := range c.Flags {
			sentence(c.Path+" --"+f.Name, f.Help)
		}
		for _, a := range c.Arguments {
			sentence(c.Path+" "+a.Name, a.Help)
		}
	}
	for path := range examples {
		if !known[path] {
			t.Errorf("examples of %q, which is no command", path)
		}
	}
}

// Each example is a command line that the program takes.
func TestHelp_ExamplesParse(t *testing.T) {
	t.Chdir(t.TempDir())
	parser, err := newParser(&commands{}, &streams{}, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	root := tree(parser)
	for _, c := range root.Leaves() {
		for _, e := range c.Examples {
			words := wordsOf(e.Line)
			for _, word := range words {
				if filepath.Ext(word) != "" && filepath.IsLocal(word) && !strings.Contains(word, "://") {
					if err := os.WriteFile(word, []byte("{}"), 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			parsed, err := parser.Parse(words)
			if err != nil && !strings.Contains(e.Line, "--config") {
				t.Errorf("%s: %v", e.Line, err)
				continue
			}
			if err == nil && selectedPath(parsed) != c.Path {
				t.Errorf("%s is an example of %q, and runs %q", e.Line, c.Path, selectedPath(parsed))
			}
		}
	}
}

// wordsOf splits a command line as a shell would, without the program's name and what a
// shell does with the output.
func wordsOf(line string) []string {
	line = strings.TrimSuffix(strings.TrimPrefix(line, "source <("), ")")
	line, _, _ = strings.Cut(line, " > ")
	line, _, _ = strings.Cut(line, " | ")
	var words []string
	for n, part := range strings.Split(line, `"`) {
		if n%2 == 1 {
			words[len(words)-1] = strings.TrimSuffix(words[len(words)-1], "=") + part
			continue
		}
		words = append(words, strings.Fields(part)...)
		if strings.HasSuffix(part, " ") {
			words = append(words, "")
		}
	}
	return slices.DeleteFunc(words[1:], func(w string) bool { return w == "" })
}

func TestHelp(t *testing.T) {
	overview := []string{"\nStart here\n", "\nYour game\n", "\nLook and operate\n", "\nAdminister\n", "  simulate    Play matchmaking", "  help        "}
	for _, c := range []struct {
		line string
		want []string
	}{
		{"", overview}, {"help", overview}, {"--help", overview},
		{"help sessions logs", []string{"Usage: muster sessions logs ID [flags]", "muster sessions logs --follow", "-f, --follow", "--endpoint URL"}},
		{"sessions logs --help", []string{"Usage: muster sessions logs ID [flags]"}},
		{"local --help", []string{"Usage: muster local [ARGS...] [flags]", "      --[no-]demo  ", "      --[no-]accept-any-credentials\n"}},
		{"hosts --help", []string{"Usage: muster hosts [COMMAND] [flags]", "list (default)", "drain", "--endpoint URL"}},
		{"admin keys", []string{"Usage: muster admin keys COMMAND [flags]", "rotate"}},
		{"placements", []string{"Usage: muster placements COMMAND [flags]", "explain"}},
		{"help admin keys create", []string{"NAME", "--role WHICH", "muster admin keys create ci --role operator"}},
	} {
		code, out, stderr := typed(t, t.Context(), strings.Fields(c.line)...)
		if code != 0 || stderr != "" {
			t.Errorf("%s: exit %d %s", c.line, code, stderr)
		}
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("%s does not show %q:\n%s", c.line, want, out)
			}
		}
	}
	if code, _, stderr := typed(t, t.Context(), "help", "tickets", "explian"); code != 1 || !strings.Contains(stderr, `did you mean "explain"`) {
		t.Errorf("a misspelled topic: %d %s", code, stderr)
	}
	if code, _, stderr := typed(t, t.Context(), "tickets", "explain"); code != 2 || !strings.Contains(stderr, "Run 'muster help tickets explain'") {
		t.Errorf("a missing argument: %d %s", code, stderr)
	}
}

// Programs get the same tree that the code has.
func TestHelp_JSON(t *testing.T) {
	code, out, _ := typed(t, t.Context(), "help", "-o", "json")
	var root usage.Command
	if err := json.Unmarshal([]byte(out), &root); code != 0 || err != nil {
		t.Fatal(code, err)
	}
	c := root.Find("admin keys create")
	if c == nil || c.Synopsis != "muster admin keys create --role WHICH NAME [flags]" {
		t.Fatalf("the tree has %+v", c)
	}
	n := slices.IndexFunc(c.Flags, func(f usage.Flag) bool { return f.Name == "role" })
	if n < 0 || !c.Flags[n].Required || !slices.Contains(c.Flags[n].OneOf, "game-backend") {
		t.Errorf("the flags are %+v", c.Flags)
	}
}

// selectedPath returns the path of the command that would run.
func selectedPath(k *kong.Context) string {
	var path []string
	for n := k.Selected(); n.Parent != nil; n = n.Parent {
		path = append([]string{n.Name}, path...)
	}
	return strings.Join(path, " ")
}

// A word that is no subcommand is refused with the one that was likely meant, on every level,
// also where a default subcommand would read it as its argument; a name is not.
func TestMisnamed(t *testing.T) {
	for line, want := range map[string]string{
		"ticket list":                           `there is no command "muster ticket" (did you mean "muster tickets"?)` + "\nRun 'muster help' to",
		"--endpoint http://127.0.0.1:1 sesions": "unknown flag --endpoint",
		"sesions":                               `there is no command "muster sesions" (did you mean "muster sessions"?)`,
		"tickets explan t-1":                    `there is no command "muster tickets explan" (did you mean "muster tickets explain"?)`,
		"tickets explan":                        `(did you mean "muster tickets explain"?); if it is a name, type it after the command: 'muster tickets list explan'` + "\nRun 'muster help tickets' to",
		"tickets --endpoint http://127.0.0.1:1 overveiw": `(did you mean "muster tickets overview"?)`,
		"fleets shw":        `there is no command "muster fleets shw" (did you mean "muster fleets show"?)`,
		"sessions log x":    `(did you mean "muster sessions logs"?)`,
		"admin kyes create": `there is no command "muster admin kyes" (did you mean "muster admin keys"?)`,
		"admin keys creat":  `there is no command "muster admin keys creat" (did you mean "muster admin keys create"?)` + "\nRun 'muster help admin keys' to",
		"admin zebra":       `there is no command "muster admin zebra"; there are: keys, `,
		"xyzzy":             `there is no command "muster xyzzy"` + "\n",
	} {
		if code, out, stderr := typed(t, t.Context(), strings.Fields(line)...); code != 2 || out != "" || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit %d %s%s", line, code, out, stderr)
		}
	}
	for _, line := range []string{"tickets list explan", "tickets -- explan", "tickets duel", "tickets 1v1"} {
		// The server is asked, which is not there.
		words := append([]string{"--endpoint", "http://127.0.0.1:1"}, strings.Fields(line)[1:]...)
		if code, _, stderr := typed(t, t.Context(), append([]string{"tickets"}, words...)...); code != 1 || !strings.Contains(stderr, "no server answers") {
			t.Errorf("%s: exit %d %s", line, code, stderr)
		}
	}
}
