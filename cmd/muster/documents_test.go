package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/musterhq/muster/cli/usage"
	"github.com/musterhq/muster/test/document"
)

var (
	// shownInPages is a command in the sources of the console, up to the end of its text.
	shownInPages = regexp.MustCompile("[\"`>]muster ([a-z][^\"`<\n]*)")
	// shownInDocuments is a command in a document's code block.
	shownInDocuments = regexp.MustCompile(`(?m)^(?:[A-Z_]+=\S+ )*(?:bin/)?muster ([a-z](?:[^\n\\]|\\\n)*)`)
	longFlag         = regexp.MustCompile(`^--([a-z0-9-]+)`)
	shortFlag        = regexp.MustCompile(`^-([a-zA-Z])$`)
)

// Each command that the console and the documents show is one that the program has, with those
// flags.
func TestShownCommands_Exist(t *testing.T) {
	root := program(t)
	check := func(where, line string) {
		line, _, _ = strings.Cut(line, " # ")
		if wrong := unknown(&root, strings.Fields(strings.ReplaceAll(line, "\\\n", " "))); wrong != "" {
			t.Errorf("%s: muster %s: %s", where, line, wrong)
		}
	}
	shown := 0
	err := filepath.WalkDir(filepath.Join(document.Top(t), "console/web/src"), func(path string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".tsx" {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range shownInPages.FindAllStringSubmatch(string(text), -1) {
			shown++
			check(filepath.Base(path), m[1])
		}
		return err
	})
	if err != nil || shown < 10 {
		t.Fatalf("found %d commands in the console: %v", shown, err)
	}
	names, err := filepath.Glob(filepath.Join(document.Top(t), "docs/*.md"))
	if err != nil {
		t.Fatal(err)
	}
	shown = 0
	for _, name := range append(names, filepath.Join(document.Top(t), "README.md")) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range document.Parse(string(text)) {
			if block.Language != "sh" {
				continue
			}
			for _, m := range shownInDocuments.FindAllStringSubmatch(block.Text, -1) {
				shown++
				check(filepath.Base(name), m[1])
			}
		}
	}
	if shown < 50 {
		t.Errorf("found only %d commands in the documents: the pattern is broken", shown)
	}
}

// unknown says which command or flag of a command line the program does not have, "" if it has
// all. What a page puts in, ${…}, is not looked at.
func unknown(root *usage.Command, words []string) string {
	c := root
	for len(c.Commands) > 0 && len(words) > 0 && !strings.ContainsAny(words[0][:1], "-$") {
		at := slices.IndexFunc(c.Commands, func(sub usage.Command) bool { return sub.Path == strings.TrimSpace(c.Path+" "+words[0]) })
		if at < 0 && c.Default != "" {
			break // the word is an argument of the command that runs if none is named
		}
		if at < 0 {
			return "there is no command " + words[0]
		}
		c, words = &c.Commands[at], words[1:]
	}
	flags := slices.Concat(root.Flags, c.Flags)
	for _, leaf := range c.Leaves() {
		flags = append(flags, leaf.Flags...)
	}
	for _, word := range words {
		if strings.ContainsAny(word, "|>;&") || word == "--" {
			break // another program's words
		}
		m := longFlag.FindStringSubmatch(word)
		if m != nil && !slices.ContainsFunc(flags, func(f usage.Flag) bool {
			return f.Name == m[1] || slices.Contains(f.Aliases, m[1]) || f.Negatable && "no-"+f.Name == m[1]
		}) {
			return "there is no flag --" + m[1]
		}
		m = shortFlag.FindStringSubmatch(word)
		if m != nil && !slices.ContainsFunc(flags, func(f usage.Flag) bool { return f.Short == m[1] }) {
			return "there is no flag -" + m[1]
		}
	}
	return ""
}
