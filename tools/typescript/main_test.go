package main

import (
	"bytes"
	"compress/gzip"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evanw/esbuild/pkg/api"
)

const (
	top     = "../.."
	library = top + "/clients/typescript"
)

// The committed bundles are what the sources give.
func TestBundles_AreUpToDate(t *testing.T) {
	t.Parallel()
	files, err := bundles(top)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(top, name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what the sources give: run make typescript", name)
		}
	}
	old, err := outdated(top, files)
	if err != nil || len(old) > 0 {
		t.Errorf("the sources do not give %v, %v: run make typescript", old, err)
	}
}

// mostGzipped is what the library may cost a page, in bytes.
const mostGzipped = 15_000

func TestDist_Size(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(library, "dist", "muster.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	w.Write(text)
	w.Close()
	t.Logf("muster.min.js: %d bytes, %d gzipped", len(text), b.Len())
	if b.Len() > mostGzipped {
		t.Errorf("the library has %d bytes gzipped, more than %d", b.Len(), mostGzipped)
	}
}

// The bundle for pages imports nothing, not even of Node.js.
func TestDist_ImportsNothing(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(library, "dist", "muster.js"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "import ") {
			t.Errorf("muster.js has %s", line)
		}
	}
}

// A mistake in a source is an error that names its line.
func TestBuild_Refuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "bad.ts"), []byte("let a = 1;\nlet b = ;\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if text, err := build(dir, "bad.ts", api.PlatformBrowser, false); err == nil || !strings.Contains(err.Error(), "bad.ts:2") {
		t.Errorf("gave %q, %v", text, err)
	}
}

// The library's own tests, in Node.js.
func TestLibrary_Units(t *testing.T) {
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("Node.js is missing; install nodejs to run the library's tests")
	}
	sources, err := filepath.Glob(filepath.Join(library, "test", "*.test.ts"))
	if err != nil || len(sources) == 0 {
		t.Fatalf("there are no tests: %v", err)
	}
	out := t.TempDir()
	args := []string{"--test", "--test-reporter=spec"}
	for _, source := range sources {
		if err := run(top, "clients/typescript/test/"+filepath.Base(source), out); err != nil {
			t.Fatal(err)
		}
		args = append(args, filepath.Join(out, strings.TrimSuffix(filepath.Base(source), ".ts")+".mjs"))
	}
	if text, err := exec.CommandContext(t.Context(), node, args...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}

// TypeScript's own compiler accepts the sources and a program that uses the package, and gives
// the committed declarations.
func TestLibrary_Types(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("npm is missing; install npm to check the library's types")
	}
	copied := t.TempDir() // npm installs nothing in the repository
	dir := filepath.Join(copied, "clients", "typescript")
	for _, folder := range []string{"clients/typescript", "examples/arena/page"} {
		if err := os.CopyFS(filepath.Join(copied, folder), os.DirFS(filepath.Join(top, folder))); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(filepath.Join(dir, "dist", "types")); err != nil {
		t.Fatal(err)
	}
	npm := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "npm", args...)
		cmd.Dir = dir
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("npm %s: %v\n%s", strings.Join(args, " "), err, text)
		}
	}
	npm("ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")
	npm("run", "--silent", "check")
	npm("run", "--silent", "types")
	tsc := func(args ...string) {
		t.Helper()
		npm(append([]string{"exec", "--", "tsc", "--ignoreConfig", "--noEmit", "--strict", "--noUncheckedIndexedAccess", "--target", "es2022", "--module", "esnext", "--moduleResolution", "bundler"}, args...)...)
	}
	compareTypes(t, filepath.Join(dir, "dist", "types"), filepath.Join(library, "dist", "types"))
	for _, condition := range []string{"browser", "node"} {
		tsc("--customConditions", condition, "--types", "node", "test/use/"+condition+".ts")
	}
	tsc("--types", "", "../../examples/arena/page/src/main.ts")
}

func compareTypes(t *testing.T, made, committed string) {
	t.Helper()
	count := 0
	err := fs.WalkDir(os.DirFS(made), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		count++
		want, err := os.ReadFile(filepath.Join(made, name))
		if err != nil {
			return err
		}
		if got, err := os.ReadFile(filepath.Join(committed, name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("dist/types/%s is not what the sources give: run npm ci && npm run types in clients/typescript", name)
		}
		return nil
	})
	if err != nil || count == 0 {
		t.Fatalf("%d declarations: %v", count, err)
	}
}
