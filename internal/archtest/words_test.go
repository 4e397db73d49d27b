package archtest

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestPackageComments(t *testing.T) {
	for _, p := range packages(t) {
		if len(p.comments) != 1 {
			t.Errorf("%s has %d package comments, in %v; it must have one", p.path, len(p.comments), p.comments)
		}
	}
}

func TestNames(t *testing.T) {
	empty := []string{"util", "utils", "common", "helper", "helpers", "base", "types", "models", "interfaces", "misc", "shared"}
	for _, p := range packages(t) {
		if slices.Contains(empty, path.Base(p.path)) || slices.Contains(empty, p.name) {
			t.Errorf("%s: the name says nothing about what is in it", p.path)
		}
	}
}

// words are those that mark unfinished work, or that mean something on only one
// machine. They are split so that this file does not contain them.
var words = []struct {
	pattern *regexp.Regexp
	why     string
}{
	{regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|X` + `XX|HA` + `CK)\b`), "finish it, or say in an issue what is missing"},
	{regexp.MustCompile(`(?i)not (yet )?implem` + `ented`), "say what the product does instead"},
	{regexp.MustCompile("(^|[\\s\"'`(=:])/(ro" + `ot|ho` + `me|wo` + `rk|Us` + `ers)/`), "a path that exists on one machine"},
	{regexp.MustCompile(`"resol` + `ved": "http`), "a lock file that is bound to one registry"},
}

func TestWords(t *testing.T) {
	files := 0
	for _, file := range writtenFiles(t) {
		text, err := os.ReadFile(filepath.Join(root(t), file))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.IndexByte(text, 0) >= 0 {
			continue // an image or the like
		}
		if strings.HasPrefix(file, "console/web/vendor/") {
			continue // of others, as they publish it
		}
		files++
		for _, w := range words {
			if at := w.pattern.FindIndex(text); at != nil {
				t.Errorf("%s:%d: %q: %s", file, 1+bytes.Count(text[:at[1]], []byte("\n")), text[at[0]:at[1]], w.why)
			}
		}
	}
	if files < 100 {
		t.Fatalf("looked into only %d files: the walk is broken", files)
	}
}

// writtenFiles returns the files of the repository that people write. The API
// description is AWS's text, and recordings are what clients sent.
func writtenFiles(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, dir := range append(folders(t), ".", ".ci") {
		if strings.Contains("/"+dir+"/", "/testdata/") {
			continue
		}
		entries, err := os.ReadDir(filepath.Join(root(t), dir))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		for _, e := range entries {
			// In a linked work tree of git, .git is a file with a path of this machine.
			if e.Type().IsRegular() && e.Name() != ".git" && e.Name() != "gamelift-2015-10-01.json" && !isBinary(e) {
				all = append(all, path.Join(dir, e.Name()))
			}
		}
	}
	return all
}

// isBinary reports whether a file is large enough to be an executable left by a build.
func isBinary(e fs.DirEntry) bool {
	info, err := e.Info()
	return err != nil || info.Size() > 4<<20
}
